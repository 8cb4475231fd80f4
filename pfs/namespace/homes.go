package namespace

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// homes makes homes that are not there.
type homes struct {
	n  *Namespace
	id auth.Identity // who asks
}

// newHomes returns the tree of the stores in which homes are what EnsureHome makes of them,
// whoever asks and by whatever call: private and their users' own. One that was removed on
// its store is made again by who makes it, or puts something into it; one that was removed
// here is not taken to be there still.
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
				return pfs.Errorf("namespace."+op.Name, op.Target(), pfs.Exist, "a home is made by the service alone: rename what is to be in it")
			}
			return op.Each(ctx, call)
		},
	})
}

// remade reports whether err was for the sake of a home that was not there, and is now.
func (h homes) remade(ctx context.Context, name pfs.Path, err error) bool {
	if !errors.Is(err, pfs.NotExist) || placeOf(name).owner == "" {
		return false
	}
	made, err := h.remake(ctx, name)
	return made && err == nil
}

// remake makes the home that name is in, if it is not there, and reports whether it did.
// Where there is no account, there is none to be made.
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
			return false, nil // what is wrong with the store the call itself says
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
