package aferofs

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
)

// Mkdir makes the directory name.
func (s *store) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	const op = "aferofs.Mkdir"
	if err := s.begin(ctx, op, name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.taken(op, name)
	switch {
	case err != nil:
		return err
	case old != nil && old.IsDir():
		return nil
	case old != nil:
		return pfs.E(op, name, pfs.Exist, nil)
	}
	if err := s.afs.Mkdir(s.real(name), mode.Perm()); err != nil {
		return fail(op, name, err)
	}
	// The process may have a umask.
	if err := s.afs.Chmod(s.real(name), mode.Perm()); err != nil {
		return fail(op, name, err)
	}
	return s.syncDir(op, name.Parent())
}

// syncDir makes the names in dir survive a crash, where afs can do that.
func (s *store) syncDir(op string, dir pfs.Path) error {
	err := s.sync(s.real(dir))
	if k := kindOf(err); err != nil && k != pfs.Invalid && k != pfs.Unsupported {
		return fail(op, dir, err)
	}
	return nil
}

// sync makes what the name real holds survive a crash.
func (s *store) sync(real string) error {
	f, err := s.afs.Open(real)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// SetAttr sets permission bits and times of name, which is not a link: afs would follow it.
func (s *store) SetAttr(ctx context.Context, name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "aferofs.SetAttr"
	if err := s.begin(ctx, op, name); err != nil {
		return err
	}
	if err := mask.Check(op, name, attrs); err != nil {
		return err
	}
	if mask&^(pfs.AttrMode|pfs.AttrModTime) != 0 {
		return pfs.Errorf(op, name, pfs.Unsupported, "only permission bits and the modification time can be set here")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.findOpenable(op, name); err != nil {
		return err
	}
	if mask&pfs.AttrMode != 0 {
		if err := s.afs.Chmod(s.real(name), attrs.Mode.Perm()); err != nil {
			return fail(op, name, err)
		}
	}
	if mask&pfs.AttrModTime != 0 {
		if err := s.afs.Chtimes(s.real(name), attrs.ModTime, attrs.ModTime); err != nil {
			return fail(op, name, err)
		}
	}
	return s.changed(op, name)
}

// changed notes that the content, or the time, of name is another one.
func (s *store) changed(op string, name pfs.Path) error {
	fi, err := s.lstat(s.real(name))
	if err != nil {
		return fail(op, name, err)
	}
	s.generations.changed(name, fi)
	return nil
}
