package aferofs_test

import (
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/aferofs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/spf13/afero"
)

func edit(t *testing.T, fsys pfs.FileSystem, name pfs.Path) pfs.Edited {
	t.Helper()
	h, err := pfs.Edit(t.Context(), fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func TestEditOfWhatIsGoneAnswersConflict(t *testing.T) {
	ctx := t.Context()
	ends := map[string]func(fsys pfs.FileSystem) error{
		"removed":       func(fsys pfs.FileSystem) error { return fsys.Remove(ctx, "/dir/f") },
		"replaced":      func(fsys pfs.FileSystem) error { return fsys.Rename(ctx, "/other", "/dir/f") },
		"removed above": func(fsys pfs.FileSystem) error { return pfs.RemoveTree(ctx, fsys, "/dir") },
		"written anew": func(fsys pfs.FileSystem) error {
			pfstest.WriteFile(t, fsys, "/dir/f", []byte("other"))
			return nil
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			fsys := aferofs.Store(afero.NewMemMapFs(), aferofs.Options{})
			pfstest.MustMkdir(t, fsys, "/dir")
			pfstest.WriteFile(t, fsys, "/dir/f", []byte("content"))
			pfstest.WriteFile(t, fsys, "/other", []byte("other"))
			h := edit(t, fsys, "/dir/f")
			if err := end(fsys); err != nil {
				t.Fatal(err)
			}
			_, err := h.WriteAt(ctx, []byte("x"), 0)
			pfstest.WantKind(t, err, pfs.Conflict)
			pfstest.WantKind(t, h.Truncate(ctx, 0), pfs.Conflict)
		})
	}
}

func TestEditGoesAlongWithRename(t *testing.T) {
	fsys := aferofs.Store(afero.NewMemMapFs(), aferofs.Options{})
	pfstest.MustMkdir(t, fsys, "/dir")
	pfstest.WriteFile(t, fsys, "/dir/f", []byte("content"))
	h := edit(t, fsys, "/dir/f")
	if err := fsys.Rename(t.Context(), "/dir", "/moved"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.WriteAt(t.Context(), []byte("C"), 0); err != nil {
		t.Fatal(err)
	}
	pfstest.WantFile(t, fsys, "/moved/f", []byte("Content"))
}

// TestEditIsNeverTheOldVersion sets size and time back to what they were.
func TestEditIsNeverTheOldVersion(t *testing.T) {
	ctx, at := t.Context(), time.Unix(1e9, 0)
	fsys := aferofs.Store(afero.NewMemMapFs(), aferofs.Options{})
	pfstest.WriteFileWith(t, fsys, "/f", []byte("0"), pfs.CommitOptions{ModTime: at})
	seen := map[string]int{pfstest.MustStat(t, fsys, "/f").Version: 0}
	for i := 1; i < 10; i++ {
		h := edit(t, fsys, "/f")
		if _, err := h.WriteAt(ctx, []byte{byte('0' + i)}, 0); err != nil {
			t.Fatal(err)
		}
		h.Close()
		if err := pfs.SetAttr(ctx, fsys, "/f", pfs.AttrModTime, pfs.Attrs{ModTime: at}); err != nil {
			t.Fatal(err)
		}
		v := pfstest.MustStat(t, fsys, "/f").Version
		if before, ok := seen[v]; ok {
			t.Fatalf("contents %d and %d have both the version %s", before, i, v)
		}
		seen[v] = i
	}
}

func TestCloseOfAHandleKeepsTheTime(t *testing.T) {
	at := time.Unix(1e9, 0)
	fsys := aferofs.Store(afero.NewMemMapFs(), aferofs.Options{})
	pfstest.WriteFileWith(t, fsys, "/f", []byte("content"), pfs.CommitOptions{ModTime: at})
	if err := edit(t, fsys, "/f").Close(); err != nil {
		t.Fatal(err)
	}
	if got := pfstest.MustStat(t, fsys, "/f").ModTime; !got.Equal(at) {
		t.Errorf("time = %v, want %v", got, at)
	}
}
