package hdfsfs

import (
	"context"
	"io/fs"
	"path"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
)

// status is the NameNode's information about a path.
type status struct {
	pfs.Info
	id         uint64                    // of the inode; never used again
	zoned      bool                      // it is in an encryption zone
	encryption *hdfsproto.EncryptionInfo // of a file in one
	policy     *hdfsproto.ErasureCodingPolicy
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
func (f *FS) lookDir(ctx context.Context, op string, name pfs.Path) (status, error) {
	st, err := f.look(ctx, op, name)
	if err == nil && !st.IsDir() {
		err = pfs.E(op, name, pfs.NotDir, nil)
	}
	return st, err
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
func (f *FS) statusAt(ctx context.Context, at string) (status, error) {
	var answer hdfsproto.GetFileInfoResponse
	if err := f.ask(ctx, "getFileInfo", &hdfsproto.GetFileInfoRequest{Path: &at}, &answer, rpc.Idempotent); err != nil {
		return status{}, err
	}
	if answer.Status == nil {
		return status{}, pfs.NotExist
	}
	return newStatus(path.Base(at), answer.Status), nil
}

// stickyBit on a directory means that only the owner of an entry may remove it.
const stickyBit = 0o1000

// zonedFlag is the bit of FileStatus.Flags for files and directories in an encryption zone.
const zonedFlag = 2

// newStatus converts what the NameNode says of the file name.
func newStatus(name string, raw *hdfsproto.FileStatus) status {
	bits := raw.GetPermission().GetBits()
	st := status{
		Info: pfs.Info{
			Name:    name,
			Mode:    fs.FileMode(bits).Perm(),
			ModTime: time.UnixMilli(int64(raw.GetModified())),
			Owner:   raw.GetOwner(),
			Group:   raw.GetGroup(),
			ID:      raw.GetId(),
		},
		id:         raw.GetId(),
		zoned:      raw.GetFlags()&zonedFlag != 0,
		encryption: raw.Encryption,
		policy:     raw.GetErasureCoding(),
	}
	switch raw.GetType() {
	case hdfsproto.FileStatus_DIRECTORY:
		st.Mode |= fs.ModeDir
		if bits&stickyBit != 0 {
			st.Mode |= fs.ModeSticky
		}
	case hdfsproto.FileStatus_SYMLINK:
		st.Mode |= fs.ModeSymlink
		st.Target = string(raw.GetTarget())
		st.Size = int64(len(st.Target))
	default:
		st.Size = int64(raw.GetLength())
		st.Version = version(st.id, st.Size, int64(raw.GetModified()))
		st.AccessTime = accessTime(int64(raw.GetAccessed()))
		st.Replication, st.BlockSize = int(raw.GetReplication()), int64(raw.GetBlockSize())
	}
	return st
}

// version makes the tag of a content. A replaced file has another inode, an appended
// or truncated one another length or time.
func version(id uint64, size, mtime int64) string {
	return strconv.FormatUint(id, 36) + "-" + strconv.FormatInt(size, 36) + "-" + strconv.FormatInt(mtime, 36)
}

// accessTime converts milliseconds. A cluster without access times returns 0.
func accessTime(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// inode returns the path by which HDFS finds an inode under any name.
func inode(id uint64) string { return "/.reserved/.inodes/" + strconv.FormatUint(id, 10) }
