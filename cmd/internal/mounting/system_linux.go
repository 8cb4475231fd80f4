package mounting

import (
	"os"
	"runtime/debug"

	"github.com/paddlecloud/pfs/pfs/cachefs"
	"golang.org/x/sys/unix"
)

// boundMemory makes the garbage collector keep this process within the limit of its control group. A quarter is
// for what Go does not manage: libraries of stores, and the kernel's buffers.
func boundMemory(getenv func(string) string) {
	if limit, ok := cachefs.MemoryLimit(); ok && getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit - limit/4)
	}
}

// dropPages makes the kernel forget the pages of a file.
func dropPages(name string) {
	f, err := os.Open(name)
	if err != nil {
		return // reading it will say why
	}
	defer f.Close()
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
