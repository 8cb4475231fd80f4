package aferofs_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/aferofs"
	"github.com/paddlecloud/pfs/pfs/linkfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/rofs"
	"github.com/spf13/afero"
)

func newTree(t *testing.T) (afero.Fs, *memfs.FS) {
	m := memfs.New(memfs.Options{})
	return aferofs.FromPFS(t.Context(), m), m
}

func TestTreeAsIOFS(t *testing.T) {
	afs, _ := newTree(t)
	for _, name := range []string{"a", "dir/b", "dir/sub/c", "with space/ü"} {
		if err := afs.MkdirAll(path.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := afero.WriteFile(afs, name, []byte("content of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := afs.Mkdir("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(afero.NewIOFS(afs), "a", "dir/b", "dir/sub/c", "with space/ü", "empty"); err != nil {
		t.Error(err)
	}
}

func TestCloseCommits(t *testing.T) {
	afs, m := newTree(t)
	pfstest.WriteFileWith(t, m, "/f", []byte("old"), pfs.CommitOptions{Mode: 0o600})
	f, err := afs.Create("f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("new content"); err != nil {
		t.Fatal(err)
	}
	pfstest.WantFile(t, m, "/f", []byte("old"))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	pfstest.WantFile(t, m, "/f", []byte("new content"))
	if mode := pfstest.MustStat(t, m, "/f").Mode; mode != 0o600 {
		t.Errorf("mode = %v, want that of the old file", mode)
	}
	if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
}

func TestWriteThatFailedIsNotPublished(t *testing.T) {
	m := memfs.New(memfs.Options{Capacity: 1000})
	afs := aferofs.FromPFS(t.Context(), m)
	pfstest.WriteFile(t, m, "/f", []byte("old"))
	f, err := afs.Create("/f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(make([]byte, 2000))
	if !errors.Is(err, pfs.NoSpace) {
		t.Fatalf("Write = %v, want NoSpace", err)
	}
	if err := f.Close(); !errors.Is(err, pfs.NoSpace) {
		t.Errorf("Close = %v, want NoSpace", err)
	}
	pfstest.WantFile(t, m, "/f", []byte("old"))
}

func TestErrorsAreThoseOfPackageOS(t *testing.T) {
	afs, m := newTree(t)
	pfstest.MustMkdir(t, m, "/dir/sub")
	pfstest.WriteFile(t, m, "/f", nil)
	readOnly := aferofs.FromPFS(t.Context(), rofs.New(m))
	open := func(afs afero.Fs, name string, flag int) error {
		f, err := afs.OpenFile(name, flag, 0o644)
		if err == nil {
			f.Close()
		}
		return err
	}
	rows := []struct {
		name string
		err  error
		is   func(error) bool
	}{
		{"open of what is missing", open(afs, "/missing", os.O_RDONLY), os.IsNotExist},
		{"write of what is missing", open(afs, "/missing", os.O_WRONLY), os.IsNotExist},
		{"exclusive", open(afs, "/f", os.O_WRONLY|os.O_CREATE|os.O_EXCL), os.IsExist},
		{"mkdir again", afs.Mkdir("/dir", 0o755), os.IsExist},
		{"mkdir in nothing", afs.Mkdir("/no/dir", 0o755), os.IsNotExist},
		{"remove", afs.Remove("/missing"), os.IsNotExist},
		{"full directory", afs.Remove("/dir"), func(err error) bool { return errors.Is(err, pfs.NotEmpty) }},
		{"directory for writing", open(afs, "/dir", os.O_RDWR), func(err error) bool { return errors.Is(err, pfs.IsDir) }},
		{"directory truncated", open(afs, "/dir", os.O_RDWR|os.O_TRUNC), func(err error) bool { return errors.Is(err, pfs.IsDir) }},
		{"read-only", open(readOnly, "/f", os.O_RDWR|os.O_TRUNC), func(err error) bool { return errors.Is(err, fs.ErrPermission) }},
		{"chown", afs.Chown("/f", 1, 1), func(err error) bool { return errors.Is(err, errors.ErrUnsupported) }},
		{"reserved name", afs.Mkdir("/.pfs-quota", 0o755), func(err error) bool { return errors.Is(err, fs.ErrInvalid) }},
	}
	for _, row := range rows {
		var pe *fs.PathError
		if !errors.As(row.err, &pe) || !row.is(row.err) {
			t.Errorf("%s: error %T %v", row.name, row.err, row.err)
		}
	}
	if err := afs.RemoveAll("/missing"); err != nil {
		t.Errorf("RemoveAll of what is missing: %v", err)
	}
}

func TestExclusiveCreateLosesToWhoCloses(t *testing.T) {
	afs, m := newTree(t)
	f, err := afs.OpenFile("/f", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	pfstest.WriteFile(t, m, "/f", []byte("first"))
	if err := f.Close(); !os.IsExist(err) {
		t.Errorf("Close = %v, want an error that os.IsExist knows", err)
	}
	pfstest.WantFile(t, m, "/f", []byte("first"))
}

func TestEditThroughAfero(t *testing.T) {
	afs, m := newTree(t)
	pfstest.WriteFile(t, m, "/f", []byte("content"))
	f, err := afs.OpenFile("/f", os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(" and more"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("C"), 0); err != nil {
		t.Fatal(err)
	}
	pfstest.WantFile(t, m, "/f", []byte("Content and more"))
	if err := f.Truncate(7); err != nil {
		t.Fatal(err)
	}
	pfstest.WantFile(t, m, "/f", []byte("Content"))
}

// TestStagingIsAFile does the same to a staged file and to one of package os.
func TestStagingIsAFile(t *testing.T) {
	afs, m := newTree(t)
	staged, err := afs.Create("/f")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	steps := []func(f afero.File) error{
		func(f afero.File) error { _, err := f.WriteString("0123456789"); return err },
		func(f afero.File) error { return f.Truncate(4) },
		func(f afero.File) error { _, err := f.WriteAt([]byte("ab"), 8); return err },
		func(f afero.File) error { return f.Truncate(2) },
		func(f afero.File) error { return f.Truncate(6) },
		func(f afero.File) error { return f.Truncate(30) },
		func(f afero.File) error { _, err := f.Seek(-3, io.SeekEnd); return err },
		func(f afero.File) error { _, err := f.WriteString("end"); return err },
		func(f afero.File) error { _, err := f.WriteAt([]byte("far"), 5_000_000); return err },
		func(f afero.File) error { return f.Truncate(100) },
		func(f afero.File) error { return f.Truncate(5_000_001) },
		func(f afero.File) error { return f.Truncate(50) },
	}
	for i, step := range steps {
		for _, f := range []afero.File{staged, plain} {
			if err := step(f); err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
		}
		if got, want := all(t, staged), all(t, plain); !slices.Equal(got, want) {
			t.Fatalf("after step %d the file has %d bytes, want %d, or others", i, len(got), len(want))
		}
	}
	if err := staged.Close(); err != nil {
		t.Fatal(err)
	}
	pfstest.WantFile(t, m, "/f", all(t, plain))
}

// TestSeekRefuses checks that a refused Seek does not change the position.
func TestSeekRefuses(t *testing.T) {
	afs, _ := newTree(t)
	f, err := afs.Create("/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("0123456789"); err != nil {
		t.Fatal(err)
	}
	for _, to := range []struct {
		offset int64
		whence int
	}{{-1, io.SeekStart}, {-11, io.SeekEnd}, {4, io.SeekEnd + 1}, {4, -1}} {
		if n, err := f.Seek(to.offset, to.whence); n != 10 || !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Seek(%d, %d) = %d, %v, want 10 and ErrInvalid", to.offset, to.whence, n, err)
		}
	}
}

// all returns the content of f and leaves its place where it was.
func all(t *testing.T, f afero.File) []byte {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	p, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size()+10))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestReaddirInParts(t *testing.T) {
	afs, m := newTree(t)
	want := []string{"a", "b", "c", "d", "e"}
	for _, name := range want {
		pfstest.WriteFile(t, m, pfs.Root.Join(name), nil)
	}
	dir, err := afs.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var got []string
	for {
		names, err := dir.Readdirnames(2)
		got = append(got, names...)
		if err == io.EOF {
			break
		}
		if err != nil || len(names) > 2 {
			t.Fatalf("Readdirnames(2) = %q, %v", names, err)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("names = %q, want %q", got, want)
	}
	if names, err := dir.Readdirnames(-1); len(names) != 0 || err != nil {
		t.Errorf("Readdirnames(-1) at the end = %q, %v", names, err)
	}
}

func TestLinksThroughAfero(t *testing.T) {
	m := memfs.New(memfs.Options{})
	pfstest.MustMkdir(t, m, "/dir")
	pfstest.WriteFile(t, m, "/dir/f", []byte("content"))
	afs := aferofs.FromPFS(t.Context(), linkfs.New(m))
	links := afs.(afero.Symlinker)
	for name, target := range map[string]string{"to-file": "dir/f", "to-dir": "dir", "to-nothing": "nowhere"} {
		if err := links.SymlinkIfPossible(target, name); err != nil {
			t.Fatal(err)
		}
		if got, err := links.ReadlinkIfPossible(name); got != target || err != nil {
			t.Errorf("Readlink of %s = %q, %v", name, got, err)
		}
	}
	if info, err := afs.Stat("to-file"); err != nil || info.Size() != 7 || info.Name() != "to-file" || !info.Mode().IsRegular() {
		t.Errorf("Stat of a link to a file = %+v, %v", info, err)
	}
	if ok, err := afero.IsDir(afs, "to-dir"); !ok || err != nil {
		t.Errorf("IsDir of a link to a directory = %v, %v", ok, err)
	}
	if _, err := afs.Stat("to-nothing"); !os.IsNotExist(err) {
		t.Errorf("Stat of a link to nothing: %v", err)
	}
	if info, _, err := links.LstatIfPossible("to-nothing"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("Lstat of a link = %+v, %v", info, err)
	}
	bare := aferofs.FromPFS(t.Context(), m)
	if info, err := bare.Stat("to-file"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("Stat of a link in a store that follows none = %+v, %v, want the link", info, err)
	}
}

func TestAttributesThroughAfero(t *testing.T) {
	afs, m := newTree(t)
	pfstest.WriteFile(t, m, "/f", nil)
	at := time.Unix(1e9, 0)
	if err := afs.Chtimes("f", time.Now(), at); err != nil {
		t.Fatal(err)
	}
	if err := afs.Chmod("f", 0o640); err != nil {
		t.Fatal(err)
	}
	if err := afs.MkdirAll("a/b/c", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := afs.Rename("f", "a/b/c/../g"); err != nil {
		t.Fatal(err)
	}
	info, err := afs.Stat("/a/b/g")
	if err != nil || info.Mode() != 0o640 || !info.ModTime().Equal(at) {
		t.Errorf("Stat = %+v, %v", info, err)
	}
	if _, ok := info.Sys().(pfs.Info); !ok {
		t.Errorf("Sys = %T, want pfs.Info", info.Sys())
	}
}
