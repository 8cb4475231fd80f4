package sftpfs

import (
	"context"
	"io/fs"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
	"github.com/pkg/sftp"
)

// Stat describes name.
func (s *store) Stat(ctx context.Context, name pfs.Path) (info pfs.Info, err error) {
	const op = "sftpfs.Stat"
	if err := pfs.CheckPath(op, name); err != nil {
		return info, err
	}
	err = s.call(ctx, op, name, func(c *connection) error {
		info, err = s.find(c, op, name)
		return err
	})
	return info, err
}

// find returns the info of name. No parent of it is a link.
func (s *store) find(c *connection, op string, name pfs.Path) (pfs.Info, error) {
	info, there, err := s.look(c, op, name)
	if err == nil && !there {
		err = pfs.E(op, name, pfs.NotExist, nil)
	}
	return info, err
}

// look is find, but the parent of name must be a directory and name may be missing.
func (s *store) look(c *connection, op string, name pfs.Path) (info pfs.Info, there bool, err error) {
	found, err := c.Lstat(s.at(name))
	there = err == nil
	if !there && kindOf(err) != pfs.NotExist {
		return pfs.Info{}, false, err
	}
	if name == pfs.Root {
		if !there {
			return pfs.Info{}, false, pfs.Errorf(op, name, pfs.NotExist, "the directory %s is gone from %s", s.root, s.options.Address)
		}
		return s.info(c, name, attrs(found)), true, nil
	}
	parent := s.at(name.Parent())
	if real, err := c.RealPath(parent); !there || err != nil || real != parent {
		if err := s.checkParents(c, op, name); err != nil {
			return pfs.Info{}, false, err
		}
	}
	if !there {
		return pfs.Info{}, false, nil
	}
	return s.info(c, name, attrs(found)), true, nil
}

// checkParents returns an error unless every parent of name is a directory.
func (s *store) checkParents(c *connection, op string, name pfs.Path) error {
	at := pfs.Root
	for elem := range name.Parent().Names() {
		at = at.Join(elem)
		info, err := c.Lstat(s.at(at))
		switch {
		case kindOf(err) == pfs.NotExist:
			return pfs.Errorf(op, name, pfs.NotExist, "there is no directory %s", at)
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return pfs.E(op, at, pfs.Symlink, nil)
		case !info.IsDir():
			return pfs.E(op, at, pfs.NotDir, nil)
		}
	}
	return nil
}

// info converts the attributes of name.
func (s *store) info(c *connection, name pfs.Path, st *sftp.FileStat) pfs.Info {
	info := pfs.Info{
		Name:       name.Base(),
		Mode:       st.FileMode() & (fs.ModeType | fs.ModePerm | rules.Special),
		ModTime:    st.ModTime(),
		AccessTime: st.AccessTime(),
		UID:        st.UID,
		GID:        st.GID,
	}
	switch {
	case info.IsRegular():
		info.Size = int64(st.Size)
		info.Version = strconv.FormatInt(info.ModTime.Unix(), 36) + "." + strconv.FormatInt(info.Size, 36)
	case info.IsLink():
		info.Target, _ = c.ReadLink(s.at(name))
		info.Size = int64(len(info.Target))
	}
	return info
}

// attrs returns the attributes that the server sent.
func attrs(info fs.FileInfo) *sftp.FileStat { return info.Sys().(*sftp.FileStat) }
