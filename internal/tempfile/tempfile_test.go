package tempfile

import (
	"os"
	"runtime"
	"testing"
)

// TestTempFileHasNoName: a killed run cannot remove its temporary files, which may be as large as
// the records, so they have no names.
func TestTempFileHasNoName(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // of Windows
	f, err := New()
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 && runtime.GOOS != "windows" {
		t.Errorf("while it is open: %v", left)
	}
	if _, err := f.Write([]byte("record")); err != nil {
		t.Error(err)
	}
	var got [6]byte
	if _, err := f.ReadAt(got[:], 0); err != nil || string(got[:]) != "record" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(f.Name()); !os.IsNotExist(err) {
		t.Errorf("after Close: %v", err)
	}
}
