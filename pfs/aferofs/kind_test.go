package aferofs

import (
	"os"
	"syscall"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestKindOf checks which errors are temporary: too many open files, but not a full disk.
func TestKindOf(t *testing.T) {
	for errno, want := range map[syscall.Errno]pfs.Kind{
		syscall.ENOSPC: pfs.NoSpace,
		syscall.EFBIG:  pfs.NoSpace,
		syscall.EDQUOT: pfs.Quota,
		syscall.EMFILE: pfs.Limit,
		syscall.ENFILE: pfs.Limit,
		syscall.ENOENT: pfs.NotExist,
	} {
		pfstest.WantKind(t, fail("aferofs.Test", "/f", &os.PathError{Op: "write", Path: "/host/f", Err: errno}), want)
	}
}
