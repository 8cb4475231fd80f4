package pfstest

import (
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
)

var ownerPromises = []promise{
	{says: "the same owner gets the same file system, and another owner another one", needs: noOwners, check: func(e *env) {
		get := []func(int) pfs.FileSystem{e.giving}
		if !e.lacks(NoImpersonate) {
			get = append(get, e.acting)
		}
		seen := map[pfs.FileSystem]bool{e.fs: true}
		var all []pfs.FileSystem
		for _, of := range get {
			all = append(all, of(0), of(1))
			if of(0) != of(0) {
				e.Error("one owner has two file systems")
			}
		}
		for _, fsys := range all {
			if seen[fsys] {
				e.Error("an owner's file system is another's, or the store")
			}
			seen[fsys] = true
		}
	}},
	{says: "an owner that the store cannot have answers Invalid", needs: noOwners, check: func(e *env) {
		WantKind(e, errOf(pfs.WithOwner(e.fs, pfs.Owner{})), pfs.Invalid)
		WantKind(e, errOf(pfs.Impersonate(e.fs, pfs.Owner{})), pfs.Invalid)
	}},
	{says: "As the user of the store itself answers Permission", needs: noService | NoImpersonate, check: func(e *env) {
		WantKind(e, errOf(pfs.Impersonate(e.fs, e.opts.Service)), pfs.Permission)
	}},
	{says: "For gives what is made to the owner, with the mode asked for", needs: noOwners, check: func(e *env) {
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
			e.ok(errOf(pfs.CopyInside(e.ctx, mine, "/dir/f", "/dir/copy", pfs.CopyOptions{}, nil)))
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
	}},
	{says: "WithOwner does not change the owner of existing files", needs: noOwners, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/f", nil)
		mine := e.giving(0)
		e.ok(mine.Mkdir(e.ctx, "/dir", 0o700))
		e.ok(mine.Rename(e.ctx, "/f", "/dir/f"))
		WriteFile(e, e.fs, "/known", nil)
		e.wantOwners("/known", "/dir", "/dir/f")
	}},
	{says: "For keeps the rights of the caller", needs: noOwners, check: func(e *env) {
		mine, other := e.giving(0), e.giving(1)
		e.ok(mine.Mkdir(e.ctx, "/closed", 0o700))
		WriteFile(e, other, "/closed/f", []byte("content"))
		WantFile(e, other, "/closed/f", []byte("content"))
		WantNames(e, other, "/closed", "f")
		e.ok(other.Remove(e.ctx, "/closed/f"))
	}},
	{says: "an upload is found again under its owner", needs: noOwners, check: func(e *env) {
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
	}},
	{says: "Sweep of the store removes the uploads of all owners", needs: noOwners | NoSweep, check: func(e *env) {
		for i, name := range []pfs.Path{"/f", "/g"} {
			w, err := e.giving(i).Create(e.ctx, name, pfs.CreateOptions{ID: someID})
			e.ok(err)
			e.writeUnit(w, 0, w.Unit())
			e.ok(w.Suspend(e.ctx))
		}
		if n, _, err := pfs.Sweep(e.ctx, e.fs, pfs.Root, 0); n != 2 || err != nil {
			e.Errorf("Sweep = %d, %v, want 2 uploads", n, err)
		}
	}},
	{says: "Impersonate makes files of the user", needs: noOwners | NoImpersonate, check: func(e *env) {
		e.ok(e.giving(0).Mkdir(e.ctx, "/dir", 0o700))
		me := e.acting(0)
		e.ok(me.Mkdir(e.ctx, "/dir/below", 0o755))
		WriteFile(e, me, "/dir/f", []byte("content"))
		WantFile(e, me, "/dir/f", []byte("content"))
		e.ok(me.Rename(e.ctx, "/dir/f", "/dir/below/f"))
		e.wantOwners("/dir", "/dir/below", "/dir/below/f")
		WantFile(e, e.fs, "/dir/below/f", []byte("content"))
	}},
	{says: "As applies the permissions of the store", needs: noOwners | NoMode | NoImpersonate, check: func(e *env) {
		e.ok(e.giving(0).Mkdir(e.ctx, "/closed", 0o700))
		e.ok(e.giving(1).Mkdir(e.ctx, "/open", 0o755))
		WriteFile(e, e.acting(0), "/closed/f", []byte("content"))
		WriteFile(e, e.acting(1), "/open/g", []byte("other"))
		missing := map[string]Gap{"Chmod": NoChmod, "OpenHandle": NoHandle | NoAppend, "SetXattr": NoXattr, "HardLink": NoHardLink, "MakeLink": NoSymlink, "CopyInside": NoCopy}
		for name, call := range asRefused {
			if e.lacks(missing[name]) {
				continue
			}
			if err := call(on{ctx: e.ctx, fs: e.acting(1)}); pfs.KindOf(err) != pfs.Permission || err == nil {
				e.Errorf("%s as somebody else: %v, want Permission", name, err)
			}
		}
		WantNames(e, e.fs, pfs.Root, "closed", "open")
		WantNames(e, e.fs, "/closed", "f")
		WantNames(e, e.fs, "/open", "g")
		WantFile(e, e.acting(0), "/closed/f", []byte("content"))
	}},
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

// asRefused are operations in a directory that only its owner may enter.
var asRefused = map[string]func(o on) error{
	"Open":       func(o on) error { return errOf(o.fs.Open(o.ctx, "/closed/f")) },
	"Stat":       func(o on) error { return errOf(o.fs.Stat(o.ctx, "/closed/f")) },
	"List":       func(o on) error { return errOf(o.fs.List(o.ctx, "/closed", pfs.ListOptions{})) },
	"Create":     func(o on) error { return errOf(o.fs.Create(o.ctx, "/closed/g", pfs.CreateOptions{})) },
	"Mkdir":      func(o on) error { return o.fs.Mkdir(o.ctx, "/closed/dir", 0o755) },
	"Remove":     func(o on) error { return o.fs.Remove(o.ctx, "/closed/f") },
	"Rename out": func(o on) error { return o.fs.Rename(o.ctx, "/closed/f", "/open/f") },
	"Rename in":  func(o on) error { return o.fs.Rename(o.ctx, "/open/g", "/closed/g") },
	"RemoveTree": func(o on) error { return pfs.RemoveTree(o.ctx, o.fs, "/closed") },
	"CopyInside": func(o on) error {
		return errOf(pfs.CopyInside(o.ctx, o.fs, "/closed/f", "/open/f", pfs.CopyOptions{}, nil))
	},
	"WriteBatch": func(o on) error { return pfs.WriteBatch(o.ctx, o.fs, []pfs.BatchEntry{{Path: "/closed/g"}})[0] },
	"Chmod":      func(o on) error { return pfs.SetAttr(o.ctx, o.fs, "/closed", pfs.AttrMode, pfs.Attrs{Mode: 0o777}) },
	"OpenHandle": func(o on) error {
		return errOf(pfs.OpenHandle(o.ctx, o.fs, "/closed/f", pfs.OpenWrite|pfs.OpenAppend, 0))
	},
	"SetXattr": func(o on) error { return pfs.XattrsOf(o.fs).SetXattr(o.ctx, "/closed/f", "user.a", nil, 0) },
	"HardLink": func(o on) error { return pfs.HardLink(o.ctx, o.fs, "/closed/f", "/open/f") },
	"MakeLink": func(o on) error { return pfs.MakeLink(o.ctx, o.fs, "f", "/closed/link") },
}
