package linkfs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/linkfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/permfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestSuite uses a store without links: the suite requires that links are not followed.
func TestSuite(t *testing.T) {
	pfstest.Run(t, pfstest.Options{Gaps: pfstest.NoSymlink, Names: 300, New: func(*testing.T) pfs.FileSystem {
		return linkfs.New(memfs.New(memfs.Options{Without: pfs.CanSymlink}))
	}})
}

// newTree returns a tree with these links, and /home/alice/{f,dir/g}.
func newTree(t *testing.T, links map[pfs.Path]string) (fsys pfs.FileSystem, m *memfs.FS) {
	t.Helper()
	m = memfs.New(memfs.Options{})
	pfstest.MustMkdir(t, m, "/home/alice/dir/sub")
	pfstest.MustMkdir(t, m, "/home/bob")
	pfstest.WriteFile(t, m, "/home/alice/f", []byte("f of alice"))
	pfstest.WriteFile(t, m, "/home/alice/dir/g", []byte("g of alice"))
	pfstest.WriteFile(t, m, "/home/bob/f", []byte("f of bob"))
	for name, target := range links {
		pfstest.MustLink(t, m, target, name)
	}
	return linkfs.New(m), m
}

func TestWhereLinksLead(t *testing.T) {
	rows := []struct{ link, below, want string }{
		{"f", "", "f of alice"},
		{"dir/g", "", "g of alice"},
		{"./dir//g", "", "g of alice"},
		{"dir", "/g", "g of alice"},
		{"dir/", "/g", "g of alice"},
		{".", "/f", "f of alice"},
		{"/home/alice/dir", "/g", "g of alice"},
		{"/home/alice/dir/../f", "", "f of alice"},
		{"../bob/f", "", "f of bob"},
		{"..", "/bob/f", "f of bob"},
		{"../..", "/home/bob/f", "f of bob"},
		{"../../../../../..", "/home/bob/f", "f of bob"},
		{"/", "/home/bob/f", "f of bob"},
		{"/../../home/bob", "/f", "f of bob"},
		{"dir/sub/../g", "", "g of alice"},
		{"dir/sub/../../f", "", "f of alice"},
		// to-sub leads into dir: its ".." is dir, not the home.
		{"to-sub/../g", "", "g of alice"},
		{"to-sub/../../f", "", "f of alice"},
		{"to-dir/sub/../g", "", "g of alice"},
		{"chain-2/g", "", "g of alice"},
	}
	for _, row := range rows {
		fsys, _ := newTree(t, map[pfs.Path]string{
			"/home/alice/link": row.link, "/home/alice/to-sub": "dir/sub", "/home/alice/to-dir": "dir",
			"/home/alice/chain-1": "/home/alice/to-dir", "/home/alice/chain-2": "chain-1",
		})
		name := pfs.Path("/home/alice/link" + row.below)
		f, err := fsys.Open(t.Context(), name)
		if err != nil {
			t.Errorf("link to %q: %v", row.link, err)
			continue
		}
		if f.Info().Name != name.Base() {
			t.Errorf("link to %q: name %q, want %q", row.link, f.Info().Name, name.Base())
		}
		f.Close()
		pfstest.WantFile(t, fsys, name, []byte(row.want))
	}
}

func TestLinksThatLeadNowhere(t *testing.T) {
	rows := []struct {
		target string
		want   pfs.Kind
	}{
		{"missing", pfs.NotExist},
		{"/missing/too", pfs.NotExist},
		{"missing/../f", pfs.NotExist},
		{"f/../f", pfs.NotDir},
		{"f/x", pfs.NotDir},
		{"link", pfs.Symlink},
		{"other", pfs.Symlink},
		{"link/..", pfs.Symlink},
		{".pfs-quota", pfs.Invalid},
		{"a\x00b", pfs.Invalid},
		{"\xff", pfs.Invalid},
		{strings.Repeat("n", 256), pfs.Invalid},
		{strings.Repeat("long/", 818), pfs.Invalid},
	}
	for _, row := range rows {
		fsys, _ := newTree(t, map[pfs.Path]string{"/home/alice/link": row.target, "/home/alice/other": "link"})
		for _, name := range []pfs.Path{"/home/alice/link", "/home/alice/link/below/it"} {
			_, err := fsys.Open(t.Context(), name)
			pfstest.WantKind(t, err, row.want)
			var e *pfs.Error
			if errors.As(err, &e); !name.Within(e.Path) || !e.Path.Within("/home/alice/link") {
				t.Errorf("link to %.40q: error %v is about %s, want %s", row.target, err, e.Path, name)
			}
		}
	}
}

