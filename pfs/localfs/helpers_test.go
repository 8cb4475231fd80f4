package localfs

import (
	"os"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// openStore returns a durable store in a fresh directory.
func openStore(t testing.TB, opts Options) (*FS, string) {
	t.Helper()
	dir := t.TempDir()
	return openAt(t, dir, opts), dir
}

// openAt returns a store in dir.
func openAt(t testing.TB, dir string, opts Options) *FS {
	t.Helper()
	f, err := New(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stage begins an upload of name that holds data.
func stage(t testing.TB, f *FS, name pfs.Path, opts pfs.CreateOptions, data []byte) pfs.Staged {
	t.Helper()
	w, err := f.Create(t.Context(), name, opts)
	must(t, err)
	t.Cleanup(func() { w.Close(t.Context()) })
	_, err = w.WriteAt(t.Context(), data, 0)
	must(t, err)
	return w
}

// temps returns the names of the uploads in a directory of the host.
func temps(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		if pfs.IsTemp(e.Name(), e.Type()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// wantUsage fails unless the tree below name has these totals.
func wantUsage(t testing.TB, f *FS, name pfs.Path, bytes, files, dirs int64) {
	t.Helper()
	got, err := f.Usage(t.Context(), name)
	must(t, err)
	if got.Bytes != bytes || got.Files != files || got.Dirs != dirs {
		t.Fatalf("usage of %s = %+v, want %d bytes, %d files, %d directories", name, got, bytes, files, dirs)
	}
}

// write publishes n bytes as name.
func write(t testing.TB, f *FS, name pfs.Path, n int) {
	pfstest.WriteFile(t, f, name, pfstest.Pattern(1, n))
}

// diskOf returns the space that a file takes on the disk.
func diskOf(t *testing.T, name string) int64 {
	t.Helper()
	h, err := os.Open(name)
	must(t, err)
	defer h.Close()
	st, err := statFile(h)
	must(t, err)
	return st.disk
}
