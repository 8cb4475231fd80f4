package localfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// Mkdir makes a directory.
func (s *FS) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	const op = "localfs.Mkdir"
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	if name == pfs.Root {
		return nil
	}
	d, base, err := s.parent(op, name)
	if err != nil {
		return err
	}
	defer d.Close()
	made, err := s.mkdir(ctx, op, d, name, base, mode)
	if err == nil && made {
		err = d.sync()
	}
	return fail(op, name, err)
}

// mkdir makes a directory in d and reports whether it was not there.
func (s *FS) mkdir(ctx context.Context, op string, d *dir, name pfs.Path, base string, mode fs.FileMode) (bool, error) {
	if st, err := d.stat(base); err == nil {
		if !st.info.IsDir() {
			return false, pfs.E(op, name, pfs.Exist, nil)
		}
		return false, nil
	}
	if err := s.quotas.charge(ctx, op, name, 0, 1); err != nil {
		return false, err
	}
	err := d.mkdir(base, mode)
	if err == nil {
		return true, nil
	}
	s.quotas.refund(name, 0, 1)
	if st, serr := d.stat(base); serr == nil && st.info.IsDir() {
		return false, nil // another made it
	}
	return false, err
}

// Remove removes a file, link or empty directory.
func (s *FS) Remove(ctx context.Context, name pfs.Path) error {
	const op = "localfs.Remove"
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	d, base, err := s.parent(op, name)
	if err != nil {
		return err
	}
	defer d.Close()
	st, err := d.stat(base)
	if err != nil {
		return fail(op, name, err)
	}
	if st.info.IsDir() {
		err = d.rmdir(base)
		if kindOf(err) == pfs.NotEmpty || errors.Is(err, os.ErrExist) {
			err = s.rmdirWithTemporaries(d, base, err)
		}
	} else {
		err = d.unlink(base)
	}
	if err != nil {
		return fail(op, name, err)
	}
	s.quotas.refund(name, st.info.Size, 1)
	return fail(op, name, d.sync())
}

// rmdirWithTemporaries removes a directory that holds nothing but temporaries.
func (s *FS) rmdirWithTemporaries(d *dir, base string, notEmpty error) error {
	sub, err := d.sub(base)
	if err != nil {
		return err
	}
	defer sub.Close()
	var temporaries []string
	only := true
	_, err = sub.names("", func(name string) bool {
		only = strings.HasPrefix(name, pfs.TempPrefix)
		temporaries = append(temporaries, name)
		return only
	})
	if err != nil {
		return err
	}
	if !only {
		return notEmpty
	}
	for _, name := range temporaries {
		if err := sub.unlink(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return d.rmdir(base)
}

// RemoveTree removes name and all below it.
func (s *FS) RemoveTree(ctx context.Context, name pfs.Path) error {
	const op = "localfs.RemoveTree"
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	d, base, err := s.parent(op, name)
	if err != nil {
		return err
	}
	defer d.Close()
	st, err := d.stat(base)
	if err != nil {
		return fail(op, name, err)
	}
	s.quotas.recount(name)
	if !st.info.IsDir() {
		err = d.unlink(base)
	} else if err = d.below(ctx, base, removeEntry); err == nil {
		err = d.rmdir(base)
	}
	if err != nil {
		return fail(op, name, err)
	}
	return fail(op, name, d.sync())
}

func removeEntry(d *dir, name string, st statted) error {
	var err error
	if st.info.IsDir() {
		err = d.rmdir(name)
	} else {
		err = d.unlink(name)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// below calls visit for everything below the directory name of d, temporaries
// included, a directory after its entries. It does not follow links.
func (d *dir) below(ctx context.Context, name string, visit func(d *dir, name string, st statted) error) error {
	sub, err := d.sub(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return sub.each(ctx, visit)
}

func (d *dir) each(ctx context.Context, visit func(d *dir, name string, st statted) error) error {
	var failed error
	_, err := d.names("", func(name string) bool {
		if failed = pfs.CheckContext(ctx, "localfs.each", ""); failed != nil {
			return false
		}
		st, err := d.stat(name)
		if errors.Is(err, os.ErrNotExist) {
			return true
		}
		if err == nil && st.info.IsDir() {
			err = d.below(ctx, name, visit)
		}
		if err == nil {
			err = visit(d, name, st)
		}
		failed = err
		return err == nil
	})
	if failed != nil {
		return failed
	}
	return err
}
