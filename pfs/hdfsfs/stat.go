package hdfsfs

import (
	"context"
	"io/fs"
	"os"
	"path"
	"strconv"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
)

// status is the NameNode's information about a path.
type status struct {
	pfs.Info
	id      uint64 // of the inode; never used again
	refusal string // why the content cannot be read through this package
}

// Stat describes name.
func (f *FS) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	const op = "hdfsfs.Stat"
	if err := f.check(ctx, op, name); err != nil {
		return pfs.Info{}, err
	}
	st, err := f.describe(ctx, name)
	return st.Info, fail(op, name, err)
}

// describe is status with the digest that is kept.
func (f *FS) describe(ctx context.Context, name pfs.Path) (status, error) {
	st, err := f.status(ctx, name)
	if err != nil || !st.IsRegular() {
		return st, err
	}
	m, ok, err := f.readMark(ctx, f.at(name), st)
	if ok {
		st.Digest = m.Digest
	}
	return st, err
}

// status asks the NameNode about name.
func (f *FS) status(ctx context.Context, name pfs.Path) (status, error) {
	st, err := f.statusAt(ctx, f.at(name))
	st.Name = name.Base()
	return st, err
}

// look begins an operation on name and describes it.
func (f *FS) look(ctx context.Context, op string, name pfs.Path) (status, error) {
	if err := f.check(ctx, op, name); err != nil {
		return status{}, err
	}
	st, err := f.status(ctx, name)
	return st, f.placeError(ctx, op, name, err)
}

// lookDir begins an operation on the directory name.
func (f *FS) lookDir(ctx context.Context, op string, name pfs.Path) error {
	st, err := f.look(ctx, op, name)
	if err == nil && !st.IsDir() {
		err = pfs.E(op, name, pfs.NotDir, nil)
	}
	return err
}

// parentOf describes the directory of name. If the request fails, the error is about name.
func (f *FS) parentOf(ctx context.Context, op string, name pfs.Path) (status, error) {
	st, err := f.status(ctx, name.Parent())
	switch {
	case err == nil:
		return st, nil
	case is(err, pfs.Unavailable, pfs.Canceled):
		return status{}, fail(op, name, err)
	}
	return status{}, f.placeError(ctx, op, name.Parent(), err)
}

// statusAt is status of a path in HDFS.
func (f *FS) statusAt(ctx context.Context, at string) (st status, err error) {
	err = f.call(ctx, idempotent, func(c *hdfs.Client) error {
		info, err := c.Stat(at)
		if err == nil {
			st = newStatus(info)
		}
		return err
	})
	return st, err
}

// fileTypes are the file types of HDFS, by their number in its protocol.
const (
	typeDir     = 1
	typeSymlink = 3
)

// stickyBit on a directory means that only the owner of an entry may remove it.
const stickyBit = 0o1000

// newStatus converts a result of the library.
func newStatus(info os.FileInfo) status {
	raw := info.Sys().(*hdfs.FileStatus)
	st := status{
		Info: pfs.Info{
			Name:    info.Name(),
			Mode:    info.Mode().Perm(),
			ModTime: time.UnixMilli(int64(raw.GetModificationTime())),
			Owner:   raw.GetOwner(),
			Group:   raw.GetGroup(),
			ID:      raw.GetFileId(),
		},
		id: raw.GetFileId(),
	}
	switch raw.GetFileType() {
	case typeDir:
		st.Mode |= fs.ModeDir
		if raw.GetPermission().GetPerm()&stickyBit != 0 {
			st.Mode |= fs.ModeSticky
		}
	case typeSymlink:
		st.Mode |= fs.ModeSymlink
		st.Target = string(raw.GetSymlink())
		st.Size = int64(len(st.Target))
	default:
		st.Size = int64(raw.GetLength())
		st.Version = version(st.id, st.Size, int64(raw.GetModificationTime()))
		st.AccessTime = accessTime(int64(raw.GetAccessTime()))
		st.Replication, st.BlockSize = int(raw.GetBlockReplication()), int64(raw.GetBlocksize())
	}
	if raw.GetFileEncryptionInfo() != nil {
		st.refusal = "it is in an encryption zone, whose keys this service does not have"
	}
	return st
}

// version makes the tag of a content. A replaced file has another inode, an appended
// or truncated one another length or time.
func version(id uint64, size, mtime int64) string {
	return strconv.FormatUint(id, 36) + "-" + strconv.FormatInt(size, 36) + "-" + strconv.FormatInt(mtime, 36)
}

// webStatus is a status as WebHDFS writes it.
type webStatus struct {
	PathSuffix       string
	Type             string
	Length           int64
	Owner, Group     string
	Permission       string
	ModificationTime int64
	AccessTime       int64
	Replication      int
	BlockSize        int64
	FileID           uint64 `json:"fileId"`
	Symlink          string
}

func (w webStatus) status() status {
	perm, _ := strconv.ParseUint(w.Permission, 8, 32) // an invalid value counts as 0
	st := status{
		Info: pfs.Info{
			Name:    path.Base(w.PathSuffix),
			Mode:    fs.FileMode(perm).Perm(),
			ModTime: time.UnixMilli(w.ModificationTime),
			Owner:   w.Owner,
			Group:   w.Group,
			ID:      w.FileID,
		},
		id: w.FileID,
	}
	switch {
	case w.Type == "DIRECTORY":
		st.Mode |= fs.ModeDir
		if perm&stickyBit != 0 {
			st.Mode |= fs.ModeSticky
		}
	case w.Symlink != "":
		st.Mode |= fs.ModeSymlink
		st.Target = w.Symlink
		st.Size = int64(len(w.Symlink))
	default:
		st.Size = w.Length
		st.Version = version(w.FileID, w.Length, w.ModificationTime)
		st.AccessTime = accessTime(w.AccessTime)
		st.Replication, st.BlockSize = w.Replication, w.BlockSize
	}
	return st
}

// accessTime converts milliseconds. A cluster without access times returns 0.
func accessTime(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// rawMode passes mode bits to the library, which gives their number to the NameNode.
func rawMode(bits uint32) os.FileMode { return os.FileMode(bits) }

// inode returns the path by which HDFS finds an inode under any name.
func inode(id uint64) string { return "/.reserved/.inodes/" + strconv.FormatUint(id, 10) }
