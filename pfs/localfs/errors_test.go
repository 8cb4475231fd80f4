package localfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func TestKindOf(t *testing.T) {
	tests := []struct {
		err  error
		want pfs.Kind
	}{
		{syscall.ENOENT, pfs.NotExist},
		{syscall.ENOTDIR, pfs.NotDir},
		{syscall.EISDIR, pfs.IsDir},
		{syscall.EEXIST, pfs.Exist},
		{syscall.ENOTEMPTY, pfs.NotEmpty},
		{syscall.ELOOP, pfs.Symlink},
		{syscall.EACCES, pfs.Permission},
		{syscall.EPERM, pfs.Permission},
		{syscall.EROFS, pfs.ReadOnly},
		{syscall.ENOSPC, pfs.NoSpace},
		{syscall.EFBIG, pfs.NoSpace},
		{syscall.E2BIG, pfs.NoSpace},
		{syscall.ERANGE, pfs.NoSpace},
		{syscall.ENODATA, pfs.NoAttr},
		{syscall.EMLINK, pfs.NoSpace},
		{syscall.EDQUOT, pfs.Quota},
		{syscall.EXDEV, pfs.CrossStore},
		{syscall.EINVAL, pfs.Invalid},
		{syscall.ENAMETOOLONG, pfs.Invalid},
		{syscall.EILSEQ, pfs.Invalid},
		{syscall.ENOSYS, pfs.Unsupported},
		{syscall.ENOTSUP, pfs.Unsupported},
		{syscall.EOPNOTSUPP, pfs.Unsupported},
		{syscall.ENXIO, pfs.Unsupported},
		{syscall.ETXTBSY, pfs.Conflict},
		{syscall.EBUSY, pfs.Conflict},
		{syscall.EMFILE, pfs.Limit},
		{syscall.ENFILE, pfs.Limit},
		{syscall.ENOMEM, pfs.Limit},
		{syscall.ESTALE, pfs.Unavailable},
		{syscall.ENOTCONN, pfs.Unavailable},
		{syscall.EHOSTDOWN, pfs.Unavailable},
		{syscall.ETIMEDOUT, pfs.Unavailable},
		{syscall.EAGAIN, pfs.Unavailable},
		{syscall.EINTR, pfs.Unavailable},
		{syscall.EIO, pfs.Other},
		{syscall.EPIPE, pfs.Other},
		{fs.ErrClosed, pfs.Closed},
		{context.Canceled, pfs.Canceled},
		{linkAt("a"), pfs.Symlink},
		{errSwapped, pfs.Conflict},
	}
	tested := map[error]bool{}
	for _, test := range tests {
		tested[test.err] = true
		for _, err := range []error{test.err, &fs.PathError{Err: test.err}, fmt.Errorf("wrapped: %w", test.err)} {
			if got := kindOf(err); got != test.want {
				t.Errorf("kindOf(%v) = %v, want %v", err, got, test.want)
			}
			pfstest.WantKind(t, fail("localfs.Test", "/a", err), test.want)
		}
	}
	for _, table := range []map[syscall.Errno]pfs.Kind{posix.Kinds, kinds} {
		for errno := range table {
			if !tested[errno] {
				t.Errorf("%v is in the table and not in the test", errno)
			}
		}
	}
}

func TestFailNamesTheLink(t *testing.T) {
	var e *pfs.Error
	if err := fail("localfs.Test", "/a/b/c", linkAt("a/b")); !errors.As(err, &e) || e.Path != "/a/b" || e.Op != "localfs.Test" {
		t.Errorf("error %v, want it about /a/b", err)
	}
	if fail("localfs.Test", "/a", nil) != nil {
		t.Error("nil became an error")
	}
}

// TestErrorsHideTheHost checks that no error contains the path of the store's directory.
func TestErrorsHideTheHost(t *testing.T) {
	for name, open := range map[string]func(string, bool) (dir, error){"system": openTop, "os.Root": openRoot} {
		t.Run(name, func(t *testing.T) { errorsHideTheHost(t, open) })
	}
}

func errorsHideTheHost(t *testing.T, open func(string, bool) (dir, error)) {
	root := t.TempDir()
	f, err := newFS(root, Options{}, open)
	must(t, err)
	defer f.Close()
	ctx := t.Context()
	pfstest.WriteFile(t, f, "/f", nil)
	must(t, f.Symlink(ctx, "f", "/link"))
	must(t, f.Mkdir(ctx, "/dir", 0o755))
	_, err1 := f.Open(ctx, "/missing")
	_, err2 := f.Open(ctx, "/link")
	_, err3 := f.List(ctx, "/f", pfs.ListOptions{})
	_, err4 := f.Create(ctx, "/f/g", pfs.CreateOptions{})
	errs := []error{
		err1, err2, err3, err4,
		f.Rename(ctx, "/missing", "/x"), f.Rename(ctx, "/f", "/missing/x"), f.Rename(ctx, "/f", "/dir"),
		f.Remove(ctx, "/missing"), f.RemoveTree(ctx, "/link/x"), f.Mkdir(ctx, "/missing/x", 0o755),
		f.Symlink(ctx, "x", "/f"), f.Symlink(ctx, "x", "/missing/x"), pfs.SetAttr(ctx, f, "/missing", pfs.AttrMode, pfs.Attrs{Mode: 0}),
		f.WriteBatch(ctx, []pfs.BatchEntry{{Path: "/missing/x"}})[0],
	}
	for i, err := range errs {
		if err == nil {
			t.Errorf("operation %d succeeded", i)
		} else if strings.Contains(err.Error(), filepath.Base(filepath.Dir(root))) {
			t.Errorf("error %q tells where the store is", err)
		}
	}
}

func TestNew(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for path, want := range map[string]pfs.Kind{filepath.Join(dir, "missing"): pfs.NotExist, file: pfs.NotDir} {
		_, err := New(path, Options{})
		pfstest.WantKind(t, err, want)
		if !strings.Contains(err.Error(), path) {
			t.Errorf("error %q does not name %s", err, path)
		}
	}
}

func TestClose(t *testing.T) {
	f, _ := openStore(t, Options{})
	pfstest.WriteFile(t, f, "/f", []byte("content"))
	r, err := f.Open(t.Context(), "/f")
	must(t, err)
	defer r.Close()
	must(t, f.Close())
	must(t, f.Close())
	_, err = f.Stat(t.Context(), "/f")
	pfstest.WantKind(t, err, pfs.Closed)
	must(t, pfs.ReadFull(t.Context(), r, make([]byte, 7), 0))
}
