package namespace

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// stores chooses the mux of the user who owns a path.
type stores struct {
	n      *Namespace
	id     auth.Identity
	viewer pfs.Owner // the user of id on the stores; zero for nobody
}

// newStores returns the tree of all stores as id sees it. Each operation uses the mux of the owner
// of its path. One on several paths uses that of the target, whose owner gets the result of a
// rename or copy inside a store.
func newStores(n *Namespace, id auth.Identity) *pfs.Layer {
	s := stores{n: n, id: id}
	s.viewer, _ = id.Owner()
	return pfs.NewLayerWith(func(_ context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		mux := s.mux(a, name)
		// Only administrators list all homes. Others get their own without paging through
		// thousands of others.
		if a == pfs.ListDir && s.id.Role != auth.Admin && placeOf(name).kind == theHomes {
			return call(ownHome{mux, s.id.Name}, name)
		}
		return call(mux, name)
	}, pfs.Hooks{Paths: func(_ context.Context, op pfs.PathsOp, call pfs.PathsCall) error {
		var paths []pfs.Path
		for _, u := range op.Uses {
			paths = append(paths, u.Path)
		}
		return call(s.mux(pfs.Write, op.Target()), paths)
	}})
}

// mux returns the tree for an access to name. Administrators, who set quotas, see their use even if
// the store does not let them in.
func (s stores) mux(a pfs.Access, name pfs.Path) *pfs.Layer {
	if s.n.muxes.only != nil {
		return s.n.muxes.only
	}
	administers := a == pfs.Administer || a == pfs.Measure && s.id.Role == auth.Admin
	if administers {
		a = pfs.Administer
	}
	return s.n.muxes.get(muxKey{owner: s.owner(a, name), viewer: s.viewer, administers: administers})
}

// owner returns the owner of new files at name; zero for the service.
func (s stores) owner(a pfs.Access, name pfs.Path) pfs.Owner {
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

// ownHome is a tree whose directory of homes has only one user's home.
type ownHome struct {
	pfs.FileSystem
	user string
}

func (h ownHome) List(ctx context.Context, dir pfs.Path, _ pfs.ListOptions) (pfs.Page, error) {
	if h.user == "" {
		return pfs.Page{}, nil
	}
	info, err := h.Stat(ctx, dir.Join(h.user))
	if errors.Is(err, pfs.NotExist) {
		return pfs.Page{}, nil
	}
	if err != nil {
		return pfs.Page{}, err
	}
	return pfs.Page{Entries: []pfs.Info{info}}, nil
}
