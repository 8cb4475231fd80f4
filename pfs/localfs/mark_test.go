package localfs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestDigestIsVoidAfterChange changes a file with another tool.
func TestDigestIsVoidAfterChange(t *testing.T) {
	data := pfstest.Pattern(1, 1000)
	at := time.Unix(1e9, 0)
	changes := map[string]func(f *FS, path string) error{
		"edited, and its time set back": func(f *FS, p string) error { return errors.Join(edit(t, f, "/f"), os.Chtimes(p, at, at)) },
		"longer":                        func(_ *FS, p string) error { return errors.Join(os.Truncate(p, 1001), os.Chtimes(p, at, at)) },
		"written":                       func(_ *FS, p string) error { return os.WriteFile(p, bytes.Repeat([]byte("x"), 1000), 0) },
		"another time":                  func(_ *FS, p string) error { return os.Chtimes(p, at, at.Add(1)) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			f, dir := openStore(t, Options{})
			pfstest.WriteFileWith(t, f, "/f", data, pfs.CommitOptions{ModTime: at, Digest: digest.Bytes(data)})
			if got := pfstest.MustStat(t, f, "/f").Digest; got != digest.Bytes(data) {
				t.Skipf("no extended attributes here: digest %q", got)
			}
			must(t, change(f, filepath.Join(dir, "f")))
			if got := pfstest.MustStat(t, f, "/f").Digest; got != "" {
				t.Errorf("digest = %q, want none", got)
			}
		})
	}
}

// edit changes a byte of name in place.
func edit(t *testing.T, f *FS, name pfs.Path) error {
	h, err := f.OpenHandle(t.Context(), name, readWrite, 0)
	if err != nil {
		return err
	}
	_, err = h.WriteAt(t.Context(), []byte("x"), 5)
	return errors.Join(err, h.Close(t.Context()))
}