func TestChains(t *testing.T) {
	links := map[pfs.Path]string{"/home/alice/l0": "f"}
	for i := range linkfs.MaxLinks {
		links[pfs.Path(fmt.Sprintf("/home/alice/l%d", i+1))] = fmt.Sprintf("l%d", i)
	}
	fsys, _ := newTree(t, links)
	last := pfs.Path(fmt.Sprintf("/home/alice/l%d", linkfs.MaxLinks-1))
	pfstest.WantFile(t, fsys, last, []byte("f of alice"))
	_, err := fsys.Open(t.Context(), pfs.Path(fmt.Sprintf("/home/alice/l%d", linkfs.MaxLinks)))
	pfstest.WantKind(t, err, pfs.Symlink)
	if !strings.Contains(err.Error(), "loop") {
		t.Errorf("error %q does not say what may be wrong", err)
	}
}

// TestTheLastElement checks which operations work on a link and which on its target.
func TestTheLastElement(t *testing.T) {
	ctx := t.Context()
	const link pfs.Path = "/home/alice/link"
	to := func(t *testing.T, target string) (pfs.FileSystem, *memfs.FS) {
		return newTree(t, map[pfs.Path]string{link: target})
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}

	fsys, m := to(t, "f")
	if info := pfstest.MustStat(t, fsys, link); !info.IsLink() || info.Target != "f" {
		t.Errorf("Stat = %+v, want the link", info)
	}
	must(pfs.SetAttr(ctx, fsys, link, pfs.AttrMode, pfs.Attrs{Mode: 0o600}))
	must(pfs.SetAttr(ctx, fsys, link, pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(1e9, 0)}))
	if info := pfstest.MustStat(t, m, "/home/alice/f"); info.Mode != 0o600 || info.ModTime.Unix() != 1e9 {
		t.Errorf("after Chmod and Chtime of the link: %+v", info)
	}
	h, err := pfs.OpenHandle(ctx, fsys, link, pfs.OpenRead|pfs.OpenWrite, 0)
	must(err)
	_, err = h.WriteAt(ctx, []byte("F"), 0)
	must(err)
	pfstest.WantFile(t, m, "/home/alice/f", []byte("F of alice"))
	_, err = fsys.(pfs.Digester).Digest(ctx, link, "xxh3", nil)
	must(err)
	_, err = pfs.CopyInside(ctx, fsys, link, "/home/alice/copy", pfs.CopyOptions{}, nil)
	must(err)
	pfstest.WantFile(t, m, "/home/alice/copy", []byte("F of alice"))
	pfstest.WantKind(t, fsys.Mkdir(ctx, link, 0o755), pfs.Exist)
	pfstest.WantKind(t, pfs.MakeLink(ctx, fsys, "x", link), pfs.Exist)
	pfstest.WantKind(t, pfs.RenameExclusive(ctx, fsys, "/home/alice/copy", link), pfs.Exist)
	must(fsys.Rename(ctx, link, "/home/alice/moved"))
	if !pfstest.MustStat(t, m, "/home/alice/moved").IsLink() {
		t.Error("Rename did not take the link")
	}
	pfstest.WriteFile(t, fsys, "/home/alice/moved", []byte("file"))
	pfstest.WantFile(t, m, "/home/alice/f", []byte("F of alice"))
	pfstest.WantFile(t, m, "/home/alice/moved", []byte("file"))

	fsys, m = to(t, "dir")
	pfstest.WantNames(t, fsys, link, "g", "sub")
	u, err := pfs.UsageOf(ctx, fsys, link)
	if err != nil || u.Files != 1 || u.Dirs != 1 {
		t.Errorf("Usage = %+v, %v, want that of the directory", u, err)
	}
	_, err = pfs.SpaceOf(ctx, fsys, link)
	must(err)
	must(pfs.SetQuota(ctx, fsys, link, 1000, 0))
	if u, err := pfs.UsageOf(ctx, m, "/home/alice/dir"); err != nil || u.MaxBytes != 1000 {
		t.Errorf("quota = %+v, %v", u, err)
	}
	_, err = fsys.Open(ctx, link)
	pfstest.WantKind(t, err, pfs.IsDir)
	must(pfs.RemoveTree(ctx, fsys, link))
	pfstest.WantNames(t, m, "/home/alice/dir", "g", "sub")
	pfstest.WantAbsent(t, m, link)

	fsys, _ = to(t, "missing")
	_, err = pfs.UsageOf(ctx, fsys, link)
	pfstest.WantKind(t, err, pfs.NotExist)
	_, err = pfs.SpaceOf(ctx, fsys, link)
	pfstest.WantKind(t, err, pfs.NotExist)
	must(fsys.Remove(ctx, link))
}

