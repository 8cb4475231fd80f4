package namespace_test

import (
	"context"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/namespace"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// asUser is the tree of a user without administrator's rights; the suite does not test them.
type asUser struct{ *pfs.Layer }

func (asUser) SetQuota(_ context.Context, name pfs.Path, _, _ int64) error {
	return pfs.E("test.SetQuota", name, pfs.Unsupported, nil)
}

// TestSuite runs the suite on a home as different people see it.
func TestSuite(t *testing.T) {
	rows := []struct {
		name string
		id   auth.Identity
		home pfs.Path
	}{
		{"user, old spelling and alias", alice, "/pfs/mine/user/alice@example.org"},
		{"administrator, another's home", admin, "/pfs/dc/home/alice@example.org"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			opts := pfstest.Options{Gaps: pfstest.NoSymlink, Names: 300}
			if row.id.Role != auth.Admin {
				opts.Gaps |= pfstest.NoQuota
			}
			opts.New = func(t *testing.T) pfs.FileSystem {
				sub := pfstest.NewSub(newHome(t, row.id), row.home)
				if row.id.Role != auth.Admin {
					return asUser{sub}
				}
				return sub
			}
			pfstest.Run(t, opts)
		})
	}
}

func (u asUser) Capabilities(ctx context.Context, name pfs.Path) (pfs.Capabilities, error) {
	c, err := u.Layer.Capabilities(ctx, name)
	return c &^ pfs.CanSetQuota, err
}

// newHome returns the view of id on an empty tree with its home and alice's. Its store has no
// links, since the suite requires that links are not followed, and a View follows them.
func newHome(t *testing.T, id auth.Identity) pfs.FileSystem {
	t.Helper()
	n, err := namespace.New(namespace.Config{Datacenters: []namespace.Datacenter{{Name: "dc", FS: memfs.New(memfs.Options{Without: pfs.CanSymlink})}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{id.Name, alice.Name} {
		if err := n.EnsureHome(t.Context(), auth.Identity{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	return n.View(id, "mine")
}
