package localfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs/internal/posix"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/sys/unix"
)

// TestRemoveTreeDescriptors removes a tree with more levels than the process may have open files.
func TestRemoveTreeDescriptors(t *testing.T) {
	f, dir := openStore(t, Options{NoSync: true})
	must(t, os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", 500)), 0o755))
	var was unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	few := was
	few.Cur = min(was.Cur, posix.MaxDepth+100)
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
	err := f.RemoveTree(t.Context(), "/d")
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was))
	must(t, err)
	pfstest.WantNames(t, f, "/")
}
