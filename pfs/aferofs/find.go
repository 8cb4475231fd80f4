package aferofs

import (
	"context"
	"errors"
	"io/fs"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// Stat describes name.
func (s *store) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	const op = "aferofs.Stat"
	if err := begin(ctx, op, name); err != nil {
		return pfs.Info{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	fi, err := s.find(op, name)
	if err != nil {
		return pfs.Info{}, err
	}
	return s.info(name, fi), nil
}

// info converts fi, which describes name. It copies: in memory, fi changes with the file.
func (s *store) info(name pfs.Path, fi fs.FileInfo) pfs.Info {
	info := pfs.Info{Name: name.Base(), Mode: fi.Mode() & (fs.ModeType | fs.ModePerm), ModTime: fi.ModTime()}
	switch {
	case info.IsRegular():
		info.Size = fi.Size()
		info.Version = strconv.FormatInt(info.ModTime.UnixNano(), 36) + "." + strconv.FormatInt(info.Size, 36)
	case info.IsLink():
		if r, ok := s.afs.(afero.LinkReader); ok {
			info.Target, _ = r.ReadlinkIfPossible(nameOf(name))
		}
		info.Size = int64(len(info.Target))
	}
	return info
}

// lstat describes name without following a link, if afs can do that.
func (s *store) lstat(name string) (fs.FileInfo, error) {
	if l, ok := s.afs.(afero.Lstater); ok {
		fi, _, err := l.LstatIfPossible(name)
		return fi, err
	}
	return s.afs.Stat(name)
}

// taken returns the info of name, or nil if it does not exist. Its parents are directories, not
// links. The caller holds the lock, so that they stay so.
func (s *store) taken(op string, name pfs.Path) (fs.FileInfo, error) {
	at := pfs.Root
	for elem := range name.Parent().Names() {
		at = at.Join(elem)
		fi, err := s.lstat(nameOf(at))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, pfs.Errorf(op, name, pfs.NotExist, "there is no directory %s", at)
		case err != nil:
			return nil, fail(op, at, err)
		case fi.Mode()&fs.ModeSymlink != 0:
			return nil, pfs.E(op, at, pfs.Symlink, nil)
		case !fi.IsDir():
			return nil, pfs.E(op, at, pfs.NotDir, nil)
		}
	}
	fi, err := s.lstat(nameOf(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return fi, fail(op, name, err)
}

// find returns the info of name, without following a link.
func (s *store) find(op string, name pfs.Path) (fs.FileInfo, error) {
	fi, err := s.taken(op, name)
	if err == nil && fi == nil {
		err = pfs.E(op, name, pfs.NotExist, nil)
	}
	return fi, err
}

// findDir checks that name is a directory.
func (s *store) findDir(op string, name pfs.Path) error {
	fi, err := s.find(op, name)
	switch {
	case err != nil || fi.IsDir():
		return err
	case fi.Mode()&fs.ModeSymlink != 0:
		return pfs.E(op, name, pfs.Symlink, nil)
	}
	return pfs.E(op, name, pfs.NotDir, nil)
}
