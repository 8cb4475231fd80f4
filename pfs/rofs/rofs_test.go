package rofs_test

import (
	"errors"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/rofs"
)

func TestEveryChangeAnswersReadOnly(t *testing.T) {
	m := memfs.New(memfs.Options{})
	pfstest.MustMkdir(t, m, "/dir")
	pfstest.WriteFile(t, m, "/f", []byte("content"))
	fsys, ctx := rofs.New(m), t.Context()
	for _, name := range []pfs.Path{"/f", "/dir", "/missing", "/dir/missing", "/f/x", "/"} {
		_, create := fsys.Create(ctx, name, pfs.CreateOptions{})
		_, edit := pfs.OpenHandle(ctx, fsys, name, pfs.OpenWrite, 0)
		_, copied := pfs.CopyInside(ctx, fsys, "/f", name, pfs.CopyOptions{}, nil)
		_, _, sweep := pfs.Sweep(ctx, fsys, name, 0)
		for op, err := range map[string]error{
			"Create": create, "Edit": edit, "CopyFile": copied, "Sweep": sweep,
			"Mkdir":           fsys.Mkdir(ctx, name, 0o755),
			"Remove":          fsys.Remove(ctx, name),
			"Rename":          fsys.Rename(ctx, name, "/new"),
			"Rename to":       fsys.Rename(ctx, "/f", name),
			"RenameExclusive": pfs.RenameExclusive(ctx, fsys, name, "/new"),
			"RemoveTree":      pfs.RemoveTree(ctx, fsys, name),
			"MakeLink":        pfs.MakeLink(ctx, fsys, "target", name),
			"Chmod":           pfs.SetAttr(ctx, fsys, name, pfs.AttrMode, pfs.Attrs{Mode: 0o777}),
			"Chtime":          pfs.SetAttr(ctx, fsys, name, pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(0, 0)}),
			"SetQuota":        pfs.SetQuota(ctx, fsys, name, 1, 1),
			"WriteBatch":      pfs.WriteBatch(ctx, fsys, []pfs.BatchEntry{{Path: name}})[0],
		} {
			if !errors.Is(err, pfs.ReadOnly) {
				t.Errorf("%s of %s: %v, want ReadOnly", op, name, err)
			}
		}
	}
	pfstest.WantNames(t, m, "/", "dir", "f")
	pfstest.WantFile(t, fsys, "/f", []byte("content"))
	pfstest.WantNames(t, fsys, "/", "dir", "f")
	if u, err := pfs.UsageOf(ctx, fsys, "/"); err != nil || u.Files != 1 {
		t.Errorf("usage = %+v, %v", u, err)
	}
	_, err := fsys.Stat(ctx, "/missing")
	pfstest.WantKind(t, err, pfs.NotExist)
}
