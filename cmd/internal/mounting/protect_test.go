package mounting

import (
	"context"
	"testing"

	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func TestProtections(t *testing.T) {
	below := memfs.New(memfs.Options{})
	for _, dir := range []pfs.Path{
		"/pfs/dc/home/u/public", "/pfs/dc/public/dataset/set/1/more", "/pfs/dc/public/dataset/set/2",
		"/pfs/dc/public/dataset/set/3", "/pfs/public/dataset/set/1",
	} {
		if err := pfs.MkdirAll(t.Context(), below, dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []pfs.Path{
		"/pfs/dc/public/dataset/set/1/.s.manifest", "/pfs/dc/public/dataset/set/3/.s.manifest",
		"/pfs/dc/public/dataset/set/3/.publishing", "/pfs/public/dataset/set/1/.s.manifest",
	} {
		pfstest.WriteFile(t, below, name, nil)
	}
	publisher := false
	var failure error
	service := pfs.NewLayer(func(_ context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		switch {
		case failure != nil:
			return failure
		case a.Changes() && !publisher && name.Within("/pfs/dc/public") || a.Changes() && !publisher && name.Within("/pfs/public"):
			return pfs.Permission
		}
		return call(below, name)
	})
	for range 2 {
		p := protections{fs: service, public: map[pfs.Path]publicRight{}}
		failure = pfs.E("x", "", pfs.Unavailable, nil)
		if _, err := p.of(t.Context(), "/pfs/dc/public"); pfs.KindOf(err) != pfs.Unavailable {
			t.Errorf("of an unreachable service: %v", err)
		}
		failure = nil
		public := fuse.Foreign
		if publisher {
			public = fuse.Unprotected
		}
		for dir, want := range map[pfs.Path]fuse.Protection{
			"/": fuse.Unprotected, "/pfs": fuse.Unprotected, "/pfs/dc": fuse.Unprotected, "/pfs/dc/home/u/public": fuse.Unprotected,
			"/pfs/dc/public": public, "/pfs/public": public, "/pfs/dc/public/dataset/set": public, "/pfs/public/dataset": public,
			"/pfs/dc/public/dataset/set/1": fuse.Immutable, "/pfs/dc/public/dataset/set/1/more": fuse.Immutable,
			"/pfs/dc/public/dataset/set/2": public, "/pfs/dc/public/dataset/set/3": public,
			"/pfs/public/dataset/set/1": fuse.Immutable,
		} {
			if got, err := p.of(t.Context(), dir); got != want || err != nil {
				t.Errorf("%s, publisher %v: %d, %v, want %d", dir, publisher, got, err, want)
			}
		}
		publisher = true
	}
}
