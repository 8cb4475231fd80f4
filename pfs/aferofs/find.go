package aferofs

import (
	"errors"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// lstat describes the name real of afs without following a link, if afs knows how.
func (s *store) lstat(real string) (fs.FileInfo, error) {
	if l, ok := s.afs.(afero.Lstater); ok {
		info, _, err := l.LstatIfPossible(real)
		return info, err
	}
	return s.afs.Stat(real)
}

// find describes name, links in its own place included. The lock is held, so the
// way there stays as it was found.
func (s *store) find(op string, name pfs.Path) (fs.FileInfo, error) {
	if err := s.parent(op, name); err != nil {
		return nil, err
	}
	info, err := s.lstat(s.real(name))
	return info, fail(op, name, err)
}

// parent checks that the way to name passes through directories only.
func (s *store) parent(op string, name pfs.Path) error {
	at := pfs.Root
	for elem := range name.Parent().Names() {
		at = at.Join(elem)
		info, err := s.lstat(s.real(at))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return pfs.Errorf(op, name, pfs.NotExist, "there is no directory %q on the way", elem)
		case err != nil:
			return fail(op, at, err)
		case info.Mode()&fs.ModeSymlink != 0:
			return pfs.E(op, at, pfs.Symlink, nil)
		case !info.IsDir():
			return pfs.E(op, at, pfs.NotDir, nil)
		}
	}
	return nil
}

// findOpenable is find for what a link does not stand for.
func (s *store) findOpenable(op string, name pfs.Path) (fs.FileInfo, error) {
	info, err := s.find(op, name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, pfs.E(op, name, pfs.Symlink, nil)
	}
	return info, err
}

// findDir checks that name is a directory.
func (s *store) findDir(op string, name pfs.Path) error {
	info, err := s.findOpenable(op, name)
	if err == nil && !info.IsDir() {
		return pfs.E(op, name, pfs.NotDir, nil)
	}
	return err
}

// findFile describes the file name.
func (s *store) findFile(op string, name pfs.Path) (fs.FileInfo, error) {
	info, err := s.findOpenable(op, name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, pfs.E(op, name, pfs.IsDir, nil)
	case info.Mode()&fs.ModeType != 0:
		return nil, pfs.Errorf(op, name, pfs.Unsupported, "a device, pipe or socket, which has no content of its own")
	}
	return info, nil
}

// taken describes what has the name, nil if nothing has. The parent must be there.
func (s *store) taken(op string, name pfs.Path) (fs.FileInfo, error) {
	if err := s.parent(op, name); err != nil {
		return nil, err
	}
	info, err := s.lstat(s.real(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, fail(op, name, err)
}
