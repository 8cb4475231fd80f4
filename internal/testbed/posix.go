package testbed

import "testing"

// PosixPrograms are programs that check file systems.
type PosixPrograms struct {
	Bin    string // the directory of pjdfstest and fsx
	Config string // the directory of their configurations
	Python string // a Python, with NumPy if there is one
}

// Posix returns the programs for a test that runs them on a mount of its own. Others, such as fio, are
// in the PATH.
func Posix(t testing.TB) PosixPrograms {
	t.Helper()
	v := up(t, "posix", script(t, "posix.sh"), nil, "up")
	return PosixPrograms{Bin: v["BIN"], Config: v["CONFIG"], Python: v["PYTHON"]}
}
