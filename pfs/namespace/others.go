package namespace

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// newOthers returns the stores as an administrator works on them, whose homes are those
// of the accounts: one that its user has not needed yet is made, and where there is no
// account nothing can be put, since nobody would ever see it. A home goes after its account.
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

// other prepares the access to something of the home of owner.
func (n *Namespace) other(ctx context.Context, a pfs.Access, name pfs.Path, owner string) error {
	id, ok := n.account(owner)
	switch {
	case ok && a == pfs.Delete && placeOf(name).kind == oneHome:
		return pfs.Errorf(opView, name, pfs.Invalid, "the home of the account %q stays for as long as that: first `pfsd user rm`, or remove what is in it", owner)
	case ok:
		return n.EnsureHome(ctx, id)
	case a == pfs.Make || a == pfs.Write:
		return pfs.Errorf(opView, name, pfs.NotExist, "there is no account %q whose home this would be", owner)
	}
	return nil
}
