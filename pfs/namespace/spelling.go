package namespace

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
)

// modern returns name with the old spelling of a home, /pfs/DC/user/..., replaced by the new one.
func modern(name pfs.Path) pfs.Path {
	dc, ok := datacenterOf(name)
	if !ok || dc == public {
		return name // /pfs/public/user is a dataset
	}
	was := top.Join(dc).Join(user)
	if !name.Within(was) {
		return name
	}
	return name.Rebase(was, top.Join(dc).Join(home))
}

// datacenterOf returns the element of name that is a datacenter's, or "public".
func datacenterOf(name pfs.Path) (dc string, ok bool) {
	if name == top || !name.Within(top) {
		return "", false
	}
	for elem := range name.Rebase(top, pfs.Root).Names() {
		return elem, true
	}
	return "", false
}

// spelled resolves the spellings of paths.
type spelled struct {
	n     *Namespace
	alias string
}

// newSpelled returns the tree below with all spellings of its paths.
func newSpelled(n *Namespace, alias string, below pfs.FileSystem) pfs.FileSystem {
	s := spelled{n, alias}
	return pfs.NewLayerWith(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		meant, err := s.meant(name)
		if err != nil {
			return err
		}
		return call(below, meant)
	}, pfs.Hooks{
		// Listings show the alias instead of the current datacenter's own name.
		Info: func(_ context.Context, name pfs.Path, info pfs.Info) (pfs.Info, error) {
			if alias != "" && name == top.Join(n.current) {
				info.Name = alias
			}
			return info, nil
		},
		// The public directory of the current datacenter counts once, although /pfs shows it under
		// two names.
		Apart: func(dir pfs.Path) (apart bool, except string) {
			if dir == top {
				except = public
			}
			return top.Within(dir), except
		},
		Paths: func(ctx context.Context, op pfs.PathsOp, call pfs.PathsCall) error {
			return explain(op, op.Each(ctx, call))
		},
	})
}

// meant returns name with the datacenter's own name and with "home".
func (s spelled) meant(name pfs.Path) (pfs.Path, error) {
	at := modern(name)
	dc, ok := datacenterOf(name)
	switch {
	case !ok || s.n.has(dc):
		return at, nil
	case dc == public:
		return at.Rebase(top, top.Join(s.n.current)), nil
	case dc == s.alias:
		return at.Rebase(top.Join(dc), top.Join(s.n.current)), nil
	}
	return "", pfs.Errorf(opView, name, pfs.NotExist, "there is no datacenter %.80q here, only %s", dc, s.n.known(s.alias))
}

// explain replaces the error of a rename between datacenters, or between trees used with different
// rights, by one that names the alternative.
func explain(op pfs.PathsOp, err error) error {
	if op.Uses[0].Access != pfs.Delete || !errors.Is(err, pfs.CrossStore) {
		return err
	}
	return pfs.Errorf("namespace."+op.Name, op.Target(), pfs.CrossStore,
		"%s is in another datacenter, or is used with other rights, and cannot be renamed to it: use cp or mv, which copy", op.Uses[0].Path)
}
