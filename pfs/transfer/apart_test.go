package transfer

import (
	"context"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/linkfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// twoNames is a service that shows /d at /alias, too.
func twoNames(below pfs.FileSystem) pfs.FileSystem {
	return pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if name.Within("/alias") {
			name = name.Rebase("/alias", "/d")
		}
		return call(below, name)
	})
}

// TestIntoItselfByAnotherName copies a directory into itself where the paths do not show it: through a
// link, and where a service shows a directory at two places. The copy would go on into what it makes.
func TestIntoItselfByAnotherName(t *testing.T) {
	for _, c := range []struct {
		source, target pfs.Path
		opts           Options
	}{
		{"/d", "/link/new", Options{}},
		{"/d", "/link/sub/new", Options{}},
		{"/d", "/tosub/new", Options{}},
		{"/d", "/tosub/new/more", Options{Parents: true}},
		{"/d", "/tosub", Options{}},
		{"/d", "/alias/new", Options{}},
		{"/d", "/alias/sub/new", Options{}},
		{"/alias/sub", "/link/sub/new", Options{}},
		{"/d", "/link/new", Options{DryRun: true}},
		{"/e", "/d/new", Options{Links: Follow}},
		{"/d/sub", "/alias", Options{Delete: true}},
		{"/link/sub", "/d", Options{Delete: true}},
		{"/d/sub", "/up/d", Options{Delete: true}},
	} {
		store := memfs.New(memfs.Options{})
		put(t, store, "/d/sub/f", noise(1, 100))
		pfstest.MustMkdir(t, store, "/e")
		for link, to := range map[pfs.Path]string{"/link": "/d", "/tosub": "/d/sub", "/up": "/", "/e/loop": "/d"} {
			must(t, pfs.MakeLink(t.Context(), store, to, link))
		}
		fsys := twoNames(linkfs.New(store))
		before := tree(t, store, "/d")
		err := newJob(t, c.opts).Copy(t.Context(), End{fsys, c.source}, End{fsys, c.target})
		if pfs.KindOf(err) != pfs.Invalid {
			t.Errorf("%s to %s: %v, want Invalid", c.source, c.target, err)
		}
		if c.opts.Links != Follow && tree(t, store, "/d") != before {
			t.Errorf("%s to %s changed the source", c.source, c.target)
		}
	}
}
