package pfs

import (
	"io/fs"
	"strings"
)

// Stores keep their own entries among those of users. Their names are reserved; every other name
// that begins with TempPrefix belongs to users.
const (
	TempPrefix = ".pfs-"

	// StagedPrefix begins the name of an upload. HASH-ID follows, where HASH is 16 hexadecimal
	// digits of a hash of the target's name, and ID satisfies ValidID.
	StagedPrefix = TempPrefix + "up-"

	// BatchPrefix begins the name of an upload of a batch. TIME-ID follows, where TIME is the time in
	// seconds in base 36, and ID is one of NewID.
	BatchPrefix = StagedPrefix + "b-"

	// QuotaName is the file in which a store keeps the quota of a directory.
	QuotaName = TempPrefix + "quota"

	// StageName is the directory in which a store keeps the uploads of all directories.
	StageName = TempPrefix + "stage"

	removedPrefix = TempPrefix + "rm-" // an ID of NewID follows
)

// ReservedName reports whether name has the exact form of a reserved name.
func ReservedName(name string) bool {
	return name == QuotaName || name == StageName || isStaged(name) || isRemoved(name)
}

// IsTemp reports whether an entry is a temporary of a store: an upload, or a directory that is being
// removed. An entry of another type with such a name is neither hidden nor swept.
func IsTemp(name string, mode fs.FileMode) bool {
	return mode.IsRegular() && isStaged(name) || mode.IsDir() && isRemoved(name)
}

// RemovedName returns a fresh name for a directory that is being removed.
func RemovedName() string { return removedPrefix + NewID() }

func isStaged(name string) bool {
	if rest, ok := strings.CutPrefix(name, BatchPrefix); ok {
		time, id, _ := strings.Cut(rest, "-")
		return (len(time) == 6 || len(time) == 7) && consistsOf(time, digits36) && isNewID(id) // 7 from 2038 on
	}
	rest, ok := strings.CutPrefix(name, StagedPrefix)
	hash, id, _ := strings.Cut(rest, "-")
	return ok && len(hash) == 16 && consistsOf(hash, digits16) && ValidID(id)
}

func isRemoved(name string) bool {
	id, ok := strings.CutPrefix(name, removedPrefix)
	return ok && isNewID(id)
}

// isNewID reports whether id has the form of a result of NewID.
func isNewID(id string) bool { return len(id) == 32 && consistsOf(id, digits16) }

const (
	digits16 = "0123456789abcdef"
	digits36 = digits16 + "ghijklmnopqrstuvwxyz"
)

func consistsOf(s, chars string) bool { return strings.Trim(s, chars) == "" }
