package localfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Changes of attributes are durable when they return.
func TestAttributesAreDurable(t *testing.T) {
	f, dir := openStore(t, Options{})
	must(t, os.Mkdir(filepath.Join(dir, "dir"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "closed"), nil, 0))
	tests := map[string]func(f *FS) error{
		"mode of a file":      func(f *FS) error { return pfs.SetAttr(t.Context(), f, "/file", pfs.AttrMode, pfs.Attrs{Mode: 0o600}) },
		"mode of a directory": func(f *FS) error { return pfs.SetAttr(t.Context(), f, "/dir", pfs.AttrMode, pfs.Attrs{Mode: 0o700}) },
		"time of a file": func(f *FS) error {
			return pfs.SetAttr(t.Context(), f, "/file", pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(1e9, 0)})
		},
		"time of a directory": func(f *FS) error {
			return pfs.SetAttr(t.Context(), f, "/dir", pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(1e9, 0)})
		},
		"mode beyond the umask":    func(f *FS) error { return f.Mkdir(t.Context(), "/new", 0o777|fs.ModeDir) },
		"limits of a directory":    func(f *FS) error { return f.SetQuota(t.Context(), "/dir", 1, 0) },
		"the root":                 func(f *FS) error { return pfs.SetAttr(t.Context(), f, pfs.Root, pfs.AttrMode, pfs.Attrs{Mode: 0o755}) },
		"a file that stays closed": func(f *FS) error { return pfs.SetAttr(t.Context(), f, "/closed", pfs.AttrMode, pfs.Attrs{Mode: 0}) },
	}
	for name, change := range tests {
		synced := false
		f.sync = func(*os.File) error {
			synced = true
			return syscall.EIO
		}
		err := change(f)
		if name == "a file that stays closed" && !synced {
			must(t, err) // by syncing the whole disk: only root can open the file
			continue
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: error %v, want that of the sync", name, err)
		}
	}
}

// TestModeOfADirectoryKeepsItsSpecialBits: the group of new files in a shared directory
// must not change when its permissions do.
func TestModeOfADirectoryKeepsItsSpecialBits(t *testing.T) {
	dir := t.TempDir()
	f, err := New(dir, Options{NoSync: true})
	must(t, err)
	defer f.Close()
	must(t, f.Mkdir(t.Context(), "/d", 0o755))
	must(t, os.Chmod(filepath.Join(dir, "d"), fs.ModeSetgid|0o755))
	for _, mode := range []fs.FileMode{0o750, fs.ModeSticky | 0o700} {
		must(t, pfs.SetAttr(t.Context(), f, "/d", pfs.AttrMode, pfs.Attrs{Mode: mode}))
		want := fs.ModeDir | mode
		if mode&fs.ModeSticky == 0 {
			want |= fs.ModeSetgid
		}
		info, err := os.Stat(filepath.Join(dir, "d"))
		must(t, err)
		if info.Mode() != want {
			t.Errorf("mode = %v, want %v", info.Mode(), want)
		}
	}
}
