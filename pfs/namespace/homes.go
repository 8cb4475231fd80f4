package namespace

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// homes makes missing homes.
type homes struct {
	n  *Namespace
	id auth.Identity // of the caller
}

// newHomes returns the tree of the stores in which every home is as EnsureHome makes it: private
// and owned by its user, whoever creates it and by whatever call. If a home was removed on its
// store, the next creation of it or write into it creates it again. A home that was removed through
// the service is forgotten at once.
func newHomes(n *Namespace, id auth.Identity, stores pfs.FileSystem) *pfs.Layer {
	h := homes{n, id}
	return pfs.NewLayerWith(func(ctx context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		at := placeOf(name)
		if at.kind == oneHome && a == pfs.Delete {
			err := call(stores, name)
			if dc, ok := datacenterOf(name); ok && err == nil {
				home := dc + "/" + at.owner
				n.forget(home)
				n.forget(quotaOf(home))
			}
			return err
		}
		if at.owner == "" || a != pfs.Make && a != pfs.Write {
			return call(stores, name)
		}
		if at.kind == oneHome {
			if _, err := h.remake(ctx, name); err != nil {
				return err
			}
			return call(stores, name)
		}
		err := call(stores, name)
		if h.remade(ctx, name, err) {
			err = call(stores, name)
		}
		return err
	}, pfs.Hooks{
		Again: h.remade,
		Paths: func(ctx context.Context, op pfs.PathsOp, call pfs.PathsCall) error {
			if op.Name != "CopyFile" && placeOf(op.Target()).kind == oneHome {
				return pfs.Errorf("namespace."+op.Name, op.Target(), pfs.Exist, "only the service makes a home: rename what is to be in it")
			}
			return op.Each(ctx, call)
		},
	})
}

// remade reports whether err was due to a missing home, which it has now made.
func (h homes) remade(ctx context.Context, name pfs.Path, err error) bool {
	if !errors.Is(err, pfs.NotExist) || placeOf(name).owner == "" {
		return false
	}
	made, err := h.remake(ctx, name)
	return made && err == nil
}

// remake makes the home that name is in, if it is missing, and reports whether it did. It makes
// no home without an account.
func (h homes) remake(ctx context.Context, name pfs.Path) (made bool, err error) {
	owner, ok := h.id, true
	if at := placeOf(name); at.owner != h.id.Name {
		if h.n.account == nil {
			return false, nil
		}
		owner, ok = h.n.account(at.owner)
	}
	if !ok || auth.CheckName(owner.Name) != "" {
		return false, nil
	}
	in, _ := datacenterOf(name)
	for _, dc := range h.n.datacenters {
		if dc.Name != in {
			continue
		}
		if _, err := dc.FS.Stat(ctx, dc.at(home).Join(owner.Name)); !errors.Is(err, pfs.NotExist) {
			return false, nil // if the store has failed, the operation itself returns the error
		}
		if err := makeHome(ctx, dc, owner); err != nil {
			return true, err
		}
		h.n.forget(quotaOf(homeIn(dc, owner)))
		h.n.limitHome(ctx, dc, owner)
		return true, nil
	}
	return false, nil
}