func TestChangesBelowALink(t *testing.T) {
	fsys, m := newTree(t, map[pfs.Path]string{"/home/alice/to": "dir", "/home/alice/too": "dir"})
	ctx := t.Context()
	pfstest.MustMkdir(t, fsys, "/home/alice/to/new/deep")
	pfstest.WriteFile(t, fsys, "/home/alice/to/new/f", []byte("new"))
	if err := fsys.Rename(ctx, "/home/alice/to/new/f", "/home/alice/too/sub/f"); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Rename(ctx, "/home/alice/to/g", "/home/alice/to/sub/g"); err != nil {
		t.Fatal(err)
	}
	errs := pfs.WriteBatch(ctx, fsys, []pfs.BatchEntry{
		{Path: "/home/alice/to/one"}, {Path: "/home/alice/plain"}, {Path: "/home/alice/to/f/x"}, {Path: "/home/alice/too/two"},
	})
	for i, want := range []error{nil, nil, pfs.NotExist, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("entry %d: %v, want %v", i, errs[i], want)
		}
	}
	if err := pfs.RemoveTree(ctx, fsys, "/home/alice/to/new"); err != nil {
		t.Fatal(err)
	}
	pfstest.WantNames(t, m, "/home/alice/dir", "one", "sub", "two")
	pfstest.WantNames(t, m, "/home/alice/dir/sub", "f", "g")
	err := fsys.Rename(ctx, "/home/alice/to/one", "/home/alice/to/sub/x/y")
	var e *pfs.Error
	if errors.As(err, &e); e == nil || e.Kind != pfs.NotExist || e.Path != "/home/alice/to/sub/x/y" {
		t.Errorf("Rename to where nothing is: %v, want NotExist about the path as it was written", err)
	}
}

// TestPermissionBelow checks that every path of a link is checked, and that refusals reveal
// nothing.
func TestPermissionBelow(t *testing.T) {
	rows := []struct{ link, other string }{
		{"../bob/f", "../bob/missing"},
		{"../bob", "../carol"},
		{"/home/bob/f", "/home/bob/missing"},
		{"../bob/../alice/f", "../carol/../alice/f"},
		{"up/bob/f", "up/bob/missing"},
	}
	for _, row := range rows {
		_, m := newTree(t, map[pfs.Path]string{
			"/home/alice/link": row.link, "/home/alice/other": row.other, "/home/alice/up": "..",
		})
		fsys := linkfs.New(permfs.New(m, func(_ pfs.Access, name pfs.Path) error {
			if name.Within("/home") && name != "/home" && !name.Within("/home/alice") {
				return pfs.E("test.allow", name, pfs.Permission, nil)
			}
			return nil
		}))
		var texts [2]string
		for i, name := range []pfs.Path{"/home/alice/link", "/home/alice/other"} {
			_, open := fsys.Open(t.Context(), name)
			_, below := fsys.Stat(t.Context(), name.Join("f"))
			_, usage := pfs.UsageOf(t.Context(), fsys, name)
			for _, err := range []error{open, below, usage, fsys.Mkdir(t.Context(), name.Join("new"), 0o755)} {
				pfstest.WantKind(t, err, pfs.Permission)
				texts[i] += strings.ReplaceAll(err.Error(), string(name), "PATH") + "\n"
			}
		}
		if texts[0] != texts[1] {
			t.Errorf("links to %q and %q tell\n%s and\n%s", row.link, row.other, texts[0], texts[1])
		}
		pfstest.WantNames(t, m, "/home/bob", "f")
	}
}

