package aferofs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/aferofs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/spf13/afero"
)

func TestErrorsDoNotTellWhereTheStoreIs(t *testing.T) {
	root := t.TempDir()
	fsys := aferofs.Store(afero.NewBasePathFs(afero.NewOsFs(), root))
	pfstest.MustMkdir(t, fsys, "/dir")
	pfstest.WriteFile(t, fsys, "/f", nil)
	_, open := fsys.Open(t.Context(), "/missing")
	_, list := fsys.List(t.Context(), "/f", pfs.ListOptions{})
	for _, err := range []error{open, list, fsys.Rename(t.Context(), "/dir", "/f"), fsys.Remove(t.Context(), "/nothing/here")} {
		if err == nil || strings.Contains(err.Error(), root) {
			t.Errorf("error %v, want one without %s", err, root)
		}
	}
}

func TestTheRootMustExist(t *testing.T) {
	fsys := aferofs.Store(afero.NewBasePathFs(afero.NewOsFs(), filepath.Join(t.TempDir(), "missing")))
	_, err := fsys.Stat(t.Context(), "/")
	pfstest.WantKind(t, err, pfs.NotExist)
	pfstest.WantKind(t, fsys.Mkdir(t.Context(), "/dir", 0o755), pfs.NotExist)
}

// TestCommitThatFailedMayBeTriedAgain fails when the temporary has the permissions
// of the file already.
func TestCommitThatFailedMayBeTriedAgain(t *testing.T) {
	ctx := t.Context()
	fsys := aferofs.Store(refusing{afero.NewMemMapFs(), "/f"})
	w, err := fsys.Create(ctx, "/f", pfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(ctx)
	if _, err := w.WriteAt(ctx, []byte("content"), 0); err != nil {
		t.Fatal(err)
	}
	_, err = w.Commit(ctx, pfs.CommitOptions{Size: 7, Mode: 0o444})
	pfstest.WantKind(t, err, pfs.Permission)
	p := make([]byte, 7)
	if _, err := w.ReadAt(ctx, p, 0); err != nil || string(p) != "content" {
		t.Errorf("after a Commit that failed, staged are %q, %v", p, err)
	}
	pfstest.WantNames(t, fsys, "/")
}

// refusing lets nothing be renamed to a name, and takes permissions seriously even
// where the tests run as root.
type refusing struct {
	afero.Fs
	name string
}

func (r refusing) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	if info, err := r.Stat(name); err == nil && flag&os.O_RDWR != 0 && info.Mode()&0o200 == 0 {
		return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrPermission}
	}
	return r.Fs.OpenFile(name, flag, perm)
}

func (r refusing) Rename(from, to string) error {
	if to == r.name {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: os.ErrPermission}
	}
	return r.Fs.Rename(from, to)
}

func TestStagedWriteOfARenamedDirectory(t *testing.T) {
	const id = "0123456789abcdef"
	ctx := t.Context()
	fsys := aferofs.Store(afero.NewMemMapFs())
	pfstest.MustMkdir(t, fsys, "/dir")
	w, err := fsys.Create(ctx, "/dir/f", pfs.CreateOptions{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteAt(ctx, []byte("content"), 0); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Rename(ctx, "/dir", "/moved"); err != nil {
		t.Fatal(err)
	}
	pfstest.MustMkdir(t, fsys, "/dir")
	_, err = w.Commit(ctx, pfs.CommitOptions{Size: 7})
	pfstest.WantKind(t, err, pfs.Conflict)
	w.Close(ctx)
	again, err := fsys.Create(ctx, "/moved/f", pfs.CreateOptions{ID: id, Reopen: true})
	if err != nil || !again.Resumed() {
		t.Fatalf("the upload did not go along with its directory: %v", err)
	}
	if _, err := again.Commit(ctx, pfs.CommitOptions{Size: 7}); err != nil {
		t.Fatal(err)
	}
	pfstest.WantNames(t, fsys, "/dir")
	pfstest.WantFile(t, fsys, "/moved/f", []byte("content"))
}
