package pfstest

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
)

var ownerPromises = []promise{
	{says: "the same owner gets the same file system, and another owner another one", check: checkOwnersEqual, needs: noOwners},
	{says: "an owner that the store cannot have answers Invalid", check: checkOwnerInvalid, needs: noOwners},
	{says: "As the user of the store itself answers Permission", check: checkAsService, needs: noService},
	{says: "For gives what is made to the owner, with the mode asked for", check: checkForGives, needs: noOwners},
	{says: "WithOwner does not change the owner of existing files", check: checkForLeaves, needs: noOwners},
	{says: "For keeps the rights of the caller", check: checkForRights, needs: noOwners},
	{says: "an upload is found again under its owner", check: checkForResume, needs: noOwners},
	{says: "Sweep of the store removes the uploads of all owners", check: checkForSweep, needs: noOwners | NoSweep},
	{says: "As makes files of the user", check: checkAsMakes, needs: noOwners},
	{says: "As applies the permissions of the store", check: checkAsRefused, needs: noOwners | NoMode},
}

// giving returns the store for Options.Owners[i].
func (e *env) giving(i int) pfs.FileSystem {
	e.Helper()
	fsys, err := pfs.WithOwner(e.fs, e.opts.Owners[i])
	e.ok(err)
	return fsys
}

// acting returns the store as Options.Owners[i].
func (e *env) acting(i int) pfs.FileSystem {
	e.Helper()
	fsys, err := pfs.Impersonate(e.fs, e.opts.Owners[i])
	e.ok(err)
	return fsys
}

// wantOwners fails unless all names have the owner of the file known.
func (e *env) wantOwners(known pfs.Path, names ...pfs.Path) {
	e.Helper()
	want := MustStat(e, e.fs, known).Owner
	for _, name := range names {
		if got := MustStat(e, e.fs, name).Owner; got != want {
			e.Errorf("%s belongs to %q, want %q", name, got, want)
		}
	}
}

func checkOwnersEqual(e *env) {
	if e.giving(0) != e.giving(0) || e.acting(0) != e.acting(0) {
		e.Error("one owner has two file systems")
	}
	seen := map[pfs.FileSystem]bool{e.fs: true}
	for _, fsys := range []pfs.FileSystem{e.giving(0), e.giving(1), e.acting(0), e.acting(1)} {
		if seen[fsys] {
			e.Error("an owner's file system is another's, or the store")
		}
		seen[fsys] = true
	}
}

func checkOwnerInvalid(e *env) {
	_, err := pfs.WithOwner(e.fs, pfs.Owner{})
	WantKind(e, err, pfs.Invalid)
	_, err = pfs.Impersonate(e.fs, pfs.Owner{})
	WantKind(e, err, pfs.Invalid)
}

func checkAsService(e *env) {
	_, err := pfs.Impersonate(e.fs, e.opts.Service)
	WantKind(e, err, pfs.Permission)
}

func checkForGives(e *env) {
	mine := e.giving(0)
	e.ok(mine.Mkdir(e.ctx, "/dir", 0o710))
	WriteFile(e, mine, "/dir/f", Pattern(1, 1000))
	for _, err := range pfs.WriteBatch(e.ctx, mine, []pfs.BatchEntry{
		{Path: "/dir/batch", Mode: fs.ModeDir | 0o755}, {Path: "/dir/batch/g", Data: []byte("small")},
	}) {
		e.ok(err)
	}
	e.wantOwners("/dir", "/dir/f", "/dir/batch", "/dir/batch/g")
	if !e.lacks(NoCopy) {
		_, err := pfs.CopyInside(e.ctx, mine, "/dir/f", "/dir/copy", pfs.CopyOptions{}, nil)
		e.ok(err)
		e.wantOwners("/dir", "/dir/copy")
	}
	if !e.lacks(NoSymlink) {
		MustLink(e, mine, "f", "/dir/link")
		e.wantOwners("/dir", "/dir/link")
	}
	if info := MustStat(e, e.fs, "/dir"); !e.lacks(NoMode) && info.Mode.Perm() != 0o710 {
		e.Errorf("a directory made with mode 710 has %v", info.Mode)
	}
	WriteFile(e, e.fs, "/service", nil)
	WriteFile(e, e.giving(1), "/other", nil)
	owners := map[string]bool{}
	for _, name := range []pfs.Path{"/dir", "/service", "/other"} {
		owners[MustStat(e, e.fs, name).Owner] = true
	}
	if len(owners) != 3 {
		e.Errorf("the owners of what three have made are %v", owners)
	}
	WantFile(e, e.giving(1), "/dir/f", Pattern(1, 1000))
}

