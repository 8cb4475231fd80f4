package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/permfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// plant makes files; a name that ends in a slash is an empty directory, and one with
// "->" a link.
func plant(t testing.TB, fsys pfs.FileSystem, names ...string) {
	t.Helper()
	ctx := context.Background()
	for _, name := range names {
		if link, target, ok := strings.Cut(name, "->"); ok {
			must(t, pfs.MkdirAll(ctx, fsys, pfs.Path(link).Parent(), 0o755))
			must(t, pfs.MakeLink(ctx, fsys, target, pfs.Path(link)))
		} else if dir, ok := strings.CutSuffix(name, "/"); ok {
			must(t, pfs.MkdirAll(ctx, fsys, pfs.Path(dir), 0o755))
		} else {
			put(t, fsys, pfs.Path(name), []byte(name))
		}
	}
}

func TestTree(t *testing.T) {
	ctx := context.Background()
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/s/a", "/s/sub/b", "/s/sub/deep/c", "/s/empty/", "/s/a b ~@é", "/s/sub/-x")
	put(t, a, "/s/big", noise(1, 2*chunk+1))
	must(t, pfs.SetAttr(ctx, a, "/s/sub", pfs.AttrMode, pfs.Attrs{Mode: 0o550}))
	must(t, pfs.SetAttr(ctx, a, "/s/sub", pfs.AttrModTime, pfs.Attrs{ModTime: past}))
	must(t, pfs.SetAttr(ctx, a, "/s", pfs.AttrModTime, pfs.Attrs{ModTime: past.Add(time.Hour)}))

	rec := &recorder{t: t}
	j := newJob(t, Options{Events: rec.record})
	must(t, j.Copy(ctx, End{a, "/s"}, End{b, "/d"}))
	if got, want := tree(t, b, "/d"), tree(t, a, "/s"); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	checkFile(t, b, "/d/big", noise(1, 2*chunk+1))
	checkFile(t, b, "/d/sub/deep/c", []byte("/s/sub/deep/c"))
	for _, tc := range []struct {
		name  pfs.Path
		mode  fs.FileMode
		mtime time.Time
	}{{"/d", 0o755, past.Add(time.Hour)}, {"/d/sub", 0o550, past}, {"/d/a", 0o640, past}} {
		info, err := b.Stat(ctx, tc.name)
		must(t, err)
		if info.Mode.Perm() != tc.mode || !info.ModTime.Equal(tc.mtime) {
			t.Errorf("%s: got %v %v, want %v %v", tc.name, info.Mode, info.ModTime, tc.mode, tc.mtime)
		}
	}
	s := j.Stats()
	if s.Files != 6 || s.FilesDone != 6 || s.Dirs != 4 || s.Bytes != s.BytesDone || !s.Complete {
		t.Errorf("stats: %+v", s)
	}
	if got := len(rec.of(Done)); got != 6 {
		t.Errorf("%d done events", got)
	}
	if got := len(rec.of(Directory)); got != 4 {
		t.Errorf("%d directory events", got)
	}

	// Again: nothing to do.
	b.written.Store(0)
	b.mkdirs.Store(0)
	j = newJob(t, Options{})
	must(t, j.Copy(ctx, End{a, "/s"}, End{b, "/d"}))
	if s := j.Stats(); s.Skipped != 6 || s.FilesDone != 0 || s.Dirs != 0 || s.BytesDone != s.Bytes || s.BytesSkipped != s.Bytes {
		t.Errorf("stats of the second run: %+v", s)
	}
	if b.written.Load() != 0 || b.mkdirs.Load() != 0 {
		t.Errorf("the second run wrote %d bytes and made %d directories", b.written.Load(), b.mkdirs.Load())
	}

	// One file differs in content, not in size and time.
	put(t, a, "/s/sub/b", []byte("/S/SUB/B"))
	must(t, pfs.SetAttr(ctx, a, "/s/sub", pfs.AttrModTime, pfs.Attrs{ModTime: past}))
	j = newJob(t, Options{})
	must(t, j.Copy(ctx, End{a, "/s"}, End{b, "/d"}))
	checkFile(t, b, "/d/sub/b", []byte("/S/SUB/B"))
	if s := j.Stats(); s.FilesDone != 1 || s.Skipped != 5 {
		t.Errorf("stats of the third run: %+v", s)
	}
	if info, _ := b.Stat(ctx, "/d/sub"); !info.ModTime.Equal(past) {
		t.Errorf("time of the directory of the changed file: got %v", info.ModTime)
	}
}

