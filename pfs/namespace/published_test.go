package namespace_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// A published dataset of the tests, and the directory of its complete version.
const (
	set      = pfs.Path("/pfs/east/public/dataset/set")
	complete = set + "/2"
)

// newPublished returns a world with the complete versions 1 and 2 of a dataset, the unfinished
// version 3, and latest.
func newPublished(t *testing.T) world {
	t.Helper()
	w := newWorld(t)
	for _, n := range []string{"1", "2", "3"} {
		dir := pfs.Path("/public/dataset/set").Join(n)
		pfstest.MustMkdir(t, w.east, dir)
		pfstest.WriteFile(t, w.east, dir.Join("x-00000-of-00001"), []byte("version "+n))
	}
	for _, name := range []pfs.Path{"1/.x.manifest", "2/.x.manifest", "2/.publishing", "3/.publishing"} {
		pfstest.WriteFile(t, w.east, "/public/dataset/set/"+name, []byte("{}"))
	}
	pfstest.WriteFile(t, w.east, "/public/dataset/set/latest", []byte("2\n"))
	pfstest.WriteFile(t, w.east, "/home/alice@example.org/f", []byte("other"))
	return w
}

// changing are the operations that change something, and the answer of a complete version.
var changing = map[string]pfs.Kind{
	"Mkdir": pfs.ReadOnly, "Remove": pfs.ReadOnly, "Create": pfs.ReadOnly, "Rename from": pfs.ReadOnly, "Rename to": pfs.ReadOnly,
	"RenameExclusive": pfs.ReadOnly, "MakeLink": pfs.ReadOnly, "Chmod": pfs.ReadOnly, "Chtime": pfs.ReadOnly, "OpenHandle": pfs.Unsupported, "SetXattr": pfs.ReadOnly,
	"HardLink from": pfs.Unsupported, "HardLink to": pfs.Unsupported, "Mknod": pfs.ReadOnly, "Concat to": pfs.ReadOnly,
	"RemoveTree": pfs.ReadOnly, "CopyFile to": pfs.ReadOnly, "WriteBatch": pfs.ReadOnly,
}

// removing are the operations that an administrator may do.
var removing = []string{"Remove", "RemoveTree", "Rename from"}

// TestCompleteVersions tries all operations on a complete version and on existing and missing
// names in it, by all spellings.
func TestCompleteVersions(t *testing.T) {
	// The publisher and the administrator have, for the operations on two paths, alice's home.
	alicePublishes := auth.Identity{Name: alice.Name, Role: auth.Publisher}
	aliceAdministers := auth.Identity{Name: alice.Name, Role: auth.Admin}
	paths := []pfs.Path{complete, complete + "/x-00000-of-00001", complete + "/new", complete + "/.x.manifest", set + "/latest/x-00000-of-00001", "/pfs/public/dataset/set/2/x-00000-of-00001"}
	for _, id := range []auth.Identity{alicePublishes, aliceAdministers} {
		for _, name := range paths {
			for op, want := range changing {
				w := newPublished(t)
				fsys := w.View(id, "")
				if id.Role == auth.Admin && slices.Contains(removing, op) {
					continue
				}
				if err := operations[op](t.Context(), fsys, name); !errors.Is(err, want) {
					t.Errorf("%s: %s of %s: %v, want Kind %d", id.Role, op, name, err, want)
				}
				pfstest.WantFile(t, fsys, complete+"/x-00000-of-00001", []byte("version 2"))
				pfstest.WantNames(t, fsys, complete, ".publishing", ".x.manifest", "x-00000-of-00001")
			}
		}
	}
}

