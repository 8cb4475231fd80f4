package localfs

import (
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// systemKinds are the numbers that only this system has.
var systemKinds = map[syscall.Errno]pfs.Kind{syscall.ENOATTR: pfs.NoAttr}

// fill adds fields that package os omits.
func (s *stat) fill(sys any) {
	st, ok := sys.(*syscall.Stat_t)
	if !ok {
		return
	}
	s.disk, s.block, s.ctime, s.links = st.Blocks*512, int64(st.Blksize), st.Ctimespec.Nano(), uint64(st.Nlink)
	s.atime, s.born = time.Unix(st.Atimespec.Unix()), st.Birthtimespec.Nano()
	s.dev, s.ino, s.rdev = uint64(st.Dev), st.Ino, uint64(st.Rdev)
	s.uid, s.gid, s.owned = st.Uid, st.Gid, true
}
