package localfs

import (
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/sys/unix"
)

// TestCheckAccessReadOnly checks access on a file system that is mounted read-only.
func TestCheckAccessReadOnly(t *testing.T) {
	dir := mountSmall(t, "1m")
	f := openAt(t, dir, Options{})
	write(t, f, "/f", 1)
	pfstest.MustMkdir(t, f, "/d")
	ctx := t.Context()
	must(t, pfs.CheckAccess(ctx, f, pfs.Write, "/f"))
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	for _, a := range []pfs.Access{pfs.Write, pfs.Make, pfs.Delete} {
		pfstest.WantKind(t, pfs.CheckAccess(ctx, f, a, "/d/new"), pfs.ReadOnly)
	}
	must(t, pfs.CheckAccess(ctx, f, pfs.Read, "/f"))
	must(t, pfs.CheckAccess(ctx, f, pfs.Make, "/d"))
	must(t, pfs.CheckAccess(ctx, f, pfs.Write, "/none/f"))
}
