package pfs_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestConformanceCore runs the suite on a store that has only the core: fallbacks work, and all
// other capabilities answer Unsupported.
func TestConformanceCore(t *testing.T) {
	pfstest.Run(t, pfstest.Options{
		New: func(*testing.T) pfs.FileSystem { return core{memfs.New(memfs.Options{})} },
		Gaps: pfstest.NoSymlink | pfstest.NoChmod | pfstest.NoChtime | pfstest.WholeFiles | pfstest.NoExclusiveRename |
			pfstest.NoQuota | pfstest.NoSpaceReport | pfstest.NoDigester | pfstest.NoSweep | pfstest.NoBlockLocations | pfstest.NoCopy,
		Names: 10_000,
	})
}

func TestCapabilitiesOfTheCore(t *testing.T) {
	ctx, fsys := t.Context(), core{newTree(t, "/f")}
	calls := map[string]func() error{
		"MakeLink": func() error { return pfs.MakeLink(ctx, fsys, "f", "/new") },
		"Chmod":    func() error { return pfs.SetAttr(ctx, fsys, "/f", pfs.AttrMode, pfs.Attrs{Mode: 0o600}) },
		"Chtime": func() error {
			return pfs.SetAttr(ctx, fsys, "/f", pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(1, 0)})
		},
		"OpenHandle":      func() error { _, err := pfs.OpenHandle(ctx, fsys, "/f", pfs.OpenRead, 0); return err },
		"RenameExclusive": func() error { return pfs.RenameExclusive(ctx, fsys, "/f", "/new") },
		"SpaceOf":         func() error { _, err := pfs.SpaceOf(ctx, fsys, "/f"); return err },
		"CopyInside": func() error {
			_, err := pfs.CopyInside(ctx, fsys, "/f", "/new", pfs.CopyOptions{}, nil)
			return err
		},
		"SetQuota":     func() error { return pfs.SetQuota(ctx, fsys, "/", 1, 1) },
		"LocateBlocks": func() error { _, err := pfs.LocateBlocks(ctx, fsys, "/f", 0, 1); return err },
		"WithOwner":    func() error { _, err := pfs.WithOwner(fsys, pfs.Owner{Name: "u", UID: 1, GID: 1}); return err },
		"Impersonate":  func() error { _, err := pfs.Impersonate(fsys, pfs.Owner{Name: "u", UID: 1, GID: 1}); return err },
		"Sweep":        func() error { _, _, err := pfs.Sweep(ctx, fsys, "/", time.Hour); return err },
	}
	for name, call := range calls {
		for what, fsys := range map[string]pfs.FileSystem{"a core": fsys, "a layer above it": pfstest.NewSub(fsys, "/")} {
			if err := call(); !errors.Is(err, pfs.Unsupported) {
				t.Errorf("%s of %s (%T): %v, want Unsupported", name, what, fsys, err)
			}
		}
	}
}

func TestWriteBatchOneByOne(t *testing.T) {
	fsys := core{memfs.New(memfs.Options{})}
	big := pfstest.Pattern(1, pfs.ChunkSize+1)
	errs := pfs.WriteBatch(t.Context(), fsys, []pfs.BatchEntry{
		{Path: "/d", Mode: fs.ModeDir | 0o700},
		{Path: "/d/f", Data: big, Mode: 0o600, ModTime: time.Unix(1e9, 0), Digest: "xxh3:00"},
		{Path: "/missing/f"},
		{Path: "/d/f", NoReplace: true},
	})
	for i, want := range []pfs.Kind{0, 0, pfs.NotExist, pfs.Exist} {
		if want == 0 && errs[i] != nil || want != 0 && !errors.Is(errs[i], want) {
			t.Errorf("entry %d: %v", i, errs[i])
		}
	}
	pfstest.WantFile(t, fsys, "/d/f", big)
	info := pfstest.MustStat(t, fsys, "/d/f")
	if info.Mode != 0o600 || !info.ModTime.Equal(time.Unix(1e9, 0)) || info.Digest != "xxh3:00" {
		t.Errorf("info = %+v", info)
	}
}

// denied is a Copier that does not copy; a refused copy must not be tried another way.
type denied struct{ core }

func (denied) CopyFile(context.Context, pfs.Path, pfs.Path, pfs.CopyOptions, func(int64)) (pfs.Info, error) {
	return pfs.Info{}, pfs.E("denied.CopyFile", "/f", pfs.Permission, nil)
}

func (denied) RemoveTree(context.Context, pfs.Path) error {
	return pfs.E("denied.RemoveTree", "/f", pfs.Permission, nil)
}

func (denied) Usage(context.Context, pfs.Path) (pfs.Usage, error) {
	return pfs.Usage{}, pfs.E("denied.Usage", "/f", pfs.Permission, nil)
}

func TestFallbackOnlyIfUnsupported(t *testing.T) {
	ctx, fsys := t.Context(), denied{core{newTree(t, "/f")}}
	_, err := pfs.CopyInside(ctx, fsys, "/f", "/new", pfs.CopyOptions{}, nil)
	pfstest.WantKind(t, err, pfs.Permission)
	pfstest.WantKind(t, pfs.RemoveTree(ctx, fsys, "/f"), pfs.Permission)
	_, err = pfs.UsageOf(ctx, fsys, "/")
	pfstest.WantKind(t, err, pfs.Permission)
	pfstest.WantNames(t, fsys, "/", "f")
}
