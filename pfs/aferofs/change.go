package aferofs

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// Mkdir makes the directory name.
func (s *store) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	const op = "aferofs.Mkdir"
	if err := begin(ctx, op, name); err != nil {
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
	err = s.afs.Mkdir(nameOf(name), mode.Perm())
	if err == nil {
		err = s.afs.Chmod(nameOf(name), mode.Perm()) // the process may have a umask
	}
	if err != nil {
		return fail(op, name, err)
	}
	return s.syncDir(op, name.Parent())
}

// Remove removes the file, link or empty directory name.
func (s *store) Remove(ctx context.Context, name pfs.Path) error {
	const op = "aferofs.Remove"
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	if name == pfs.Root {
		return pfs.Errorf(op, name, pfs.Invalid, "the root cannot be removed")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fi, err := s.find(op, name)
	if err == nil && fi.IsDir() {
		err = s.empty(ctx, op, name)
	}
	if err != nil {
		return err
	}
	if err := s.afs.Remove(nameOf(name)); err != nil {
		return fail(op, name, err)
	}
	return s.syncDir(op, name.Parent())
}

// empty removes the temporaries in dir if there is nothing else.
func (s *store) empty(ctx context.Context, op string, dir pfs.Path) error {
	var temps []string
	for token := ""; ; {
		names, next, err := s.names(ctx, op, dir, token, pfs.MaxPage)
		if err != nil {
			return err
		}
		for _, name := range names {
			temp := nameOf(dir.Join(name))
			fi, err := s.lstat(temp)
			if err == nil && !isTemp(name, fi) {
				return pfs.E(op, dir, pfs.NotEmpty, nil)
			}
			if err != nil {
				return fail(op, dir, err)
			}
			temps = append(temps, temp)
		}
		if token = next; next == "" {
			break
		}
	}
	for _, temp := range temps {
		if err := s.afs.Remove(temp); err != nil {
			return fail(op, dir, err)
		}
	}
	return nil
}

// Rename gives oldName the name newName.
func (s *store) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	return s.rename(ctx, rules.Rename{Op: "aferofs.Rename", From: oldName, To: newName})
}

// RenameExclusive is Rename that replaces nothing.
func (s *store) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	return s.rename(ctx, rules.Rename{Op: "aferofs.RenameExclusive", From: oldName, To: newName, Exclusive: true})
}

func (s *store) rename(ctx context.Context, r rules.Rename) error {
	if err := begin(ctx, r.Op, r.From); err != nil {
		return err
	}
	if err := begin(ctx, r.Op, r.To); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fi, err := s.find(r.Op, r.From)
	if err != nil {
		return err
	}
	if done, err := r.Begin(fi.Mode()); done || err != nil {
		return err
	}
	old, err := s.taken(r.Op, r.To)
	if err == nil && old != nil {
		err = r.Replace(fi.Mode(), old.Mode())
	}
	if err == nil {
		err = fail(r.Op, r.From, s.afs.Rename(nameOf(r.From), nameOf(r.To)))
	}
	if err == nil {
		err = s.syncDir(r.Op, r.To.Parent())
	}
	if err == nil {
		err = s.syncDir(r.Op, r.From.Parent())
	}
	return err
}

// SetAttr sets permission bits and times of name, which is not a link: afs would follow it.
func (s *store) SetAttr(ctx context.Context, name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "aferofs.SetAttr"
	if err := begin(ctx, op, name); err != nil {
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
	fi, err := s.find(op, name)
	if err == nil {
		err = rules.SetAttr(op, name, fi.Mode(), mask)
	}
	if err == nil && mask&pfs.AttrMode != 0 {
		err = fail(op, name, s.afs.Chmod(nameOf(name), attrs.Mode.Perm()))
	}
	if err == nil && mask&pfs.AttrModTime != 0 {
		err = fail(op, name, s.afs.Chtimes(nameOf(name), attrs.ModTime, attrs.ModTime))
	}
	return err
}

// syncDir makes the names in dir survive a crash, where afs can do that.
func (s *store) syncDir(op string, dir pfs.Path) error {
	err := s.sync(nameOf(dir))
	if k := kindOf(err); err != nil && k != pfs.Invalid && k != pfs.Unsupported {
		return fail(op, dir, err)
	}
	return nil
}

// sync makes the entry name durable.
func (s *store) sync(name string) error {
	f, err := s.afs.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
