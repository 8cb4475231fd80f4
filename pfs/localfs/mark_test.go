package localfs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

var marks = []mark{
	{},
	{size: 1, mtime: time.Unix(1e9, 5), id: "0123456789abcdef0123456789abcdef", digest: "xxh3:0123456789abcdef0123456789abcdef"},
	{size: 1 << 50, mtime: time.Unix(-5, 0), id: "not-hexadecimal", digest: "blake3:" + strings.Repeat("ab", 32)},
	{size: 3, mtime: time.Unix(1, 0), id: "0123456789abcdefabc", digest: "xxh3:odd"},
	{size: 3, mtime: time.Unix(1, 0), digest: "xxh3:00"},
}

func TestMark(t *testing.T) {
	for _, want := range marks {
		if want.mtime.IsZero() {
			want.mtime = time.Unix(0, 0)
		}
		p := want.encode()
		got, ok := decodeMark(p)
		if !ok || !got.mtime.Equal(want.mtime) || got.size != want.size || got.id != want.id || got.digest != want.digest {
			t.Errorf("decodeMark(%x) = %+v, %v, want %+v", p, got, ok, want)
		}
		for n := range p {
			if got, ok := decodeMark(p[:n]); ok {
				t.Errorf("decodeMark of %d of %d bytes = %+v", n, len(p), got)
			}
		}
	}
	// An inode of 256 bytes has 92 for attributes, of which name and entry take 28.
	if n := len(marks[1].encode()); n > 64 {
		t.Errorf("a mark has %d bytes and does not fit into an inode", n)
	}
}

func FuzzMark(f *testing.F) {
	for _, m := range marks {
		f.Add(m.encode())
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		m, ok := decodeMark(p)
		if !ok {
			return
		}
		again, ok := decodeMark(m.encode())
		if !ok || again.id != m.id || again.digest != m.digest || again.size != m.size || !again.mtime.Equal(m.mtime) {
			t.Errorf("%+v became %+v, %v", m, again, ok)
		}
	})
}

// TestDigestIsVoidAfterChange changes a file behind the store's back.
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
	h, err := f.Edit(t.Context(), name)
	if err != nil {
		return err
	}
	_, err = h.WriteAt(t.Context(), []byte("x"), 5)
	return errors.Join(err, h.Close())
}
