package aferofs

import (
	"context"
	"io"

	"github.com/paddlecloud/pfs/pfs"
)

// Remove removes the file, link or empty directory name.
func (s *store) Remove(ctx context.Context, name pfs.Path) error {
	const op = "aferofs.Remove"
	if err := s.begin(ctx, op, name); err != nil {
		return err
	}
	if name == pfs.Root {
		return pfs.Errorf(op, name, pfs.Invalid, "the root cannot be removed")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fi, err := s.find(op, name)
	if err != nil {
		return err
	}
	if fi.IsDir() {
		if err := s.empty(ctx, op, name); err != nil {
			return err
		}
	}
	if err := s.afs.Remove(s.real(name)); err != nil {
		return fail(op, name, err)
	}
	s.gone(name)
	return s.syncDir(op, name.Parent())
}

// empty removes the temporaries in dir if there is nothing else.
func (s *store) empty(ctx context.Context, op string, dir pfs.Path) error {
	err := s.eachName(ctx, op, dir, func(name string) error {
		if s.checkName(name) == "" { // an ordinary name
			return pfs.E(op, dir, pfs.NotEmpty, nil)
		}
		info, err := s.lstat(s.real(dir.Join(name)))
		if err == nil && !s.isTemp(name, info) {
			err = pfs.E(op, dir, pfs.NotEmpty, nil)
		}
		return fail(op, dir, err)
	})
	if err != nil {
		return err
	}
	return s.eachName(ctx, op, dir, func(name string) error {
		return fail(op, dir, s.afs.Remove(s.real(dir.Join(name))))
	})
}

// eachName calls do for every name in dir, temporaries included, until it fails.
// The lock is held.
func (s *store) eachName(ctx context.Context, op string, dir pfs.Path, do func(name string) error) error {
	r, err := s.openNames(s.real(dir))
	if err != nil {
		return fail(op, dir, err)
	}
	defer r.close()
	for {
		if err := pfs.CheckContext(ctx, op, dir); err != nil {
			return err
		}
		some, err := r.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fail(op, dir, err)
		}
		for _, name := range some {
			if err := do(name); err != nil {
				return err
			}
		}
	}
}

// gone tells the uploads that what had the name, and all below it, is not
// there any more. The lock is held.
func (s *store) gone(name pfs.Path) {
	for temp, u := range s.uploads {
		if u.name.Parent().Within(name) {
			u.gone = true
			delete(s.uploads, temp)
		}
	}
}
