package localfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/sys/unix"
)

// mountSmall mounts a file system of that size on a fresh directory.
func mountSmall(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	mountAt(t, dir, size)
	return dir
}

func mountAt(t *testing.T, dir, size string) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("mounting a small file system: %v", err)
		}
		t.Skipf("mounting a small file system needs privilege: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
}

// TestFullDisk fills a file system of 8 MiB.
func TestFullDisk(t *testing.T) {
	dir := mountSmall(t, "8m")
	f := openAt(t, dir, Options{})
	data := pfstest.Pattern(1, pfs.ChunkSize)
	write(t, f, "/kept", 1000)

	_, err := f.Create(t.Context(), "/large", pfs.CreateOptions{Size: 64 << 20})
	pfstest.WantKind(t, err, pfs.NoSpace)
	if full := (*pfs.OutOfSpace)(nil); !errors.As(err, &full) || full.Disk != "" || full.Need != 64<<20 || full.Free < 7<<20 || full.Free > 8<<20 {
		t.Errorf("got %v", err)
	}
	if left := temps(t, dir); len(left) != 0 {
		t.Errorf("left is %q", left)
	}

	w := stage(t, f, "/unknown", pfs.CreateOptions{ID: id}, data)
	_, err = w.WriteAt(t.Context(), data, pfs.ChunkSize)
	pfstest.WantKind(t, err, pfs.NoSpace)
	errs := f.WriteBatch(t.Context(), []pfs.BatchEntry{{Path: "/small", Data: make([]byte, 100)}, {Path: "/batch", Data: append(data, data...)}})
	pfstest.WantKind(t, errs[1], pfs.NoSpace)

	// Space is freed, and the same upload resumes.
	must(t, os.WriteFile(filepath.Join(dir, "kept"), nil, 0))
	must(t, w.Suspend(t.Context()))
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

// An upload that is announced and not sent does not prevent other writes.
func TestNothingIsReserved(t *testing.T) {
	dir := mountSmall(t, "8m")
	f := openAt(t, dir, Options{})
	for i := range 6 {
		stage(t, f, pfs.Path(fmt.Sprint("/announced", i)), pfs.CreateOptions{Size: 7 << 20}, []byte("x"))
	}
	write(t, f, "/sent", 7<<20)
}

// TestFullDiskIsFreed fails in every way on a full file system, and frees space in every way, while
// the store is open: the space of files that were removed, discarded or swept must be free at once.
func TestFullDiskIsFreed(t *testing.T) {
	const size = 32 << 20
	f := openAt(t, mountSmall(t, "32m"), Options{})
	ctx, data := t.Context(), pfstest.Pattern(1, pfs.ChunkSize)
	w := fillUp(t, f, data)
	free := func(what string, want int64) {
		t.Helper()
		space, err := f.Space(ctx, "/")
		must(t, err)
		if space.Free < want || space.Free >= want+pfs.ChunkSize {
			t.Errorf("%s: %d bytes are free, want %d and no leaf more", what, space.Free, want)
		}
	}

	free("full", 0)
	_, err := f.Create(ctx, "/sized", pfs.CreateOptions{Size: size / 2})
	pfstest.WantKind(t, err, pfs.NoSpace)
	_, err = f.CopyFile(ctx, "/full0", "/copy", pfs.CopyOptions{}, nil)
	pfstest.WantKind(t, err, pfs.NoSpace)
	for _, err := range f.WriteBatch(ctx, []pfs.BatchEntry{{Path: "/batch", Data: data}}) {
		pfstest.WantKind(t, err, pfs.NoSpace)
	}
	free("after what failed", 0)
	if got := strings.Count(namesIn(t, f, ""), pfs.TempPrefix+"up-"); got != 1 {
		t.Errorf("%d temporaries, want the one that goes on", got)
	}

	must(t, f.Remove(ctx, "/full0"))
	must(t, f.RemoveTree(ctx, "/full1"))
	free("removed", 2*pfs.ChunkSize)
	again := stage(t, f, "/again", pfs.CreateOptions{}, data)
	_, err = again.Commit(ctx, pfs.CommitOptions{Size: pfs.ChunkSize})
	must(t, err)
	must(t, f.Remove(ctx, "/again")) // before its handle is closed
	free("committed and removed", 2*pfs.ChunkSize)
	must(t, stage(t, f, "/discarded", pfs.CreateOptions{}, data).Close(ctx))
	free("discarded", 2*pfs.ChunkSize)

	// The failed upload is abandoned, and swept.
	st, err := statFile(w.(*staged).file)
	staged := st.size
	must(t, err)
	must(t, w.Suspend(ctx))
	free("suspended", 2*pfs.ChunkSize)
	n, bytes, err := f.Sweep(ctx, "/", 0)
	if n != 1 || bytes != staged || err != nil {
		t.Errorf("Sweep = %d, %d, %v, want 1, %d", n, bytes, err, staged)
	}
	free("swept", 2*pfs.ChunkSize+staged)
	if open := openRemoved(t); len(open) != 0 {
		t.Errorf("removed files are still open: %q", open)
	}
}

// fillUp publishes files until half of the disk is full, and stages one that fills the other half.
// It returns that one.
func fillUp(t *testing.T, f *FS, data []byte) pfs.Staged {
	t.Helper()
	for i := range 4 {
		pfstest.WriteFile(t, f, pfs.Path(fmt.Sprint("/full", i)), data)
	}
	w, err := f.Create(t.Context(), "/upload", pfs.CreateOptions{ID: id})
	must(t, err)
	t.Cleanup(func() { w.Close(t.Context()) })
	for off := int64(0); err == nil; off += pfs.ChunkSize {
		_, err = w.WriteAt(t.Context(), data, off)
	}
	pfstest.WantKind(t, err, pfs.NoSpace)
	return w
}

// openRemoved returns the removed temporaries that this process has open.
func openRemoved(t *testing.T) (open []string) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, fd := range fds {
		to, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name()))
		if err == nil && strings.HasSuffix(to, " (deleted)") && strings.Contains(to, pfs.TempPrefix) {
			open = append(open, to)
		}
	}
	return open
}

// TestCrossStore renames across the border of a mounted file system.
func TestCrossStore(t *testing.T) {
	f, dir := openStore(t, Options{})
	must(t, f.Mkdir(t.Context(), "/mounted", 0o755))
	at := filepath.Join(dir, "mounted")
	mountAt(t, at, "1m")
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
