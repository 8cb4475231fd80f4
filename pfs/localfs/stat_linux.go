package localfs

import (
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/pfs/internal/unixmode"
	"golang.org/x/sys/unix"
)

// fill adds what package os leaves out.
func (s *stat) fill(sys any) {
	st, ok := sys.(*syscall.Stat_t)
	if !ok {
		return
	}
	s.disk, s.block, s.ctime, s.links = st.Blocks*512, int64(st.Blksize), st.Ctim.Nano(), uint64(st.Nlink)
	s.atime = time.Unix(st.Atim.Unix())
	s.dev, s.ino, s.rdev = uint64(st.Dev), st.Ino, uint64(st.Rdev)
	s.uid, s.gid, s.owned = st.Uid, st.Gid, true
}

func statOfUnix(st *unix.Stat_t) stat {
	return stat{
		mode:  unixmode.FileMode(st.Mode),
		size:  st.Size,
		disk:  st.Blocks * 512,
		block: int64(st.Blksize),
		mtime: time.Unix(st.Mtim.Unix()),
		atime: time.Unix(st.Atim.Unix()),
		ctime: st.Ctim.Nano(),
		links: uint64(st.Nlink),
		dev:   uint64(st.Dev),
		rdev:  uint64(st.Rdev),
		ino:   st.Ino,
		uid:   st.Uid,
		gid:   st.Gid,
		owned: true,
	}
}
