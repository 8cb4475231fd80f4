//go:build ceph

package cephfs

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// stat is the store's description of an inode.
type stat struct {
	mode         fs.FileMode // type, permission and special bits
	size         int64       // bytes; of a directory, the total below it
	mtime, ctime time.Time
	atime        time.Time
	block        int64  // bytes
	device       uint64 // number of a device
	links        uint32
	snap, ino    uint64 // snap is the snapshot in which the inode is seen
	uid, gid     uint32
	version      uint64 // counts changes
}

// entry is one name in a directory.
type entry struct {
	name string
	st   stat
	next int64 // where a read of the directory continues
}

// noSnap is the snapshot number of the live file system, CEPH_NOSNAP.
const noSnap = math.MaxUint64 - 1

// owner returns the numbers of the owner and the group.
func (s stat) owner() ids { return ids{s.uid, s.gid} }

// same reports whether s and t describe the same inode.
func (s stat) same(t stat) bool { return s.ino == t.ino && s.snap == t.snap }

// unchanged reports whether t, taken later of the same file, shows no change of its content.
func (s stat) unchanged(t stat) bool { return s.size == t.size && s.mtime.Equal(t.mtime) }

// tag returns Info.Version. The inode and its change time distinguish files of equal size and
// modification time, which anybody may set.
func (s stat) tag() string {
	return fmt.Sprintf("%x-%x-%x-%x", s.ino, s.size, s.mtime.UnixNano(), s.ctime.UnixNano())
}

// id returns Info.ID, the number of the inode. An inode has the same number in all snapshots, so in
// a snapshot the upper 16 bits also hold the number of the snapshot; IDs of snapshots whose numbers
// differ by a multiple of 65,536 are equal. In the live tree that part is 0.
func (s stat) id() uint64 { return s.ino ^ (s.snap-noSnap)<<48 }

// info returns the Info of the file at name. The store knows users by their numbers only.
func (s stat) info(name pfs.Path) pfs.Info {
	info := pfs.Info{
		Name:    name.Base(),
		Mode:    s.mode,
		ModTime: s.mtime,
		Owner:   strconv.FormatUint(uint64(s.uid), 10),
		Group:   strconv.FormatUint(uint64(s.gid), 10),
		Version: s.tag(),
		ID:      s.id(), Links: s.links, UID: s.uid, GID: s.gid, Device: s.device,
		ChangeTime: s.ctime, AccessTime: s.atime, BlockSize: s.block,
	}
	if !s.mode.IsDir() {
		info.Size = s.size
	}
	return info
}

// Stat describes name.
func (f FS) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	return at(ctx, f, "cephfs.Stat", name, func(d *dir, base string) (info pfs.Info, err error) {
		err = d.on(base, func(in *cInode, st stat) error {
			info = st.info(name)
			if st.mode.IsRegular() {
				info.Digest = keptDigest(d.c, in, st)
			}
			return nil
		})
		if err == nil && info.IsLink() {
			info.Target, err = d.readlink(base)
		}
		return info, err
	}, nil)
}
