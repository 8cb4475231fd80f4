package stagefs

import (
	"bytes"
	"os"
	"syscall"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestFullDisk: a full disk is an error of the writer, and damages nothing.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("mounting a small file system: %v", err)
		}
		t.Skipf("mounting a small file system needs privilege: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	store := newStore()
	small, large := pfstest.Pattern(1, 1<<20), pfstest.Pattern(2, 8<<20)
	pfstest.WriteFile(t, store, "/small", small)
	pfstest.WriteFile(t, store, "/large", large)
	f := newFS(t, store, Options{Dir: dir + "/staging"})

	h := openFile(t, f, "/large", 0)
	_, err := h.WriteAt(t.Context(), []byte("x"), 1)
	pfstest.WantKind(t, err, pfs.NoSpace)
	must(t, h.Close(t.Context()))
	pfstest.WantFile(t, f, "/large", large)

	h = openFile(t, f, "/small", 0)
	writeAt(t, h, "x", 1)
	small[1] = 'x'
	for off := int64(len(small)); ; off += 1 << 16 {
		if _, err := h.WriteAt(t.Context(), make([]byte, 1<<16), off); err != nil {
			pfstest.WantKind(t, err, pfs.NoSpace)
			break
		}
		small = append(small, make([]byte, 1<<16)...)
	}
	if len(small) < 3<<20 {
		t.Errorf("%d bytes could be written", len(small))
	}
	writeAt(t, h, "y", 2)
	small[2] = 'y'
	pfstest.WantFile(t, f, "/small", small)
	must(t, h.Close(t.Context()))
	if got := pfstest.ReadFile(t, store, "/small"); !bytes.Equal(got, small) {
		t.Errorf("%d bytes were uploaded", len(got))
	}
	if got := left(t, f); got != "" {
		t.Errorf("local files: %s", got)
	}
}
