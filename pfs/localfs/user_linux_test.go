package localfs

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/sys/unix"
)

// asNobody gives the files of the directory dir to a user without rights, and runs the rest of the
// test as that user.
func asNobody(t *testing.T, dir string) (end func()) {
	t.Helper()
	const nobody = 65534
	if os.Geteuid() != 0 {
		t.Skip("another user is needed, since an administrator may do anything")
	}
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		must(t, err)
		return os.Lchown(path, nobody, nobody)
	}))
	runtime.LockOSThread()
	must(t, unix.Setfsuid(nobody))
	return func() {
		unix.Setfsuid(0)
		runtime.UnlockOSThread()
	}
}

// TestGoOnAfterCrash resumes an upload whose Commit was interrupted after it had set a mode that
// denies writing to its owner.
func TestGoOnAfterCrash(t *testing.T) {
	f, dir := openStore(t, Options{})
	defer asNobody(t, dir)()
	must(t, stage(t, f, "/f", pfs.CreateOptions{ID: id}, []byte("content")).Suspend(t.Context()))
	top, err := f.openDir("")
	must(t, err)
	defer top.Close()
	must(t, top.chmod(digest.StagedName("f", id), 0o444))
	w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{ID: id, Reopen: true})
	must(t, err)
	defer w.Close(t.Context())
	info, err := w.Commit(t.Context(), pfs.CommitOptions{Size: 7, Mode: 0o444})
	must(t, err)
	if info.Size != 7 || info.Mode != 0o444 {
		t.Errorf("published is %+v", info)
	}
}

// TestSweepPassesOver sweeps a tree in which one directory cannot be read, and another one cannot
// be changed.
func TestSweepPassesOver(t *testing.T) {
	f, w := watchStore(t, openTop)
	for _, d := range []pfs.Path{"/a", "/b", "/y", "/z"} {
		must(t, f.Mkdir(t.Context(), d, 0o755))
		must(t, stage(t, f, d.Join("f"), pfs.CreateOptions{ID: id}, make([]byte, 100)).Suspend(t.Context()))
	}
	defer asNobody(t, w.path)()
	for d, mode := range map[pfs.Path]os.FileMode{"/b": 0o555, "/y": 0o400, "/z": 0} {
		must(t, pfs.SetAttr(t.Context(), f, d, pfs.AttrMode, pfs.Attrs{Mode: mode}))
	}
	n, bytes, err := f.Sweep(t.Context(), pfs.Root, 0)
	if n != 1 || bytes != 100 {
		t.Errorf("Sweep = %d, %d, want what is in a", n, bytes)
	}
	pfstest.WantKind(t, err, pfs.Permission)
}