// TestRemovingVersions checks who may remove directories with complete versions.
func TestRemovingVersions(t *testing.T) {
	ctx := t.Context()
	w := newPublished(t)
	fsys := w.View(publisher, "")
	pfstest.WantKind(t, pfs.RemoveTree(ctx, fsys, set), pfs.ReadOnly)
	pfstest.WantKind(t, fsys.Rename(ctx, set, set+"-old"), pfs.ReadOnly)
	pfstest.WantKind(t, pfs.RemoveTree(ctx, fsys, set.Parent()), pfs.Permission)
	pfstest.WantNames(t, fsys, set, "1", "2", "3", "latest")
	if err := fsys.Remove(ctx, complete+"/.publishing"); err != nil {
		t.Error(err)
	}
	if err := pfs.RemoveTree(ctx, fsys, set+"/3"); err != nil {
		t.Errorf("an unfinished version: %v", err)
	}
	if err := pfs.RemoveTree(ctx, w.View(admin, ""), set+"/1"); err != nil {
		t.Errorf("administrator: %v", err)
	}
	pfstest.WantNames(t, fsys, set, "2", "latest")
	if err := pfs.RemoveTree(ctx, w.View(admin, ""), set); err != nil {
		t.Errorf("administrator: %v", err)
	}
}

// TestManifestCompletes commits an upload into a version that got its manifest meanwhile.
func TestManifestCompletes(t *testing.T) {
	ways := map[string]func(pfs.FileSystem, pfs.Path) error{
		"commit": func(fsys pfs.FileSystem, name pfs.Path) error { return commit(t, fsys, name) },
		"batch": func(fsys pfs.FileSystem, name pfs.Path) error {
			return pfs.WriteBatch(t.Context(), fsys, []pfs.BatchEntry{{Path: name, NoReplace: true}})[0]
		},
		"rename": func(fsys pfs.FileSystem, name pfs.Path) error {
			return fsys.Rename(t.Context(), name.Parent()+"/m", name)
		},
	}
	for way, complete := range ways {
		t.Run(way, func(t *testing.T) {
			fsys := newPublished(t).View(publisher, "")
			pfstest.WriteFile(t, fsys, set+"/3/m", []byte("{}"))
			late, err := fsys.Create(t.Context(), set+"/3/late", pfs.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer late.Close(t.Context())
			if err := complete(fsys, set+"/3/.x.manifest"); err != nil {
				t.Fatal(err)
			}
			_, err = late.Commit(t.Context(), pfs.CommitOptions{})
			pfstest.WantKind(t, err, pfs.ReadOnly)
			if !strings.Contains(err.Error(), "dataset publish makes the next one") {
				t.Errorf("%v: no hint", err)
			}
			pfstest.WantKind(t, commit(t, fsys, set+"/3/new"), pfs.ReadOnly)
			pfstest.WantKind(t, fsys.Remove(t.Context(), set+"/3/.x.manifest"), pfs.ReadOnly)
		})
	}
}

// commit makes an empty file.
func commit(t *testing.T, fsys pfs.FileSystem, name pfs.Path) error {
	w, err := fsys.Create(t.Context(), name, pfs.CreateOptions{})
	if err != nil {
		return err
	}
	defer w.Close(t.Context())
	_, err = w.Commit(t.Context(), pfs.CommitOptions{NoReplace: true})
	return err
}

// TestCopyIntoUnfinishedVersion copies within the store.
func TestCopyIntoUnfinishedVersion(t *testing.T) {
	fsys := newPublished(t).View(publisher, "")
	if err := copyFile(t.Context(), fsys, complete+"/x-00000-of-00001", set+"/3/copy"); err != nil {
		t.Fatal(err)
	}
	pfstest.WantFile(t, fsys, set+"/3/copy", []byte("version 2"))
}

// TestNothingComesIntoAVersionFromOutside checks that nobody can change a complete version through
// an open file or another name.
func TestNothingComesIntoAVersionFromOutside(t *testing.T) {
	ctx := t.Context()
	fsys := newPublished(t).View(auth.Identity{Name: alice.Name, Role: auth.Publisher}, "")
	const mine = "/pfs/east/home/alice@example.org/f"
	pfstest.WantKind(t, fsys.Rename(ctx, mine, set+"/3/f"), pfs.CrossStore)
	pfstest.WantKind(t, pfs.RenameExclusive(ctx, fsys, mine, set+"/3/f"), pfs.CrossStore)
	pfstest.WantKind(t, pfs.HardLink(ctx, fsys, mine, set+"/3/f"), pfs.Unsupported)
	pfstest.WantKind(t, pfs.HardLink(ctx, fsys, set+"/3/x-00000-of-00001", "/pfs/east/home/alice@example.org/x"), pfs.Unsupported)
	_, err := pfs.OpenHandle(ctx, fsys, set+"/3/x-00000-of-00001", pfs.OpenWrite, 0)
	pfstest.WantKind(t, err, pfs.Unsupported)
	h, err := pfs.OpenHandle(ctx, fsys, set+"/3/x-00000-of-00001", pfs.OpenRead, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := fsys.Rename(ctx, set+"/3/x-00000-of-00001", set+"/3/y"); err != nil {
		t.Errorf("inside the version: %v", err)
	}
	if err := commit(t, fsys, set+"/3/.x.manifest"); err != nil {
		t.Fatal(err)
	}
	pfstest.WantKind(t, h.SetAttr(ctx, pfs.AttrMode, pfs.Attrs{Mode: 0o777}), pfs.ReadOnly)
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
}

// TestLatest reads the newest version through its other name.
func TestLatest(t *testing.T) {
	ctx := t.Context()
	w := newPublished(t)
	fsys := w.View(publisher, "mine")
	for _, dir := range []pfs.Path{set, "/pfs/public/dataset/set", "/pfs/mine/public/dataset/set"} {
		info := pfstest.MustStat(t, fsys, dir+"/latest")
		if !info.IsLink() || info.Target != "2" {
			t.Errorf("%s: %+v, want a link to 2", dir, info)
		}
		pfstest.WantFile(t, fsys, dir+"/latest/x-00000-of-00001", []byte("version 2"))
		pfstest.WantNames(t, fsys, dir+"/latest", ".publishing", ".x.manifest", "x-00000-of-00001")
		for e, err := range pfs.Entries(ctx, fsys, dir, nil) {
			if err != nil || e.IsLink() != (e.Name == "latest") {
				t.Errorf("%s lists %+v, %v", dir, e, err)
			}
		}
	}
	_, err := fsys.Open(ctx, set+"/latest")
	pfstest.WantKind(t, err, pfs.IsDir)
	usage, err := pfs.UsageOf(ctx, fsys, set+"/latest")
	if err != nil || usage.Files != 3 {
		t.Errorf("usage = %+v, %v", usage, err)
	}
	f, err := fsys.Open(ctx, set+"/latest/x-00000-of-00001")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pfstest.WriteFile(t, fsys, set+"/latest", []byte("1\n"))
	pfstest.WantFile(t, fsys, set+"/latest/x-00000-of-00001", []byte("version 1"))
	text := make([]byte, 9)
	if err := pfs.ReadFull(ctx, f, text, 0); err != nil || string(text) != "version 2" {
		t.Errorf("what was open: %q, %v", text, err)
	}
	pfstest.WantFile(t, w.east, "/public/dataset/set/latest", []byte("1\n"))
}

// TestNoLatest has files of that name that hold no version number.
func TestNoLatest(t *testing.T) {
	for _, text := range []string{"", "x", "0", "01", "-1", "1\n\n", "../1", "1000000000000000000000000000000"} {
		w := newPublished(t)
		pfstest.WriteFile(t, w.east, "/public/dataset/set/latest", []byte(text))
		fsys := w.View(alice, "")
		pfstest.WantFile(t, fsys, set+"/latest", []byte(text))
		_, err := fsys.Stat(t.Context(), set+"/latest/x")
		if !errors.Is(err, pfs.NotDir) && !errors.Is(err, pfs.NotExist) {
			t.Errorf("%q: %v", text, err)
		}
	}
	w := newPublished(t)
	pfstest.WriteFile(t, w.east, "/public/latest", []byte("1"))
	pfstest.MustMkdir(t, w.east, "/home/alice@example.org/dataset/set")
	pfstest.WriteFile(t, w.east, "/home/alice@example.org/dataset/set/latest", []byte("1"))
	fsys := w.View(alice, "")
	pfstest.WantFile(t, fsys, "/pfs/east/public/latest", []byte("1"))
	pfstest.WantFile(t, fsys, "/pfs/east/home/alice@example.org/dataset/set/latest", []byte("1"))
}
