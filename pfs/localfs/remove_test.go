package localfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestRemoveTreeDeep removes a tree that is deeper than any Path, and than the number of
// descriptors that RemoveTree uses.
func TestRemoveTreeDeep(t *testing.T) {
	f, dir := openStore(t, Options{NoSync: true})
	const name = "a-name-that-makes-a-path-long"
	t.Chdir(dir)
	levels := 0
	for range 5 * posix.MaxDepth {
		must(t, os.Mkdir(name, 0o755))
		must(t, os.WriteFile("file", nil, 0o600))
		must(t, os.Chdir(name))
		levels++
	}
	must(t, os.Chdir(dir))
	if levels*len(name) < pfs.MaxPath {
		t.Fatalf("a path of %d levels is not long", levels)
	}
	must(t, f.RemoveTree(t.Context(), pfs.Root.Join(name)))
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != "file" {
		t.Errorf("left are %v, want the file beside", entries)
	}
}

func TestRemoveClearsTemporaries(t *testing.T) {
	f, dir := openStore(t, Options{})
	must(t, f.Mkdir(t.Context(), "/d", 0o755))
	must(t, f.SetQuota(t.Context(), "/d", 1000, 0))
	for i := range 3 {
		must(t, stage(t, f, pfs.Path(fmt.Sprint("/d/", i)), pfs.CreateOptions{}, []byte("x")).Suspend(t.Context()))
	}
	write(t, f, "/d/f", 10)
	pfstest.WantKind(t, f.Remove(t.Context(), "/d"), pfs.NotEmpty)
	if n := len(temps(t, filepath.Join(dir, "d"))); n != 3 {
		t.Errorf("a Remove that failed left %d of 3 temporaries", n)
	}
	must(t, f.Remove(t.Context(), "/d/f"))
	must(t, f.Remove(t.Context(), "/d"))
	pfstest.WantAbsent(t, f, "/d")
}

func TestRenameHardLink(t *testing.T) {
	f, dir := openStore(t, Options{})
	write(t, f, "/a", 10)
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Skip(err)
	}
	must(t, f.Rename(t.Context(), "/a", "/b"))
	pfstest.WantNames(t, f, pfs.Root, "b")
}

// TestLongNames gives every kind of entry the longest name.
func TestLongNames(t *testing.T) {
	f, _ := openStore(t, Options{})
	name := strings.Repeat("n", pfs.MaxName)
	file := pfs.Root.Join(name)
	write(t, f, file, 10)
	must(t, stage(t, f, file, pfs.CreateOptions{ID: id}, []byte("x")).Suspend(t.Context()))
	w, err := f.Create(t.Context(), file, pfs.CreateOptions{ID: id, Reopen: true})
	must(t, err)
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: 1})
	must(t, err)
	must(t, w.Close(t.Context()))
	pfstest.WantFile(t, f, file, []byte("x"))
}
