package localfs

import (
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// stat is the system's description of a name or an open file.
type stat struct {
	mode  fs.FileMode // type, permission and special bits
	size  int64       // bytes
	disk  int64       // bytes that are allocated on the disk, if known
	block int64       // bytes; 0 if unknown
	rdev  uint64      // number of a device
	mtime time.Time
	atime time.Time // zero if unknown
	ctime int64     // ns; 0 if unknown
	born  int64     // ns; 0 if unknown
	links uint64

	dev, ino uint64 // 0 if unknown; then info determines identity
	info     fs.FileInfo

	uid, gid uint32
	owned    bool // uid and gid are known
}

// statOf makes a stat from that of package os.
func statOf(info fs.FileInfo) stat {
	st := stat{mode: info.Mode(), size: info.Size(), mtime: info.ModTime(), links: 1, info: info}
	st.fill(info.Sys())
	return st
}

// same reports whether s and t describe the same file.
func (s stat) same(t stat) bool {
	if s.ino != 0 && t.ino != 0 {
		return s.ino == t.ino && s.dev == t.dev
	}
	return s.info != nil && t.info != nil && os.SameFile(s.info, t.info)
}

// unchanged reports whether t, taken later of the same file, shows no change of its content.
func (s stat) unchanged(t stat) bool { return s.size == t.size && s.mtime.Equal(t.mtime) }

// touched returns the time of the last change of the content or attributes. The modification time
// alone is not enough, since a running Commit has already set it to that of the file.
func (s stat) touched() time.Time {
	if c := time.Unix(0, s.ctime); c.After(s.mtime) {
		return c
	}
	return s.mtime
}

// version returns Info.Version. The inode and its change time distinguish files of equal size and
// modification time, which anybody may set.
func (s stat) version() string {
	p := make([]byte, 0, 64) // a listing calls this for each entry: fmt would take half of its time
	p = append(strconv.AppendUint(p, s.ino, 16), '-')
	p = append(strconv.AppendInt(p, s.size, 16), '-')
	p = append(strconv.AppendInt(p, s.mtime.UnixNano(), 16), '-')
	return string(strconv.AppendInt(p, s.ctime, 16))
}

// info returns the Info of the file at name.
func (f *FS) info(name pfs.Path, st stat) pfs.Info {
	info := pfs.Info{
		Name:    name.Base(),
		Mode:    st.mode.Type() | st.mode.Perm() | st.mode&rules.Special,
		ModTime: st.mtime,
		Version: st.version(),

		ID: f.fileID(st), Links: uint32(st.links), UID: st.uid, GID: st.gid, Device: st.rdev,
		AccessTime: st.atime, BlockSize: st.block,
	}
	if !st.mode.IsDir() {
		info.Size = st.size
	}
	if st.ctime != 0 {
		info.ChangeTime = time.Unix(0, st.ctime)
	}
	info.Owner, info.Group = f.owners.names(st)
	return info
}

// fileID is Info.ID: the inode, mixed with the disk if that is not the root's, and with the
// time of birth, since some file systems give the inode of a removed file to the next one. Files
// that are made within one tick of the kernel's clock, some milliseconds, have one time of birth.
func (f *FS) fileID(st stat) uint64 {
	id := st.ino ^ (st.dev^f.dev)<<40
	if f.births {
		id ^= uint64(st.born) * 0x9e3779b97f4a7c15 // an odd number that spreads the nanoseconds over all bits
	}
	return id
}
