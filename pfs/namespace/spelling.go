package namespace

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
)

// modern returns the path that is meant by name, which may have the old spelling of a
// home, /pfs/DC/user/...
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

// spelled is the tree below with all the spellings of its paths.
type spelled struct {
	*pfs.Layer
	n     *Namespace
	alias string
}

func newSpelled(n *Namespace, alias string, below pfs.FileSystem) *spelled {
	s := &spelled{n: n, alias: alias}
	s.Layer = pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		meant, err := s.meant(name)
		if err != nil {
			return err
		}
		return call(below, meant)
	})
	return s
}

// meant returns the path that name stands for: with the datacenter's own name, and
// "home".
func (s *spelled) meant(name pfs.Path) (pfs.Path, error) {
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

// List shows the alias in place of the current datacenter's own name.
func (s *spelled) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	page, err := s.Layer.List(ctx, dir, opts)
	if dir != top || s.alias == "" {
		return page, err
	}
	for i, e := range page.Entries {
		if e.Name == s.n.current {
			page.Entries[i].Name = s.alias
		}
	}
	return page, err
}

// Usage counts what is public in the current datacenter once, though /pfs shows it under
// two names.
func (s *spelled) Usage(ctx context.Context, name pfs.Path) (total pfs.Usage, err error) {
	if !top.Within(name) {
		return s.Layer.Usage(ctx, name)
	}
	for e, err := range pfs.Entries(ctx, s, name, nil) {
		if err != nil {
			return pfs.Usage{}, err
		}
		at := name.Join(e.Name)
		if at == top.Join(public) {
			continue
		}
		below, err := s.Usage(ctx, at)
		if err != nil {
			return pfs.Usage{}, err
		}
		total.Bytes += below.Bytes
		total.Files += below.Files
		total.Dirs += below.Dirs + 1
	}
	return total, nil
}

// Rename says more than that the stores differ.
func (s *spelled) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	return explain(oldName, newName, s.Layer.Rename(ctx, oldName, newName))
}

// RenameExclusive says more than that the stores differ.
func (s *spelled) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	return explain(oldName, newName, s.Layer.RenameExclusive(ctx, oldName, newName))
}

// explain says what to do where a rename between datacenters was tried, or between
// what is used with the rights of the service and with those of a user.
func explain(oldName, newName pfs.Path, err error) error {
	if !errors.Is(err, pfs.CrossStore) {
		return err
	}
	return pfs.Errorf("namespace.Rename", newName, pfs.CrossStore,
		"%s is in another datacenter, or used with other rights, and cannot be renamed to it: use cp or mv, which copy", oldName)
}
