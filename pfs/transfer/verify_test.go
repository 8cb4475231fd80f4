package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

func TestVerify(t *testing.T) {
	ctx := context.Background()
	for _, capable := range []bool{true, false} {
		t.Run(fmt.Sprint(capable), func(t *testing.T) {
			a, b := newFaulty(t), newFaulty(t)
			plant(t, a, "/s/same", "/s/content", "/s/size", "/s/gone", "/s/sub/same", "/s/sub/type", "/s/gonedir/x", "/s/unreadable", "/s/l->same", "/s/x.log")
			must(t, newJob(t, Options{Links: Keep, Filter: []Rule{{true, "*.log"}}}).Copy(ctx, End{a, "/s"}, End{b, "/d"}))
			put(t, a, "/s/big", noise(1, 5*chunk))
			put(t, b, "/d/big", noise(1, 5*chunk))
			put(t, b, "/d/content", []byte("/S/content"))
			put(t, b, "/d/size", []byte("longer than it was"))
			must(t, b.RemoveTree(ctx, "/d/gonedir"))
			must(t, b.Remove(ctx, "/d/gone"))
			must(t, b.Remove(ctx, "/d/sub/type"))
			plant(t, b, "/d/sub/type/", "/d/extra", "/d/extradir/y")
			var fa, fb pfs.FileSystem = a, b
			if !capable {
				fa, fb = plain{a}, plain{b}
				b.before = func(op string, name pfs.Path) error {
					if op == "open" && name == "/d/unreadable" {
						return pfs.E("test", name, pfs.Permission, nil)
					}
					return nil
				}
			}
			rec := &recorder{t: t}
			j := newJob(t, Options{Events: rec.record, Links: Keep, Filter: []Rule{{true, "*.log"}}})
			err := j.Verify(ctx, End{fa, "/s"}, End{fb, "/d"})
			checkKind(t, err, pfs.Integrity)
			want := "different:/s/content different:/s/size different:/s/sub/type extra:/d/extra extra:/d/extradir " +
				"missing:/s/gone missing:/s/gonedir same:/s/big same:/s/l same:/s/same same:/s/sub/same"
			if capable {
				want += " same:/s/unreadable"
			} else {
				want = strings.Replace(want, " missing", " failed:/s/unreadable missing", 1)
			}
			var got []string
			for _, e := range rec.events {
				name := e.Path
				if e.Kind == Extra {
					name = e.Target
				}
				got = append(got, e.Kind.String()+":"+string(name))
			}
			slices.Sort(got)
			if strings.Join(got, " ") != want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
			}
			for _, e := range rec.of(Same) {
				if e.Path == "/s/big" && digest.Algorithm(e.Digest) != digest.BLAKE3 {
					t.Errorf("digest %s", e.Digest)
				}
			}
			if s := j.Stats(); s.Different != 3 || s.Missing != 2 || s.Extra != 2 {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func TestVerifySame(t *testing.T) {
	ctx := context.Background()
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/s/f", "/s/sub/g", "/s/l->sub", "/s/e/")
	must(t, newJob(t, Options{}).Copy(ctx, End{a, "/s"}, End{b, "/d"}))
	must(t, newJob(t, Options{}).Verify(ctx, End{a, "/s"}, End{b, "/d"}))
	must(t, newJob(t, Options{Algorithm: digest.XXH3}).Verify(ctx, End{a, "/s/f"}, End{b, "/d/f"}))
	checkKind(t, newJob(t, Options{}).Verify(ctx, End{a, "/s/f"}, End{b, "/d/sub/g"}), pfs.Integrity)
	checkKind(t, newJob(t, Options{}).Verify(ctx, End{a, "/s/f"}, End{b, "/d/none"}), pfs.NotExist)
	checkKind(t, newJob(t, Options{}).Verify(ctx, End{a, "/s"}, End{b, "/d/f"}), pfs.Integrity)
	plant(t, a, "/s/loop->.")
	err := newJob(t, Options{}).Verify(ctx, End{a, "/s"}, End{b, "/d"})
	if in := (*Incomplete)(nil); !errors.As(err, &in) || in.Stats.Failed != 1 {
		t.Errorf("got %v", err)
	}
	plant(t, a, "/s/again->sub", "/s/sub/up->..")
	rec := &recorder{t: t}
	_ = newJob(t, Options{Events: rec.record}).Verify(ctx, End{a, "/s"}, End{b, "/d"})
	var loops []string
	for _, e := range rec.of(Failed) {
		loops = append(loops, string(e.Path))
	}
	slices.Sort(loops)
	if got, want := strings.Join(loops, " "), "/s/l/up /s/loop /s/sub/up"; got != want {
		t.Errorf("loops at %s, want %s", got, want)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	checkKind(t, newJob(t, Options{}).Verify(canceled, End{a, "/s"}, End{b, "/d"}), pfs.Canceled)
}

// TestVerifyKept trusts stored digests, and reads files without one.
func TestVerifyKept(t *testing.T) {
	ctx := context.Background()
	source, a, b := newFaulty(t), newFaulty(t), newFaulty(t)
	for i, name := range []pfs.Path{"/d/same", "/d/other", "/new"} {
		put(t, source, name, noise(uint64(i), 2*chunk))
	}
	for _, fsys := range []pfs.FileSystem{a, b} {
		must(t, newJob(t, Options{}).Copy(ctx, End{source, "/d"}, End{fsys, "/"}))
	}
	must(t, newJob(t, Options{}).Copy(ctx, End{source, "/new"}, End{b, "/other"}))
	read := a.read.Load() + b.read.Load()
	rec := &recorder{t: t}
	checkKind(t, newJob(t, Options{Kept: true, Events: rec.record}).Verify(ctx, End{plain{a}, "/"}, End{plain{b}, "/"}), pfs.Integrity)
	if got := a.read.Load() + b.read.Load() - read; got != 0 {
		t.Errorf("%d bytes read of files whose digests are kept", got)
	}
	kinds := map[pfs.Path]EventKind{}
	for _, e := range rec.events {
		kinds[e.Path] = e.Kind
	}
	if kinds["/same"] != Same || kinds["/other"] != Different || len(kinds) != 2 {
		t.Errorf("found %v", kinds)
	}
	if _, err := New(Options{Kept: true, Algorithm: digest.BLAKE3}); !errors.Is(err, pfs.Invalid) {
		t.Errorf("kept digests of BLAKE3: %v", err)
	}
}
