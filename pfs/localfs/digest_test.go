package localfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// TestDigestSmall: only small regular files have a digest, and it is that of their current bytes,
// regardless of their stored digest.
func TestDigestSmall(t *testing.T) {
	for way, open := range ways {
		t.Run(way, func(t *testing.T) {
			f, w := watchStore(t, open)
			for name, size := range map[string]int{"a": 0, "d/b": 5000, "d/full": smallFile, "d/large": smallFile + 1} {
				path := filepath.Join(w.path, name)
				must(t, os.MkdirAll(filepath.Dir(path), 0o755))
				must(t, os.WriteFile(path, make([]byte, size), 0o644))
			}
			must(t, os.Symlink("a", filepath.Join(w.path, "link")))
			names := []pfs.Path{"/a", "/d/b", "/d/full", "/d/large", "/d", "/link", "/none", "/none/f"}
			want := []string{digest.Bytes(nil), digest.Bytes(make([]byte, 5000)), digest.Bytes(make([]byte, smallFile)), "", "", "", "", ""}
			for i, got := range f.DigestSmall(t.Context(), names) {
				if got != want[i] {
					t.Errorf("%s: got %q, want %q", names[i], got, want[i])
				}
			}
			if n := w.open.Load(); n != 1 { // the root
				t.Errorf("%d directories are open", n)
			}
		})
	}
}
