package localfs

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fill adds what package os leaves to the system.
func (s *stat) fill(sys any) {
	st, ok := sys.(*syscall.Stat_t)
	if !ok {
		return
	}
	s.disk, s.ctime, s.links = st.Blocks*512, st.Ctim.Nano(), uint64(st.Nlink)
	s.dev, s.ino = uint64(st.Dev), st.Ino
	s.uid, s.gid, s.owned = st.Uid, st.Gid, true
}

func statOfUnix(st *unix.Stat_t) stat {
	return stat{
		mode:  fileMode(st.Mode),
		size:  st.Size,
		disk:  st.Blocks * 512,
		mtime: time.Unix(st.Mtim.Unix()),
		ctime: st.Ctim.Nano(),
		links: uint64(st.Nlink),
		dev:   uint64(st.Dev),
		ino:   st.Ino,
		uid:   st.Uid,
		gid:   st.Gid,
		owned: true,
	}
}

var fileTypes = map[uint32]fs.FileMode{
	unix.S_IFREG:  0,
	unix.S_IFDIR:  fs.ModeDir,
	unix.S_IFLNK:  fs.ModeSymlink,
	unix.S_IFIFO:  fs.ModeNamedPipe,
	unix.S_IFSOCK: fs.ModeSocket,
	unix.S_IFBLK:  fs.ModeDevice,
	unix.S_IFCHR:  fs.ModeDevice | fs.ModeCharDevice,
}

// fileMode and unixMode translate mode bits.
func fileMode(bits uint32) fs.FileMode {
	mode, ok := fileTypes[bits&unix.S_IFMT]
	if !ok {
		mode = fs.ModeIrregular
	}
	mode |= fs.FileMode(bits & 0o777)
	for _, b := range specialBits {
		if bits&b.unix != 0 {
			mode |= b.mode
		}
	}
	return mode
}

func unixMode(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for _, b := range specialBits {
		if mode&b.mode != 0 {
			bits |= b.unix
		}
	}
	return bits
}

var specialBits = []struct {
	unix uint32
	mode fs.FileMode
}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}}
