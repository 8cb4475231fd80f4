package hdfsfs

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"github.com/paddlecloud/pfs/pfs/retry"
	"google.golang.org/protobuf/proto"
)

// SetAttr sets the attributes in mask. The size of a file can only shrink.
func (f *FS) SetAttr(ctx context.Context, name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "hdfsfs.SetAttr"
	st, err := f.look(ctx, op, name)
	if err != nil {
		return err
	}
	if err := f.checkAttrs(op, name, st, mask, attrs); err != nil {
		return err
	}
	return f.placeError(ctx, op, name, f.apply(ctx, f.at(name), st, mask, attrs))
}

// checkAttrs refuses attributes that the file or directory st cannot have, before anything changes.
func (f *FS) checkAttrs(op string, name pfs.Path, st status, mask pfs.AttrMask, attrs pfs.Attrs) error {
	if err := mask.Check(op, name, attrs); err != nil {
		return err
	}
	switch {
	case mask&(pfs.AttrUID|pfs.AttrGID) != 0:
		return pfs.Errorf(op, name, pfs.Unsupported, "HDFS knows users and groups only by name")
	case st.IsLink():
		return pfs.E(op, name, pfs.Symlink, nil)
	case st.IsDir() && mask&(pfs.AttrSize|pfs.AttrReplication) != 0:
		return pfs.E(op, name, pfs.IsDir, nil)
	case st.policy != nil && mask&pfs.AttrReplication != 0:
		return pfs.Errorf(op, name, pfs.Unsupported, "the file is erasure-coded and has no replicas")
	case st.IsDir() && mask&pfs.AttrAccessTime != 0:
		return pfs.Errorf(op, name, pfs.Unsupported, "HDFS keeps no access times of directories")
	case mask&pfs.AttrSize != 0 && attrs.Size > st.Size:
		return pfs.Errorf(op, name, pfs.Unsupported, "HDFS can extend a file only by appending to it")
	}
	return nil
}

// apply sets the attributes of the path at in HDFS, whose status is st. It sets the size first and the times last,
// because a change of the size changes the times.
func (f *FS) apply(ctx context.Context, at string, st status, mask pfs.AttrMask, attrs pfs.Attrs) error {
	if mask&pfs.AttrSize != 0 && attrs.Size < st.Size {
		if err := f.truncate(ctx, at, attrs.Size); err != nil {
			return err
		}
	}
	if mask&(pfs.AttrOwner|pfs.AttrGroup) != 0 {
		var owner, group string // empty: unchanged
		if mask&pfs.AttrOwner != 0 {
			owner = attrs.Owner
		}
		if mask&pfs.AttrGroup != 0 {
			group = attrs.Group
		}
		if err := f.setOwner(ctx, at, owner, group); err != nil {
			return err
		}
	}
	if mask&pfs.AttrMode != 0 {
		bits := uint32(attrs.Mode.Perm())
		if (attrs.Mode|st.Mode)&fs.ModeSticky != 0 && st.IsDir() {
			bits |= stickyBit
		}
		if err := f.chmod(ctx, at, bits); err != nil {
			return err
		}
	}
	if mask&pfs.AttrReplication != 0 {
		if err := f.setReplication(ctx, at, attrs.Replication); err != nil {
			return err
		}
	}
	var mtime, atime time.Time
	if mask&pfs.AttrModTime != 0 {
		mtime = attrs.ModTime
	}
	if mask&pfs.AttrAccessTime != 0 {
		atime = attrs.AccessTime
	}
	if mtime.IsZero() && atime.IsZero() {
		return nil
	}
	var m digest.Mark
	marked := false
	if st.IsRegular() && !mtime.IsZero() && mask&pfs.AttrSize == 0 {
		var err error
		if m, marked, err = f.readMark(ctx, at, st); err != nil {
			return err
		}
	}
	err := f.setTimes(ctx, at, mtime, atime)
	if noAccessTimes(err) {
		return pfs.Errorf("hdfsfs.SetAttr", "", pfs.Unsupported, "this HDFS keeps no access times (dfs.namenode.accesstime.precision)")
	}
	if err == nil && marked {
		m.ModTime = kept(mtime)
		err = f.setMark(ctx, at, m)
	}
	return err
}

// noAccessTimes reports whether HDFS refused to set an access time because it keeps none.
func noAccessTimes(err error) bool {
	return says(err, "Access time for hdfs is not configured")
}

// keepsAccessTimes reports whether access times can be set. HDFS has no call for this. Hadoop before 2.8 refuses to set
// one if reads do not update them (dfs.namenode.accesstime.precision). It checks this before it looks up the file, so
// the call here names an inode that never exists and changes nothing.
func (f *FS) keepsAccessTimes(ctx context.Context) (bool, error) {
	err := f.setTimes(ctx, inode(1), time.Time{}, time.Unix(1, 0))
	if is(err, pfs.Unavailable, pfs.Canceled) {
		return false, err
	}
	return !noAccessTimes(err), nil
}

// chmod sets the permission bits of a path in HDFS.
func (f *FS) chmod(ctx context.Context, at string, bits uint32) error {
	return f.tell(ctx, "setPermission", &hdfsproto.SetPermissionRequest{Path: &at, Permission: &hdfsproto.FilePermission{Bits: &bits}}, rpc.Idempotent)
}

// setReplication sets the number of block replicas of a file in HDFS.
func (f *FS) setReplication(ctx context.Context, at string, n int) error {
	return f.tell(ctx, "setReplication", &hdfsproto.SetReplicationRequest{Path: &at, Replication: proto.Uint32(uint32(n))}, rpc.Idempotent)
}

// truncate shortens a file and waits until HDFS has recovered its last block, which has the new length. It sends the call once:
// when the recovery has ended, another writer may append, and a second call would remove the appended bytes.
func (f *FS) truncate(ctx context.Context, at string, size int64) error {
	until := time.Now().Add(f.opts.Timeout)
	for short := false; ; {
		var closed bool
		var err error
		if short {
			closed, err = f.askFile(ctx, "isFileClosed", at)
		} else {
			var answer hdfsproto.BoolResponse
			req := &hdfsproto.TruncateRequest{Path: &at, Length: proto.Uint64(uint64(size)), Client: &f.name}
			err = f.ask(ctx, "truncate", req, &answer, rpc.Idempotent)
			short, closed = err == nil, answer.GetResult()
		}
		var remote *rpc.RemoteError
		recovering := errors.As(err, &remote) && is(err, pfs.Conflict, pfs.Unavailable) // or another writer has the file
		switch {
		case closed || err != nil && !recovering:
			return err
		case time.Now().After(until) || retry.From(ctx).Spent():
			return pfs.Errorf("hdfsfs.truncate", "", pfs.Unavailable, "HDFS is still shortening the last block, or another writer has the file")
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
