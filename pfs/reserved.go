package pfs

import (
	"io/fs"
	"strings"
)

// Stores keep some entries of their own among those of users. These are the only names that no Path may have; every
// other name that begins with TempPrefix belongs to users.
const (
	TempPrefix = ".pfs-"

	// StagedPrefix begins the name of a file that is not published yet. What follows is HASH-ID, where HASH is 16
	// hexadecimal digits that stand for the name of its target and ID is one that ValidID accepts; or b-TIME-ID for
	// the files of a batch, where TIME is the time in seconds in base 36 and ID is one of NewID.
	StagedPrefix = TempPrefix + "up-"

	// QuotaName is the file in which a store keeps the quota of a directory.
	QuotaName = TempPrefix + "quota"

	// StageName is the directory in which a store keeps the staged writes of all directories.
	StageName = TempPrefix + "stage"

	removedPrefix = TempPrefix + "rm-" // an ID of NewID follows
	batchPrefix   = "b-"
)

// ReservedName reports whether name has the exact form of a name that stores keep for themselves.
func ReservedName(name string) bool {
	return name == QuotaName || name == StageName || isStaged(name) || isRemoved(name)
}

// IsTemp reports whether an entry is a temporary of a store: a file that is not published yet, or a directory that is
// being removed. What only has the name of one is neither hidden nor swept.
func IsTemp(name string, mode fs.FileMode) bool {
	return mode.IsRegular() && isStaged(name) || mode.IsDir() && isRemoved(name)
}

// RemovedName returns a fresh name for a directory that is being removed.
func RemovedName() string { return removedPrefix + NewID() }

func isStaged(name string) bool {
	rest, ok := strings.CutPrefix(name, StagedPrefix)
	if !ok {
		return false
	}
	if batch, ok := strings.CutPrefix(rest, batchPrefix); ok {
		time, id, _ := strings.Cut(batch, "-")
		return (len(time) == 6 || len(time) == 7) && consistsOf(time, digits36) && isNewID(id) // 7 from 2038 on
	}
	hash, id, _ := strings.Cut(rest, "-")
	return len(hash) == 16 && consistsOf(hash, digits16) && ValidID(id)
}

func isRemoved(name string) bool {
	id, ok := strings.CutPrefix(name, removedPrefix)
	return ok && isNewID(id)
}

// isNewID reports whether id has the form of what NewID returns.
func isNewID(id string) bool { return len(id) == 32 && consistsOf(id, digits16) }

const (
	digits16 = "0123456789abcdef"
	digits36 = digits16 + "ghijklmnopqrstuvwxyz"
)

func consistsOf(s, chars string) bool { return strings.Trim(s, chars) == "" }
