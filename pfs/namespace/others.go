package namespace

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// newOthers returns the stores as an administrator sees them, with the homes of all accounts. A
// home that its user has not needed yet is created. Without an account nothing can be put into a
// home, since no user would ever see it. A home can be removed only after its account.
func newOthers(n *Namespace, stores pfs.FileSystem) pfs.FileSystem {
	return pfs.NewLayer(func(ctx context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if owner := placeOf(name).owner; owner != "" {
			if err := n.other(ctx, a, name, owner); err != nil {
				return err
			}
		}
		return call(stores, name)
	})
}

// other prepares an access to the home of owner, or to something in it.
func (n *Namespace) other(ctx context.Context, a pfs.Access, name pfs.Path, owner string) error {
	id, ok := n.account(owner)
	switch {
	case ok && a == pfs.Delete && placeOf(name).kind == oneHome:
		return pfs.Errorf(opView, name, pfs.Invalid, "the home of an existing account cannot be removed: first remove the account (pfsd user rm %s), or remove only its entries", owner)
	case ok:
		return n.EnsureHome(ctx, id)
	case a == pfs.Make || a == pfs.Write:
		return pfs.Errorf(opView, name, pfs.NotExist, "there is no account %q, so there is no such home", owner)
	}
	return nil
}
