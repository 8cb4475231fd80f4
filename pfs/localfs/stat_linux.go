package localfs

import (
	"os"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sys/unix"
)

// systemKinds are the numbers that only this system has.
var systemKinds map[syscall.Errno]pfs.Kind

// fill adds fields that package os omits.
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

// statFile describes an open file.
func statFile(f *os.File) (st stat, err error) {
	err = withFD(f, func(fd int) (err error) {
		st, err = statAt(fd, "", unix.AT_EMPTY_PATH)
		return err
	})
	if err != nil {
		if _, failed := f.Stat(); failed != nil {
			err = failed // package os knows that the file is closed
		}
	}
	return st, err
}

// statAt describes name in the directory fd.
func statAt(fd int, name string, flags int) (stat, error) {
	var x unix.Statx_t
	err := uninterrupted(func() error { return unix.Statx(fd, name, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &x) })
	if err == unix.ENOSYS || err == unix.EPERM { // no such call, or a filter against it
		var st unix.Stat_t
		if err := uninterrupted(func() error { return unix.Fstatat(fd, name, &st, flags) }); err != nil {
			return stat{}, err
		}
		return statOfUnix(&st), nil
	}
	if err != nil {
		return stat{}, err
	}
	st := stat{
		mode:  unixmode.FileMode(uint32(x.Mode)),
		size:  int64(x.Size),
		disk:  int64(x.Blocks) * 512,
		block: int64(x.Blksize),
		mtime: time.Unix(x.Mtime.Sec, int64(x.Mtime.Nsec)),
		atime: time.Unix(x.Atime.Sec, int64(x.Atime.Nsec)),
		ctime: x.Ctime.Sec*1e9 + int64(x.Ctime.Nsec),
		links: uint64(x.Nlink),
		dev:   unix.Mkdev(x.Dev_major, x.Dev_minor),
		rdev:  unix.Mkdev(x.Rdev_major, x.Rdev_minor),
		ino:   x.Ino,
		uid:   x.Uid,
		gid:   x.Gid,
		owned: true,
	}
	if x.Mask&unix.STATX_BTIME != 0 {
		st.born = x.Btime.Sec*1e9 + int64(x.Btime.Nsec)
	}
	return st, nil
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
