package localfs

import "syscall"

// fill adds what package os leaves to the system.
func (s *stat) fill(sys any) {
	st, ok := sys.(*syscall.Stat_t)
	if !ok {
		return
	}
	s.disk, s.ctime, s.links = st.Blocks*512, st.Ctimespec.Nano(), uint64(st.Nlink)
	s.dev, s.ino = uint64(st.Dev), st.Ino
	s.uid, s.gid, s.owned = st.Uid, st.Gid, true
}