func checkForLeaves(e *env) {
	MustMkdir(e, e.fs, "/dir")
	WriteFile(e, e.fs, "/f", nil)
	mine := e.giving(0)
	e.ok(mine.Mkdir(e.ctx, "/dir", 0o700))
	e.ok(mine.Rename(e.ctx, "/f", "/dir/f"))
	WriteFile(e, e.fs, "/known", nil)
	e.wantOwners("/known", "/dir", "/dir/f")
}

func checkForRights(e *env) {
	mine, other := e.giving(0), e.giving(1)
	e.ok(mine.Mkdir(e.ctx, "/closed", 0o700))
	WriteFile(e, other, "/closed/f", []byte("content"))
	WantFile(e, other, "/closed/f", []byte("content"))
	WantNames(e, other, "/closed", "f")
	e.ok(other.Remove(e.ctx, "/closed/f"))
}

func checkForResume(e *env) {
	identity := func(opts pfs.CreateOptions) any {
		w, err := e.giving(0).Create(e.ctx, "/f", opts)
		e.ok(err)
		defer w.Suspend(e.ctx)
		if w.Resumed() != opts.Reopen {
			e.Errorf("Resumed() = %v, want %v", w.Resumed(), opts.Reopen)
		}
		e.writeUnit(w, 0, w.Unit())
		return pfs.IdentityOf(w)
	}
	first := identity(pfs.CreateOptions{ID: someID})
	if again := identity(pfs.CreateOptions{ID: someID, Reopen: true}); again != first {
		e.Errorf("identities %v and %v of one upload", first, again)
	}
}

func checkForSweep(e *env) {
	for i, name := range []pfs.Path{"/f", "/g"} {
		w, err := e.giving(i).Create(e.ctx, name, pfs.CreateOptions{ID: someID})
		e.ok(err)
		e.writeUnit(w, 0, w.Unit())
		e.ok(w.Suspend(e.ctx))
	}
	if n, _, err := pfs.Sweep(e.ctx, e.fs, pfs.Root, 0); n != 2 || err != nil {
		e.Errorf("Sweep = %d, %v, want 2 uploads", n, err)
	}
}

func checkAsMakes(e *env) {
	e.ok(e.giving(0).Mkdir(e.ctx, "/dir", 0o700))
	me := e.acting(0)
	e.ok(me.Mkdir(e.ctx, "/dir/below", 0o755))
	WriteFile(e, me, "/dir/f", []byte("content"))
	WantFile(e, me, "/dir/f", []byte("content"))
	e.ok(me.Rename(e.ctx, "/dir/f", "/dir/below/f"))
	e.wantOwners("/dir", "/dir/below", "/dir/below/f")
	WantFile(e, e.fs, "/dir/below/f", []byte("content"))
}

