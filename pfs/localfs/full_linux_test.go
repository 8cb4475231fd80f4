package localfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/sys/unix"
)

// TestFullDisk fills a file system of 8 MiB.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("mounting a small file system needs privilege: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	f := openAt(t, dir, Options{})
	data := pfstest.Pattern(1, pfs.ChunkSize)
	write(t, f, "/kept", 1000)

	_, err := f.Create(t.Context(), "/large", pfs.CreateOptions{Size: 64 << 20})
	pfstest.WantKind(t, err, pfs.NoSpace)
	if left := temps(t, dir); len(left) != 0 {
		t.Errorf("left is %q", left)
	}

	w := stage(t, f, "/unknown", pfs.CreateOptions{ID: id}, data)
	_, err = w.WriteAt(t.Context(), data, pfs.ChunkSize)
	pfstest.WantKind(t, err, pfs.NoSpace)
	errs := f.WriteBatch(t.Context(), []pfs.BatchEntry{{Path: "/small", Data: make([]byte, 100)}, {Path: "/batch", Data: append(data, data...)}})
	pfstest.WantKind(t, errs[1], pfs.NoSpace)

	// Room is made, and the same staged write goes on.
	must(t, os.WriteFile(filepath.Join(dir, "kept"), nil, 0))
	must(t, w.Suspend())
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT, "size=32m"))
	w, err = f.Create(t.Context(), "/unknown", pfs.CreateOptions{ID: id, Reopen: true})
	must(t, err)
	_, err = w.WriteAt(t.Context(), data, pfs.ChunkSize)
	must(t, err)
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: 2 * pfs.ChunkSize})
	must(t, err)
	pfstest.WantFile(t, f, "/unknown", append(data, data...))
	if left := temps(t, dir); len(left) != 0 {
		t.Errorf("left is %q", left)
	}
}

// TestCrossStore renames over the border of a mounted file system.
func TestCrossStore(t *testing.T) {
	f, dir := openStore(t, Options{})
	must(t, f.Mkdir(t.Context(), "/mounted", 0o755))
	at := filepath.Join(dir, "mounted")
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mounting a small file system needs privilege: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
	write(t, f, "/f", 10)
	pfstest.WantKind(t, f.Rename(t.Context(), "/f", "/mounted/f"), pfs.CrossStore)
	_, err := f.CopyFile(t.Context(), "/f", "/mounted/f", pfs.CopyOptions{}, nil)
	must(t, err)
	pfstest.WantFile(t, f, "/mounted/f", pfstest.Pattern(1, 10))
	pfstest.WantKind(t, f.Remove(t.Context(), "/mounted"), pfs.Conflict)
	for _, err := range f.WriteBatch(t.Context(), manyFiles("/g", "/mounted/g")) {
		must(t, err)
	}
}

// manyFiles makes a batch that is synced as a whole, of files in both places.
func manyFiles(prefixes ...pfs.Path) []pfs.BatchEntry {
	var batch []pfs.BatchEntry
	for i := range groupFew + 1 {
		for _, p := range prefixes {
			batch = append(batch, pfs.BatchEntry{Path: p + pfs.Path(rune('a'+i)), Data: []byte("x")})
		}
	}
	return batch
}