// TestUsageWalks gets the usage of a tree from a store without UsageReporter.
func TestUsageWalks(t *testing.T) {
	_, m := newTree(t, map[pfs.Path]string{"/home/alice/link": "dir"})
	fsys := linkfs.New(struct{ pfs.FileSystem }{m})
	u, err := pfs.UsageOf(t.Context(), fsys, "/home/alice/link")
	if want := (pfs.Usage{Files: 1, Dirs: 1, Bytes: 10}); err != nil || u != want {
		t.Errorf("usage = %+v, %v, want %+v", u, err, want)
	}
}

// swapping replaces a link by a directory after the error about it and before the Stat of it.
type swapping struct {
	*memfs.FS
	link pfs.Path
}

func (s *swapping) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	if name == s.link {
		if err := s.Remove(ctx, name); err != nil {
			return pfs.Info{}, err
		}
		if err := s.Rename(ctx, "/home/alice/dir", name); err != nil {
			return pfs.Info{}, err
		}
		s.link = ""
	}
	return s.FS.Stat(ctx, name)
}

func TestALinkThatIsReplacedMeanwhile(t *testing.T) {
	_, m := newTree(t, map[pfs.Path]string{"/home/alice/link": "nowhere"})
	fsys := linkfs.New(&swapping{m, "/home/alice/link"})
	pfstest.WantFile(t, fsys, "/home/alice/link/g", []byte("g of alice"))
}

func TestCanceledOnTheWay(t *testing.T) {
	fsys, _ := newTree(t, map[pfs.Path]string{"/home/alice/link": "f"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := fsys.Open(ctx, "/home/alice/link")
	pfstest.WantKind(t, err, pfs.Canceled)
}

func TestStat(t *testing.T) {
	fsys, _ := newTree(t, map[pfs.Path]string{"/l": "home/alice/f", "/k": "l", "/loop": "loop", "/gone": "none"})
	for name, want := range map[pfs.Path]int64{"/l": 10, "/k": 10, "/home/alice/f": 10} {
		if info, err := linkfs.Stat(t.Context(), fsys, name); err != nil || info.Size != want || info.Name != name.Base() || info.IsLink() {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	for name, want := range map[pfs.Path]pfs.Kind{"/loop": pfs.Symlink, "/gone": pfs.NotExist, "/none": pfs.NotExist} {
		if _, err := linkfs.Stat(t.Context(), fsys, name); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWithoutLinks(t *testing.T) {
	fsys, _ := newTree(t, map[pfs.Path]string{"/to-dir": "home/alice/dir", "/home/alice/dir/last": "g"})
	ctx := linkfs.WithoutLinks(t.Context())
	if _, err := fsys.Open(ctx, "/to-dir/g"); !errors.Is(err, pfs.Symlink) {
		t.Errorf("a file below a link: %v", err)
	}
	if _, err := fsys.List(ctx, "/to-dir", pfs.ListOptions{}); !errors.Is(err, pfs.Symlink) {
		t.Errorf("a link to a directory: %v", err)
	}
	if _, err := fsys.Stat(ctx, "/to-dir/g"); !errors.Is(err, pfs.Symlink) {
		t.Errorf("Stat below a link: %v", err)
	}
	name, info, err := linkfs.Resolve(t.Context(), fsys, "/to-dir/last")
	if name != "/home/alice/dir/last" || !info.IsLink() || err != nil {
		t.Errorf("Resolve: %s, %+v, %v", name, info, err)
	}
	if _, _, err := linkfs.Resolve(t.Context(), fsys, "/to-dir/absent"); !errors.Is(err, pfs.NotExist) || strings.Contains(err.Error(), "alice") {
		t.Errorf("Resolve of what is absent: %v", err)
	}
}
