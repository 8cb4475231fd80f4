package sftpfs

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// Mkdir makes the directory name.
func (s *store) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	const op = "sftpfs.Mkdir"
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	return s.call(ctx, op, name, func(c *connection) error {
		old, there, err := s.look(c, op, name)
		switch {
		case err != nil:
			return err
		case there && old.IsDir():
			return nil
		case there:
			return pfs.E(op, name, pfs.Exist, nil)
		}
		if err := c.Mkdir(s.at(name)); err != nil {
			if old, there, _ := s.look(c, op, name); there && old.IsDir() {
				return nil // another client made it
			}
			return s.reason(c, op, name, err)
		}
		return c.Chmod(s.at(name), mode.Perm()) // the server has a umask
	})
}

// reason returns the reason of a failure for which the server has no code: something has the name, or
// the disk is full.
func (s *store) reason(c *connection, op string, name pfs.Path, err error) error {
	if !failed(err) {
		return err
	}
	if _, there, looked := s.look(c, op, name); looked == nil && there {
		return pfs.E(op, name, pfs.Exist, nil)
	}
	return s.full(c, op, name, err)
}

// full returns NoSpace in place of a failure if the disk is full.
func (s *store) full(c *connection, op string, name pfs.Path, err error) error {
	if disk, asked := c.StatVFS(s.root); failed(err) && asked == nil && (disk.Bavail == 0 || disk.Files > 0 && disk.Favail == 0) {
		return pfs.Errorf(op, name, pfs.NoSpace, "the disk of %s is full", s.options.Address)
	}
	return err
}

// Remove removes the file, link or empty directory name.
func (s *store) Remove(ctx context.Context, name pfs.Path) error {
	const op = "sftpfs.Remove"
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	if name == pfs.Root {
		return pfs.Errorf(op, name, pfs.Invalid, "the root cannot be removed")
	}
	return s.call(ctx, op, name, func(c *connection) error {
		info, err := s.find(c, op, name)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return c.Remove(s.at(name))
		}
		err = c.RemoveDirectory(s.at(name))
		if failed(err) {
			if err := s.clear(ctx, c, op, name); err != nil {
				return err
			}
			err = c.RemoveDirectory(s.at(name))
		}
		return err
	})
}

// clear removes the temporaries in dir if it holds nothing else.
func (s *store) clear(ctx context.Context, c *connection, op string, dir pfs.Path) error {
	var temps []string
	err := s.each(ctx, c, op, dir, func(e entry) error {
		if !pfs.IsTemp(e.name, e.attrs.FileMode()) {
			return pfs.E(op, dir, pfs.NotEmpty, nil)
		}
		temps = append(temps, s.at(dir)+"/"+e.name)
		return nil
	})
	for _, temp := range temps {
		if err == nil {
			err = c.Remove(temp)
		}
		if kindOf(err) == pfs.NotExist {
			err = nil
		}
	}
	return err
}

// Rename gives oldName the name newName.
func (s *store) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	return s.rename(ctx, rules.Rename{Op: "sftpfs.Rename", From: oldName, To: newName})
}

// RenameExclusive is Rename that replaces nothing.
func (s *store) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	return s.rename(ctx, rules.Rename{Op: "sftpfs.RenameExclusive", From: oldName, To: newName, Exclusive: true})
}

func (s *store) rename(ctx context.Context, r rules.Rename) error {
	if err := pfs.CheckPath(r.Op, r.From); err != nil {
		return err
	}
	if err := pfs.CheckPath(r.Op, r.To); err != nil {
		return err
	}
	return s.call(ctx, r.Op, r.From, func(c *connection) error {
		moved, err := s.find(c, r.Op, r.From)
		if err != nil {
			return err
		}
		if done, err := r.Begin(moved.Mode); done || err != nil {
			return err
		}
		old, there, err := s.look(c, r.Op, r.To)
		if err == nil && there {
			err = r.Replace(moved.Mode, old.Mode)
		}
		if err != nil {
			return err
		}
		// posix-rename would replace an empty directory by a directory.
		if r.Exclusive || moved.IsDir() {
			return s.reason(c, r.Op, r.To, c.Client.Rename(s.at(r.From), s.at(r.To)))
		}
		return s.full(c, r.Op, r.To, c.PosixRename(s.at(r.From), s.at(r.To)))
	})
}

// Symlink makes name a link to target.
func (s *store) Symlink(ctx context.Context, target string, name pfs.Path) error {
	const op = "sftpfs.Symlink"
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	if err := rules.Symlink(op, name, target); err != nil {
		return err
	}
	return s.call(ctx, op, name, func(c *connection) error {
		_, there, err := s.look(c, op, name)
		if err == nil && there {
			err = pfs.E(op, name, pfs.Exist, nil)
		}
		if err != nil {
			return err
		}
		return s.reason(c, op, name, c.Client.Symlink(target, s.at(name)))
	})
}

// SetAttr sets permission bits, the size and times of name.
func (s *store) SetAttr(ctx context.Context, name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "sftpfs.SetAttr"
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	if err := mask.Check(op, name, attrs); err != nil {
		return err
	}
	if err := settable(op, name, mask); err != nil {
		return err
	}
	return s.call(ctx, op, name, func(c *connection) error {
		info, err := s.find(c, op, name)
		if err == nil {
			err = rules.SetAttr(op, name, info.Mode, mask)
		}
		if err == nil && info.IsLink() {
			err = pfs.Errorf(op, name, pfs.Unsupported, "SFTP cannot change a symbolic link")
		}
		if err == nil && mask&pfs.AttrSize != 0 {
			err = s.full(c, op, name, c.Truncate(s.at(name), attrs.Size))
		}
		if err == nil && mask&pfs.AttrMode != 0 {
			err = c.Chmod(s.at(name), bits(attrs.Mode, info))
		}
		if err == nil && mask&(pfs.AttrModTime|pfs.AttrAccessTime) != 0 {
			mtime, atime := info.ModTime, info.AccessTime
			if mask&pfs.AttrModTime != 0 {
				mtime = attrs.ModTime
			}
			if mask&pfs.AttrAccessTime != 0 {
				atime = attrs.AccessTime
			}
			if err = errors.Join(checkTime(op, name, mtime), checkTime(op, name, atime)); err == nil {
				err = c.Chtimes(s.at(name), atime, mtime)
			}
		}
		return err
	})
}

// settable returns Unsupported if the store cannot set an attribute of mask.
func settable(op string, name pfs.Path, mask pfs.AttrMask) error {
	if mask&^(pfs.AttrMode|pfs.AttrSize|pfs.AttrModTime|pfs.AttrAccessTime|pfs.AttrLink) != 0 {
		return pfs.Errorf(op, name, pfs.Unsupported, "an SFTP host sets permission bits, size and times only")
	}
	return nil
}

// bits returns the mode to set: a directory keeps its special bits unless one is given.
func bits(mode fs.FileMode, old pfs.Info) fs.FileMode {
	mode &= fs.ModePerm | rules.Special
	if old.IsDir() && mode&rules.Special == 0 {
		mode |= old.Mode & rules.Special
	}
	return mode
}

// checkTime returns Invalid for a time that SFTP cannot carry, in 32 bits.
func checkTime(op string, name pfs.Path, t time.Time) error {
	if sec := t.Unix(); sec < 0 || sec > math.MaxUint32 {
		return pfs.Errorf(op, name, pfs.Invalid, "%v: SFTP carries times from 1970 to 2106", t)
	}
	return nil
}