// asRefused are operations in a directory that only its owner may enter.
var asRefused = map[string]func(ctx context.Context, fsys pfs.FileSystem) error{
	"Open": func(ctx context.Context, fsys pfs.FileSystem) error {
		_, err := fsys.Open(ctx, "/closed/f")
		return err
	},
	"Stat": func(ctx context.Context, fsys pfs.FileSystem) error {
		_, err := fsys.Stat(ctx, "/closed/f")
		return err
	},
	"List": func(ctx context.Context, fsys pfs.FileSystem) error {
		_, err := fsys.List(ctx, "/closed", pfs.ListOptions{})
		return err
	},
	"Create": func(ctx context.Context, fsys pfs.FileSystem) error {
		_, err := fsys.Create(ctx, "/closed/g", pfs.CreateOptions{})
		return err
	},
	"Mkdir":  func(ctx context.Context, fsys pfs.FileSystem) error { return fsys.Mkdir(ctx, "/closed/dir", 0o755) },
	"Remove": func(ctx context.Context, fsys pfs.FileSystem) error { return fsys.Remove(ctx, "/closed/f") },
	"Rename out": func(ctx context.Context, fsys pfs.FileSystem) error {
		return fsys.Rename(ctx, "/closed/f", "/open/f")
	},
	"Rename in": func(ctx context.Context, fsys pfs.FileSystem) error {
		return fsys.Rename(ctx, "/open/g", "/closed/g")
	},
	"RemoveTree": func(ctx context.Context, fsys pfs.FileSystem) error { return pfs.RemoveTree(ctx, fsys, "/closed") },
	"CopyInside": func(ctx context.Context, fsys pfs.FileSystem) error {
		_, err := pfs.CopyInside(ctx, fsys, "/closed/f", "/open/f", pfs.CopyOptions{}, nil)
		return err
	},
	"WriteBatch": func(ctx context.Context, fsys pfs.FileSystem) error {
		return pfs.WriteBatch(ctx, fsys, []pfs.BatchEntry{{Path: "/closed/g"}})[0]
	},
	"Chmod": func(ctx context.Context, fsys pfs.FileSystem) error {
		return pfs.SetAttr(ctx, fsys, "/closed", pfs.AttrMode, pfs.Attrs{Mode: 0o777})
	},
	"OpenHandle": func(ctx context.Context, fsys pfs.FileSystem) error {
		_, err := pfs.OpenHandle(ctx, fsys, "/closed/f", pfs.OpenWrite|pfs.OpenAppend, 0)
		return err
	},
	"SetXattr": func(ctx context.Context, fsys pfs.FileSystem) error {
		return pfs.XattrsOf(fsys).SetXattr(ctx, "/closed/f", "user.a", nil, 0)
	},
	"HardLink": func(ctx context.Context, fsys pfs.FileSystem) error {
		return pfs.HardLink(ctx, fsys, "/closed/f", "/open/f")
	},
	"MakeLink": func(ctx context.Context, fsys pfs.FileSystem) error {
		return pfs.MakeLink(ctx, fsys, "f", "/closed/link")
	},
}

func checkAsRefused(e *env) {
	e.ok(e.giving(0).Mkdir(e.ctx, "/closed", 0o700))
	e.ok(e.giving(1).Mkdir(e.ctx, "/open", 0o755))
	WriteFile(e, e.acting(0), "/closed/f", []byte("content"))
	WriteFile(e, e.acting(1), "/open/g", []byte("other"))
	missing := map[string]Gap{"Chmod": NoChmod, "OpenHandle": NoHandle | NoAppend, "SetXattr": NoXattr, "HardLink": NoHardLink, "MakeLink": NoSymlink, "CopyInside": NoCopy}
	for name, call := range asRefused {
		if e.lacks(missing[name]) {
			continue
		}
		if err := call(e.ctx, e.acting(1)); pfs.KindOf(err) != pfs.Permission || err == nil {
			e.Errorf("%s as somebody else: %v, want Permission", name, err)
		}
	}
	WantNames(e, e.fs, pfs.Root, "closed", "open")
	WantNames(e, e.fs, "/closed", "f")
	WantNames(e, e.fs, "/open", "g")
	WantFile(e, e.acting(0), "/closed/f", []byte("content"))
}