func TestManySmallFilesTakeFewRequests(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	for i := range 2000 {
		put(t, a.FS, pfs.Path(fmt.Sprintf("/s/d%d/f%d", i%20, i)), []byte(fmt.Sprint(i)))
	}
	must(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/s"}, End{b, "/d"}))
	if got, want := tree(t, b, "/d"), tree(t, a, "/s"); got != want {
		t.Error("the trees differ")
	}
	if n := b.batches.Load() + b.creates.Load() + b.mkdirs.Load() + b.lists.Load() + b.stats.Load(); n > 40 {
		t.Errorf("%d requests for 2000 files", n)
	}
}

func TestManySmallFilesComeInFewRequests(t *testing.T) {
	a, b := &remote{faulty: newFaulty(t)}, newFaulty(t)
	for i := range 2000 {
		put(t, a.FS, pfs.Path(fmt.Sprintf("/s/d%d/f%d", i%20, i)), []byte(fmt.Sprint(i)))
	}
	var opened atomic.Int64
	a.before = func(op string, _ pfs.Path) error {
		if op == "open" {
			opened.Add(1)
		}
		return nil
	}
	must(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/s"}, End{b, "/d"}))
	if got, want := tree(t, b, "/d"), tree(t, a, "/s"); got != want {
		t.Error("the trees differ")
	}
	if n := a.reads.Load(); n > 20 || opened.Load() != 2000 {
		t.Errorf("%d requests, which opened %d files, for 2000 files", n, opened.Load())
	}
}

// TestFinishedTreeIsComparedByListings copies a tree twice: the second time the listings suffice, and
// no file needs a request.
func TestFinishedTreeIsComparedByListings(t *testing.T) {
	for _, o := range []Options{{}, {Overwrite: Update}, {Kept: true}} {
		a, b := newFaulty(t), newFaulty(t)
		const n = 200
		for i := range n {
			put(t, a.FS, pfs.Path(fmt.Sprintf("/s/%d/f%d", i%3, i)), noise(uint64(i), 100))
		}
		put(t, a.FS, "/s/large", noise(n, maxSmall+1))
		must(t, newJob(t, Options{}).Copy(t.Context(), End{a, "/s"}, End{b, "/d"}))
		a.stats.Store(0)
		b.stats.Store(0)
		fail := func(op string, name pfs.Path) error {
			if op != "stat" && op != "list" {
				t.Errorf("%s of %s", op, name)
			}
			return nil
		}
		a.before, b.before = fail, fail
		j := newJob(t, o)
		if o.Kept {
			must(t, j.Verify(t.Context(), End{a, "/s"}, End{b, "/d"}))
		} else {
			must(t, j.Copy(t.Context(), End{a, "/s"}, End{b, "/d"}))
		}
		if s := j.Stats(); s.Same+s.Skipped != n+1 {
			t.Errorf("%+v: got %+v", o, s)
		}
		if got := a.stats.Load() + b.stats.Load(); got > 4 {
			t.Errorf("%+v: %d files were asked for by themselves", o, got)
		}
	}
}

func TestReadFaultsInABatch(t *testing.T) {
	for _, kind := range []pfs.Kind{pfs.Unavailable, pfs.Conflict, pfs.Permission} {
		t.Run(kind.Error(), func(t *testing.T) {
			a, b := &remote{faulty: newFaulty(t)}, newFaulty(t)
			for i := range 50 {
				put(t, a.FS, pfs.Path(fmt.Sprintf("/s/%d", i)), []byte(fmt.Sprint(i)))
			}
			var failures atomic.Int64
			a.before = func(op string, name pfs.Path) error {
				if op == "open" && name == "/s/7" && (kind == pfs.Permission || failures.Add(1) == 1) {
					return pfs.E("test", name, kind, nil)
				}
				return nil
			}
			j := newJob(t, Options{})
			err := j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"})
			if s := j.Stats(); kind == pfs.Permission && (err == nil || s.Failed != 1 || s.FilesDone != 49) {
				t.Errorf("got %v, %+v", err, s)
			}
			if kind != pfs.Permission && (err != nil || tree(t, b, "/d") != tree(t, a, "/s")) {
				t.Errorf("got %v, %+v", err, j.Stats())
			}
		})
	}
}

func TestPairs(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/x", "/y", "/z/f")
	pairs := func(yield func(Pair, error) bool) {
		for _, name := range []pfs.Path{"/x", "/missing", "/y", "/z"} {
			if !yield(Pair{End{a, name}, End{b, "/in/to" + name}}, nil) {
				return
			}
		}
		yield(Pair{}, pfs.E("test", "/pattern", pfs.NotExist, nil))
	}
	j := newJob(t, Options{Parents: true})
	err := j.CopyAll(context.Background(), pairs)
	var in *Incomplete
	if !errors.As(err, &in) || in.Stats.Failed != 2 || in.Stats.FilesDone != 3 {
		t.Errorf("got %v, %+v", err, j.Stats())
	}
	if got, want := tree(t, b, "/"), "in/ in/to/ in/to/x in/to/y in/to/z/ in/to/z/f"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRootErrors(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/f", "/d/f")
	plant(t, b, "/f", "/d/")
	for _, tc := range []struct {
		source, target pfs.Path
		want           pfs.Kind
	}{
		{"/none", "/x", pfs.NotExist}, {"/f", "/none/x", pfs.NotExist}, {"/f", "/d", pfs.IsDir}, {"/d", "/f", pfs.NotDir},
		{"/d", "/none/x", pfs.NotExist},
	} {
		err := newJob(t, Options{}).Copy(context.Background(), End{a, tc.source}, End{b, tc.target})
		checkKind(t, err, tc.want)
	}
}

func TestOverwrite(t *testing.T) {
	ctx := context.Background()
	later := past.Add(time.Hour)
	for _, size := range []int{3, maxSmall + 1} {
		fresh, old := noise(1, size), noise(2, size)
		for _, tc := range []struct {
			name   string
			policy Overwrite
			quick  bool
			aTime  time.Time
			copied bool
		}{
			{"replace", Replace, false, past, true},
			{"no replace", NoReplace, false, later, false},
			{"update, same time", Update, false, past, false},
			{"update, newer", Update, false, later, true},
			{"update, newer by less than a second", Update, false, past.Add(time.Millisecond), false},
			{"quick, same time", Replace, true, past, false},
			{"quick, other time", Replace, true, later, true},
		} {
			t.Run(fmt.Sprint(tc.name, size), func(t *testing.T) {
				a, b := newFaulty(t), newFaulty(t)
				put(t, a, "/s/f", fresh)
				put(t, a, "/s/new", []byte("new"))
				must(t, pfs.SetAttr(ctx, a, "/s/f", pfs.AttrModTime, pfs.Attrs{ModTime: tc.aTime}))
				put(t, b, "/d/f", old)
				j := newJob(t, Options{Overwrite: tc.policy, Quick: tc.quick})
				must(t, j.Copy(ctx, End{a, "/s"}, End{b, "/d"}))
				want := old
				if tc.copied {
					want = fresh
				}
				checkFile(t, b, "/d/f", want)
				checkFile(t, b, "/d/new", []byte("new"))
				if s := j.Stats(); tc.copied != (s.Skipped == 0) || s.BytesDone != s.Bytes {
					t.Errorf("got %+v", s)
				}
			})
		}
	}
}

// TestNoReplaceRace creates the file in another process after the copy has looked for it.
func TestNoReplaceRace(t *testing.T) {
	for _, size := range []int{3, maxSmall + 1} {
		a, b := newFaulty(t), newFaulty(t)
		put(t, a, "/s/f", noise(1, size))
		var once sync.Once
		b.before = func(op string, name pfs.Path) error {
			if op == "batch" || op == "commit" {
				once.Do(func() { put(t, b.FS, name, []byte("theirs")) })
			}
			return nil
		}
		j := newJob(t, Options{Overwrite: NoReplace})
		must(t, j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"}))
		checkFile(t, b, "/d/f", []byte("theirs"))
		if s := j.Stats(); s.Skipped != 1 || s.FilesDone != 0 || s.BytesDone != s.Bytes {
			t.Errorf("got %+v", s)
		}
	}
}

// TestSameGetsAttributes copies a file of which only time and mode differ.
func TestSameGetsAttributes(t *testing.T) {
	ctx := context.Background()
	a, b := newFaulty(t), newFaulty(t)
	put(t, a, "/f", []byte("x"))
	put(t, b, "/f", []byte("x"))
	must(t, pfs.SetAttr(ctx, a, "/f", pfs.AttrMode, pfs.Attrs{Mode: 0o755}))
	must(t, pfs.SetAttr(ctx, a, "/f", pfs.AttrModTime, pfs.Attrs{ModTime: past.Add(time.Hour)}))
	must(t, newJob(t, Options{}).Copy(ctx, End{a, "/f"}, End{b, "/f"}))
	info, _ := b.Stat(ctx, "/f")
	if info.Mode.Perm() != 0o755 || !info.ModTime.Equal(past.Add(time.Hour)) || b.written.Load() != 1 {
		t.Errorf("got %v %v, %d bytes written", info.Mode, info.ModTime, b.written.Load())
	}
}

func TestFilter(t *testing.T) {
	all := []string{"/s/a.c", "/s/a.o", "/s/sub/b.c", "/s/sub/b.o", "/s/sub/keep.o", "/s/build/x.c", "/s/sub/build/y.c", "/s/data/deep/z.csv", "/s/empty/"}
	ex := func(p string) Rule { return Rule{true, p} }
	in := func(p string) Rule { return Rule{false, p} }
	for _, tc := range []struct {
		rules []Rule
		want  string
	}{
		{[]Rule{ex("*.o")}, "a.c build/ build/x.c data/ data/deep/ data/deep/z.csv empty/ sub/ sub/b.c sub/build/ sub/build/y.c"},
		{[]Rule{ex("*.o"), in("keep.o"), ex("build/")}, "a.c data/ data/deep/ data/deep/z.csv empty/ sub/ sub/b.c sub/keep.o"},
		{[]Rule{ex("/build"), ex("/data"), ex("*.o"), ex("empty/")}, "a.c sub/ sub/b.c sub/build/ sub/build/y.c"},
		{[]Rule{in("*.csv")}, "data/ data/deep/ data/deep/z.csv"},
		{[]Rule{in("sub/"), ex("*.o")}, "sub/ sub/b.c sub/build/ sub/build/y.c"},
		{[]Rule{in("sub/*.c")}, "sub/ sub/b.c"},
		{[]Rule{in("**/build/**")}, "build/ build/x.c sub/ sub/build/ sub/build/y.c"},
		{[]Rule{ex("sub"), in("sub/b.c")}, "a.c a.o build/ build/x.c data/ data/deep/ data/deep/z.csv empty/"},
		{[]Rule{ex("*")}, ""},
		{[]Rule{ex("{a,b}.[co]")}, "build/ build/x.c data/ data/deep/ data/deep/z.csv empty/ sub/ sub/build/ sub/build/y.c sub/keep.o"},
	} {
		t.Run(fmt.Sprint(tc.rules), func(t *testing.T) {
			a, b := newFaulty(t), newFaulty(t)
			plant(t, a, all...)
			must(t, newJob(t, Options{Filter: tc.rules}).Copy(context.Background(), End{a, "/s"}, End{b, "/d"}))
			if got := tree(t, b, "/d"); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestLinks(t *testing.T) {
	for _, tc := range []struct {
		name          string
		links         Links
		want          string
		omitted, fail int64
	}{
		{"follow", Follow, "dir/ dir/f f tof todir/ todir/f toto", 0, 2},
		{"keep", Keep, "dir/ dir/f dir/up->.. f gone->nowhere toto->todir/f tof->f todir->dir", 0, 0},
		{"skip", SkipLinks, "dir/ dir/f f", 5, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := newFaulty(t), newFaulty(t)
			plant(t, a, "/s/f", "/s/dir/f", "/s/tof->f", "/s/todir->dir", "/s/gone->nowhere", "/s/toto->todir/f", "/s/dir/up->..")
			rec := &recorder{t: t}
			j := newJob(t, Options{Links: tc.links, Events: rec.record})
			err := j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"})
			got := strings.Fields(tree(t, b, "/d"))
			want := strings.Fields(tc.want)
			if fmt.Sprint(sorted(got)) != fmt.Sprint(sorted(want)) {
				t.Errorf("got %v, want %v", got, want)
			}
			s := j.Stats()
			if tc.links == Follow {
				tc.fail++ // dir/up below dir and below todir, and gone
			}
			if s.Omitted != tc.omitted || s.Failed != tc.fail {
				t.Errorf("stats %+v", s)
			}
			if (err != nil) != (tc.omitted+tc.fail > 0) {
				t.Errorf("got %v", err)
			}
			if tc.links == Follow {
				checkFile(t, b, "/d/toto", []byte("/s/dir/f"))
				for _, e := range rec.of(Failed) {
					if k := pfs.KindOf(e.Err); k != pfs.Symlink && k != pfs.NotExist {
						t.Errorf("%s: %v", e.Path, e.Err)
					}
				}
			}
			if tc.links == Keep { // again: the same
				j := newJob(t, Options{Links: Keep})
				must(t, j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"}))
				if s := j.Stats(); s.FilesDone != 0 || s.Skipped != 7 {
					t.Errorf("second run: %+v", s)
				}
			}
		})
	}
}

func sorted(s []string) []string {
	out := append([]string(nil), s...)
	for i := range out {
		for k := i; k > 0 && out[k] < out[k-1]; k-- {
			out[k], out[k-1] = out[k-1], out[k]
		}
	}
	return out
}

func TestLinkReplacesFile(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/s/l->f")
	plant(t, b, "/d/l")
	must(t, newJob(t, Options{Links: Keep}).Copy(context.Background(), End{a, "/s"}, End{b, "/d"}))
	if got := tree(t, b, "/d"); got != "l->f" {
		t.Errorf("got %s", got)
	}
}

// TestLinkOntoDirectory checks the error if an earlier copy, which followed the link, has created a
// directory.
func TestLinkOntoDirectory(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/s/l->dir", "/s/dir/f")
	must(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/s"}, End{b, "/d"}))
	rec := &recorder{t: t}
	err := newJob(t, Options{Links: Keep, Events: rec.record}).Copy(context.Background(), End{a, "/s"}, End{b, "/d"})
	failed := rec.of(Failed)
	const want = "/d/l: is a directory: a directory is where the link /s/l should be: remove it first"
	if len(failed) != 1 || failed[0].Err.Error() != want {
		t.Errorf("got %v and %v, want %q", err, failed, want)
	}
}

func TestRootLink(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/real/f", "/link->real", "/tofile->/real/f")
	must(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/link"}, End{b, "/x"}))
	must(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/tofile"}, End{b, "/y"}))
	must(t, newJob(t, Options{Links: Keep}).Copy(context.Background(), End{a, "/link/f"}, End{b, "/z"}))
	must(t, newJob(t, Options{Links: Keep}).Copy(context.Background(), End{a, "/link"}, End{b, "/w"}))
	if got, want := tree(t, b, "/"), "w->real x/ x/f y z"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestResolveLink(t *testing.T) {
	a := memfs.New(memfs.Options{})
	plant(t, a, "/d/e/f", "/d/up->../d/./e//f", "/abs->/d/e", "/root->../../..", "/x->x", "/gone->d/none", "/chain->abs/../up")
	for _, tc := range []struct {
		name, want pfs.Path
		kind       pfs.Kind
	}{
		{"/", "/", 0}, {"/d/e/f", "/d/e/f", 0}, {"/d/up", "/d/e/f", 0}, {"/abs/f", "/d/e/f", 0}, {"/root", "/", 0},
		{"/chain", "/d/e/f", 0}, {"/x", "", pfs.Symlink}, {"/gone", "", pfs.NotExist}, {"/none", "", pfs.NotExist},
	} {
		got, err := ResolveLink(context.Background(), a, tc.name)
		if got != tc.want || tc.kind != 0 && !errors.Is(err, tc.kind) || tc.kind == 0 && err != nil {
			t.Errorf("%s: got %s, %v; want %s, %v", tc.name, got, err, tc.want, tc.kind)
		}
	}
}

// TestClosedLink checks that an error about the target of a link also names the link; a temporary
// error is unchanged.
func TestClosedLink(t *testing.T) {
	a := newFaulty(t)
	plant(t, a.FS, "/closed/f", "/d/steal->../closed/f")
	for kind, want := range map[pfs.Kind]pfs.Path{pfs.Permission: "/d/steal", pfs.Unavailable: "/closed"} {
		a.before = func(op string, name pfs.Path) error {
			if name.Within("/closed") {
				return pfs.Errorf("test", "/closed", kind, "not for you")
			}
			return nil
		}
		_, err := ResolveLink(context.Background(), a, "/d/steal")
		var e *pfs.Error
		if !errors.As(err, &e) || e.Kind != kind || e.Path != want || !strings.Contains(err.Error(), "/closed") || !strings.Contains(err.Error(), "not for you") {
			t.Errorf("got %v, want %v of %s", err, kind, want)
		}
	}
}

func TestMirror(t *testing.T) {
	source := []string{"/s/a", "/s/sub/b", "/s/sub/special"}
	target := []string{"/d/a", "/d/extra", "/d/sub/b", "/d/sub/extra", "/d/old/x/y", "/d/old/x/keep.log", "/d/keep.log", "/d/link->a", "/d/sub/dir/keep.log"}
	whole := "a extra keep.log link->a old/ old/x/ old/x/keep.log old/x/y sub/ sub/b sub/dir/ sub/dir/keep.log sub/extra sub/special"
	ex := []Rule{{true, "*.log"}}
	for _, tc := range []struct {
		name    string
		o       Options
		fail    bool
		want    string
		deleted int64 // files
		told    int   // events: of a tree that is removed whole there is one
	}{
		{"no", Options{}, false, whole, 0, 0},
		{"all", Options{Delete: true}, false, "a sub/ sub/b sub/special", 7, 6},
		{"filtered", Options{Delete: true, Filter: ex}, false, "a keep.log old/ old/x/ old/x/keep.log sub/ sub/b sub/dir/ sub/dir/keep.log sub/special", 4, 4},
		{"failed", Options{Delete: true}, true, strings.Replace(whole, " sub/special", "", 1), 0, 0},
		{"dry", Options{Delete: true, DryRun: true}, false, strings.Replace(whole, " sub/special", "", 1), 7, 10},
		{"enough", Options{Delete: true, MaxDelete: 7}, false, "a sub/ sub/b sub/special", 7, 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := newFaulty(t), newFaulty(t)
			plant(t, a, source...)
			plant(t, b, target...)
			if tc.fail {
				a.before = func(op string, name pfs.Path) error {
					if op == "open" && name == "/s/sub/special" {
						return pfs.E("test", name, pfs.Permission, nil)
					}
					return nil
				}
			}
			rec := &recorder{t: t}
			tc.o.Events = rec.record
			j := newJob(t, tc.o)
			err := j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"})
			if got := tree(t, b, "/d"); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if got, told := j.Stats().Deleted, len(rec.of(Deleted)); got != tc.deleted || told != tc.told {
				t.Errorf("%d deleted in %d events, want %d in %d", got, told, tc.deleted, tc.told)
			}
			var in *Incomplete
			if errors.As(err, &in) != tc.fail || tc.fail && !in.NotDeleted {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestMirrorRefused checks that a refused deletion changes nothing.
func TestMirrorRefused(t *testing.T) {
	for _, tc := range []struct {
		name   string
		o      Options
		source []string
		files  int64 // 0: it is not refused
	}{
		{"too many", Options{MaxDelete: 3}, []string{"/s/a", "/s/new"}, 4},
		{"none allowed", Options{MaxDelete: -1, DeleteAll: true}, []string{"/s/dir/new"}, 5},
		{"empty", Options{}, []string{"/s/"}, 5},
		{"directories only", Options{MaxDelete: 9}, []string{"/s/sub/deep/"}, 5},
		{"no file that is taken", Options{Filter: []Rule{{false, "x*"}}}, []string{"/s/a"}, 1},
		{"nothing is lost", Options{Filter: []Rule{{true, "*"}}}, []string{"/s/"}, 0},
		{"forced", Options{DeleteAll: true}, []string{"/s/"}, 0},
	} {
		for _, dry := range []bool{true, false} {
			a, b := newFaulty(t), newFaulty(t)
			plant(t, a, tc.source...)
			plant(t, b, "/d/a", "/d/x", "/d/old/y", "/d/old/sub/z", "/d/sub/link->a")
			before := tree(t, b, "/d")
			o := tc.o
			o.Delete, o.DryRun = true, dry
			j := newJob(t, o)
			err := j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"})
			if tc.files == 0 {
				must(t, err)
				continue
			}
			var refused *DeleteError
			if !errors.As(err, &refused) || !errors.Is(err, pfs.NotEmpty) || refused.Files != tc.files {
				t.Errorf("%s: got %v, want %d files", tc.name, err, tc.files)
			}
			if got := tree(t, b, "/d"); got != before || j.Stats().Dirs+j.Stats().FilesDone+j.Stats().Deleted != 0 {
				t.Errorf("%s: something has changed: %s, %+v", tc.name, got, j.Stats())
			}
		}
	}
}

// TestMirrorSourceLost: a source that is empty, or cannot be listed, once everything was
// copied deletes nothing.
func TestMirrorSourceLost(t *testing.T) {
	for name, fail := range map[string]func(op string, name pfs.Path) error{
		"unmounted":   nil,
		"gone":        func(_ string, name pfs.Path) error { return pfs.E("test", name, pfs.NotExist, nil) },
		"unreachable": func(_ string, name pfs.Path) error { return pfs.E("test", name, pfs.Unavailable, nil) },
		"in part": func(op string, name pfs.Path) error {
			if op == "list" && name == "/s/sub" {
				return pfs.E("test", name, pfs.Permission, nil)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newFaulty(t), newFaulty(t)
			plant(t, a, "/s/f", "/s/sub/g")
			plant(t, b, "/d/sub/old/x")
			var lost atomic.Bool
			a.before = func(op string, name pfs.Path) error {
				if lost.Load() && fail != nil {
					return fail(op, name)
				}
				return nil
			}
			copied := 0
			o := Options{Delete: true, Retry: retry.Never, Events: func(e Event) {
				if e.Kind != Done {
					return
				}
				if copied++; copied < 2 {
					return
				}
				lost.Store(true)
				if fail == nil {
					must(t, pfs.RemoveTree(context.Background(), a.FS, "/s"))
					must(t, a.FS.Mkdir(context.Background(), "/s", 0o755))
				}
			}}
			err := newJob(t, o).Copy(context.Background(), End{a, "/s"}, End{b, "/d"})
			if got := tree(t, b, "/d"); err == nil || got != "f sub/ sub/g sub/old/ sub/old/x" {
				t.Errorf("got %v and %s", err, got)
			}
		})
	}
}

func TestDryRun(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/s/a", "/s/new/b", "/s/same", "/s/l->a")
	plant(t, b, "/d/a")
	put(t, b, "/d/same", []byte("/s/same"))
	before := tree(t, b, "/")
	rec := &recorder{t: t}
	j := newJob(t, Options{DryRun: true, Events: rec.record, Links: Keep})
	must(t, j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"}))
	if got := tree(t, b, "/"); got != before {
		t.Errorf("changed to %s", got)
	}
	if s := j.Stats(); s.FilesDone != 3 || s.Skipped != 1 || s.Dirs != 1 || s.BytesDone != s.Bytes {
		t.Errorf("got %+v", s)
	}
	if len(rec.of(Done)) != 3 || len(rec.of(Directory)) != 1 {
		t.Errorf("got %+v", rec.events)
	}
}

// TestConfirm checks that only the replacement of a different file is confirmed.
func TestConfirm(t *testing.T) {
	for _, dry := range []bool{false, true} {
		a, b := newFaulty(t), newFaulty(t)
		plant(t, a, "/s/yes", "/s/no", "/s/fails", "/s/new", "/s/same", "/s/l->yes")
		for _, name := range []pfs.Path{"/d/yes", "/d/no", "/d/fails", "/d/l"} {
			put(t, b, name, []byte("old"))
		}
		put(t, b, "/d/same", []byte("/s/same"))
		var mu sync.Mutex
		var asked []string
		confirm := func(_ context.Context, target pfs.Path) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, target.Base())
			if target.Base() == "fails" {
				return false, errors.New("no answer")
			}
			return target.Base() != "no", nil
		}
		rec := &recorder{t: t}
		j := newJob(t, Options{Confirm: confirm, Links: Keep, DryRun: dry, Events: rec.record})
		err := j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"})
		if dry {
			if err != nil || len(asked) > 0 {
				t.Errorf("a dry run: %v, asked for %v", err, asked)
			}
			continue
		}
		if slices.Sort(asked); !slices.Equal(asked, []string{"fails", "l", "no", "yes"}) {
			t.Errorf("asked for %v", asked)
		}
		var in *Incomplete
		if !errors.As(err, &in) || in.Stats.Failed != 1 || in.Stats.FilesDone != 3 || in.Stats.Skipped != 2 {
			t.Errorf("got %v", err)
		}
		for _, e := range rec.of(Skipped) {
			if want := map[string]Reason{"no": Declined, "same": Equal}[e.Target.Base()]; e.Reason != want {
				t.Errorf("%s was skipped because of %q, want %q", e.Target, e.Reason, want)
			}
		}
		for name, want := range map[pfs.Path]string{"/d/yes": "/s/yes", "/d/no": "old", "/d/fails": "old"} {
			if got := string(get(t, b, name)); got != want {
				t.Errorf("%s holds %q, want %q", name, got, want)
			}
		}
	}
}

// TestDryRunIsRefused: a dry run fails as the run does.
func TestDryRunIsRefused(t *testing.T) {
	allow := func(a pfs.Access, name pfs.Path) error {
		switch name.Base() {
		case "no" + map[pfs.Access]string{pfs.Read: "read", pfs.Write: "write", pfs.Make: "make", pfs.Delete: "delete"}[a]:
			return pfs.E("test", name, pfs.Permission, nil)
		}
		return nil
	}
	for _, tc := range []struct {
		name           string
		o              Options
		source, target []string
		to             pfs.Path
		failed         int64
	}{
		{"fine", Options{Delete: true}, []string{"/s/f", "/s/d/g"}, []string{"/d/h", "/d/e/i"}, "/d", 0},
		{"no parent", Options{}, []string{"/s/f"}, nil, "/d/e", 1},
		{"parents", Options{Parents: true}, []string{"/s/f", "/s/d/g"}, nil, "/d/e/f", 0},
		{"parents in a file", Options{Parents: true}, []string{"/s/f"}, []string{"/d/e"}, "/d/e/f/g", 1},
		{"in a file", Options{}, []string{"/s/f"}, []string{"/d"}, "/d/e", 1},
		{"not read", Options{}, []string{"/s/noread", "/s/f"}, nil, "/d", 1},
		{"not written", Options{}, []string{"/s/nowrite", "/s/sub/x"}, []string{"/d/sub/"}, "/d", 1},
		{"not made", Options{}, []string{"/s/nomake/f", "/s/f"}, nil, "/d", 1},
		{"not deleted", Options{Delete: true}, []string{"/s/f"}, []string{"/d/a/b", "/d/nodelete/f"}, "/d", 1},
		{"in the way", Options{}, []string{"/s/a/f", "/s/b", "/s/c"}, []string{"/d/a", "/d/b/"}, "/d", 2},
		{"through a link", Options{}, []string{"/s/f"}, []string{"/real/", "/d->real"}, "/d/e", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := newFaulty(t), newFaulty(t)
			plant(t, a, tc.source...)
			plant(t, b, tc.target...)
			from, to := End{permfs.New(a, allow), "/s"}, End{permfs.New(b, allow), tc.to}
			before := tree(t, b, "/")
			var kinds []pfs.Kind
			var sums []Stats
			for _, dry := range []bool{true, false} {
				o := tc.o
				o.DryRun, o.Parallel = dry, 1
				j := newJob(t, o)
				err := j.Copy(context.Background(), from, to)
				kinds = append(kinds, pfs.KindOf(err))
				s := j.Stats()
				s.BytesDone = 0
				sums = append(sums, s)
				if now := tree(t, b, "/"); dry && now != before {
					t.Errorf("changed to %s", now)
				}
			}
			if kinds[0] != kinds[1] || sums[0] != sums[1] || sums[0].Failed != tc.failed {
				t.Errorf("dry %s, %+v\nrun %s, %+v", kinds[0], sums[0], kinds[1], sums[1])
			}
		})
	}
}

func TestInTheWay(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/s/x", "/s/y/f", "/s/ok")
	plant(t, b, "/d/x/g", "/d/y")
	j := newJob(t, Options{})
	err := j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"})
	var in *Incomplete
	if !errors.As(err, &in) || in.Stats.Failed != 2 || in.Stats.FilesDone != 1 {
		t.Errorf("got %v", err)
	}
	if got, want := tree(t, b, "/d"), "ok x/ x/g y"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// strange lists a special file and a name that cannot be a path.
type strange struct{ pfs.FileSystem }

func (s strange) List(ctx context.Context, name pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	page, err := s.FileSystem.List(ctx, name, opts)
	page.Entries = append(page.Entries, pfs.Info{Name: "pipe", Mode: fs.ModeNamedPipe})
	page.Unnamed = append(page.Unnamed, `"\xff"`)
	return page, err
}

func TestSpecialAndUnnamed(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/s/f")
	rec := &recorder{t: t}
	err := newJob(t, Options{Events: rec.record}).Copy(context.Background(), End{strange{a}, "/s"}, End{b, "/d"})
	var in *Incomplete
	if !errors.As(err, &in) || in.Stats.Failed != 1 || in.Stats.Omitted != 1 || in.Stats.FilesDone != 1 {
		t.Errorf("got %v", err)
	}
	if es := rec.of(Failed); len(es) != 1 || !strings.Contains(es[0].Err.Error(), `\xff`) {
		t.Errorf("got %+v", es)
	}
	if es := rec.of(Skipped); len(es) != 1 || es[0].Reason != Special || es[0].Path != "/s/pipe" {
		t.Errorf("got %+v", es)
	}
}

// TestLeftOutIsNamed has entries that cannot be copied on either side: each is named, by Verify and by a mirror.
func TestLeftOutIsNamed(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/s/f", "/s/l->f")
	plant(t, b, "/d/f", "/d/extra")
	put(t, b, "/d/f", []byte("/S/F")) // plant makes the path the content
	put(t, a, "/s/f", []byte("/S/F"))
	strangeA, strangeB := End{strange{a}, "/s"}, End{strange{b}, "/d"}
	for _, tc := range []struct {
		says   string
		opts   Options
		do     func(*Job) error
		events string
	}{
		{"the first side", Options{Links: SkipLinks}, func(j *Job) error { return j.Verify(t.Context(), strangeA, End{b, "/d"}) },
			"extra /d/extra, failed \\xff in /s, same /s/f, skipped /s/l, skipped /s/pipe"},
		{"the second side", Options{Links: SkipLinks}, func(j *Job) error { return j.Verify(t.Context(), End{a, "/s"}, strangeB) },
			"extra /d/extra, extra /d/pipe, failed \\xff in /d, same /s/f, skipped /s/l"},
		{"both", Options{Links: SkipLinks}, func(j *Job) error { return j.Verify(t.Context(), strangeA, strangeB) },
			"extra /d/extra, failed \\xff in /d, failed \\xff in /s, same /s/f, skipped /s/l, skipped /s/pipe"},
		{"a mirror", Options{Links: SkipLinks, Delete: true, DryRun: true}, func(j *Job) error { return j.Copy(t.Context(), End{a, "/s"}, strangeB) },
			"deleted /d/extra, deleted /d/pipe, failed \\xff in /d, skipped /s/f, skipped /s/l"},
	} {
		rec := &recorder{t: t}
		tc.opts.Events = rec.record
		err := tc.do(newJob(t, tc.opts))
		if err == nil {
			t.Errorf("%s: no error", tc.says)
		}
		var got []string
		for _, e := range rec.events {
			name := e.Path
			if name == "" {
				name = e.Target
			}
			text := e.Kind.String() + " " + string(name)
			var unnamed *NameError
			if errors.As(e.Err, &unnamed) {
				text = e.Kind.String() + " " + strings.Trim(unnamed.Quoted, `"`) + " in " + string(unnamed.Dir)
			}
			got = append(got, text)
		}
		slices.Sort(got)
		if text := strings.Join(got, ", "); text != tc.events {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.says, text, tc.events)
		}
	}
}

func TestFailuresOfFiles(t *testing.T) {
	for _, tc := range []struct {
		kind     pfs.Kind
		all      bool // the job goes on to the end
		jobError pfs.Kind
	}{
		{pfs.Permission, true, pfs.Permission},
		{pfs.NoSpace, true, pfs.NoSpace},
		{pfs.Quota, true, pfs.Quota},
		{pfs.Unauthenticated, false, pfs.Unauthenticated},
		{pfs.Unavailable, false, pfs.Unavailable},
	} {
		t.Run(fmt.Sprint(tc.kind), func(t *testing.T) {
			a, b := newFaulty(t), newFaulty(t)
			for i := range 100 {
				put(t, a, pfs.Path(fmt.Sprintf("/s/%d", i)), noise(uint64(i), maxSmall+1))
			}
			b.before = func(op string, name pfs.Path) error {
				if op == "create" {
					return pfs.E("test", name, tc.kind, nil)
				}
				return nil
			}
			j := newJob(t, Options{})
			err := j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"})
			checkKind(t, err, tc.jobError)
			if s := j.Stats(); (s.Failed == 100) != tc.all {
				t.Errorf("%d failed", s.Failed)
			}
		})
	}
}

func TestCancelTree(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	for i := range 3000 {
		put(t, a.FS, pfs.Path(fmt.Sprintf("/s/%d/%d", i%30, i)), []byte("x"))
	}
	ctx, cancel := context.WithCancel(context.Background())
	var n atomic.Int64
	b.before = func(op string, _ pfs.Path) error {
		if op == "batch" && n.Add(1) == 700 {
			cancel()
		}
		return nil
	}
	rec := &recorder{t: t}
	err := newJob(t, Options{Events: rec.record}).Copy(ctx, End{a, "/s"}, End{b, "/d"})
	checkKind(t, err, pfs.Canceled)
	if es := rec.of(Failed); len(es) > 0 {
		t.Errorf("failures were reported: %v", es[0])
	}
	must(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/s"}, End{b, "/d"}))
	if tree(t, b, "/d") != tree(t, a, "/s") {
		t.Error("the trees differ")
	}
}

// TestPlainTarget copies between stores without any capability.
func TestPlainTarget(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/s/a", "/s/sub/b")
	for range 2 {
		j := newJob(t, Options{Delete: true})
		must(t, j.Copy(context.Background(), End{plain{a}, "/s"}, End{plain{b}, "/d"}))
		if got, want := tree(t, b, "/d"), tree(t, a, "/s"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		plant(t, b, "/d/extra/x")
	}
	j := newJob(t, Options{})
	if err := j.Verify(context.Background(), End{plain{a}, "/s"}, End{plain{b}, "/d"}); !errors.Is(err, pfs.Integrity) || j.Stats().Extra != 1 {
		t.Errorf("got %v, %+v", err, j.Stats())
	}
}

func TestBatchFaults(t *testing.T) {
	for _, kind := range []pfs.Kind{pfs.Unavailable, pfs.Integrity, pfs.Unsupported, pfs.Permission} {
		t.Run(kind.Error(), func(t *testing.T) {
			a, b := newFaulty(t), newFaulty(t)
			for i := range 50 {
				put(t, a.FS, pfs.Path(fmt.Sprintf("/s/%d", i)), []byte(fmt.Sprint(i)))
			}
			var mu sync.Mutex
			failed := map[pfs.Path]bool{}
			b.before = func(op string, name pfs.Path) error {
				mu.Lock()
				defer mu.Unlock()
				if op == "batch" && name != "/d" && !failed[name] && len(failed) < 20 {
					failed[name] = true
					return pfs.E("test", name, kind, nil)
				}
				return nil
			}
			j := newJob(t, Options{})
			err := j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"})
			if kind == pfs.Permission {
				if s := j.Stats(); err == nil || s.Failed != 20 || s.FilesDone != 30 {
					t.Errorf("got %v, %+v", err, s)
				}
				return
			}
			must(t, err)
			if tree(t, b, "/d") != tree(t, a, "/s") {
				t.Error("the trees differ")
			}
			if s := j.Stats(); s.FilesDone != 50 || s.BytesDone != s.Bytes {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// A file that is damaged on every way does not take the tries of those beside it, for
// which the store is away.
func TestBatchFaultsTogether(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/s/away", "/s/damaged")
	away := 0
	b.before = func(op string, name pfs.Path) error {
		switch {
		case name == "/d/damaged" && (op == "batch" || op == "write"):
			return pfs.E("test", name, pfs.Integrity, nil)
		case op != "batch":
		case name == "/d/away" && away < 4:
			away++
			return pfs.E("test", name, pfs.Unavailable, nil)
		}
		return nil
	}
	j := newJob(t, Options{})
	checkKind(t, j.Copy(context.Background(), End{a, "/s"}, End{b, "/d"}), pfs.Integrity)
	checkFile(t, b, "/d/away", []byte("/s/away"))
	checkAbsent(t, b, "/d/damaged")
}

func TestDigestKept(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/s/f")
	must(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/s"}, End{b, "/d"}))
	info, _ := b.Stat(context.Background(), "/d/f")
	if want := digest.Bytes([]byte("/s/f")); info.Digest != want {
		t.Errorf("got %s, want %s", info.Digest, want)
	}
}
