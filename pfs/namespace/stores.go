package namespace

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// stores is the tree of all stores for one who asks. Each operation works on the mux of
// the user whom its path belongs to, and one on two paths on that of its target: what a
// rename or copy inside a store makes belongs to whom the target is of.
type stores struct {
	*pfs.Layer
	n      *Namespace
	id     auth.Identity
	viewer pfs.Owner // who id is on the stores; zero for nobody
}

func newStores(n *Namespace, id auth.Identity) *stores {
	s := &stores{n: n, id: id}
	s.viewer, _ = id.Owner()
	if s.Layer = n.muxes.only; s.Layer != nil {
		return s
	}
	s.Layer = pfs.NewLayer(func(_ context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		return call(s.mux(a, name), name)
	})
	return s
}

// mux returns the tree in which an access to name is made.
func (s *stores) mux(a pfs.Access, name pfs.Path) *pfs.Layer {
	if s.n.muxes.only != nil {
		return s.n.muxes.only
	}
	return s.n.muxes.get(muxKey{owner: s.owner(a, name), viewer: s.viewer, administers: a == pfs.Administer})
}

// owner returns whom what is made at name belongs to; zero for the service.
func (s *stores) owner(a pfs.Access, name pfs.Path) pfs.Owner {
	at := placeOf(name)
	switch {
	case a == pfs.Discard || a == pfs.Administer:
		return pfs.Owner{}
	case at.mount != "" || at.owner == s.id.Name:
		return s.viewer
	case at.owner == "" || s.n.account == nil:
		return pfs.Owner{}
	}
	id, _ := s.n.account(at.owner)
	owner, _ := id.Owner()
	return owner
}

// List shows of the homes to who is no administrator the own one alone: a listing does
// not page through thousands of others to leave them out.
func (s *stores) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	if s.id.Role == auth.Admin || placeOf(dir).kind != theHomes {
		return s.Layer.List(ctx, dir, opts)
	}
	if s.id.Name == "" {
		return pfs.Page{}, nil
	}
	info, err := s.Stat(ctx, dir.Join(s.id.Name))
	if errors.Is(err, pfs.NotExist) {
		return pfs.Page{}, nil
	}
	if err != nil {
		return pfs.Page{}, err
	}
	return pfs.Page{Entries: []pfs.Info{info}}, nil
}

// Usage shows an administrator, who sets quotas, what they hold for, also where the store
// does not let the administrator in.
func (s *stores) Usage(ctx context.Context, name pfs.Path) (pfs.Usage, error) {
	if s.id.Role == auth.Admin {
		return s.mux(pfs.Administer, name).Usage(ctx, name)
	}
	return s.Layer.Usage(ctx, name)
}

func (s *stores) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	return s.mux(pfs.Write, newName).Rename(ctx, oldName, newName)
}

func (s *stores) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	return s.mux(pfs.Write, newName).RenameExclusive(ctx, oldName, newName)
}

func (s *stores) CopyFile(ctx context.Context, src, dst pfs.Path, opts pfs.CopyOptions, progress func(int64)) (pfs.Info, error) {
	return s.mux(pfs.Write, dst).CopyFile(ctx, src, dst, opts, progress)
}
