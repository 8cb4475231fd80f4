//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// Remove removes the file, link or empty directory name. Temporaries in a directory are removed
// with it.
func (f FS) Remove(ctx context.Context, name pfs.Path) error {
	return f.removing(ctx, "cephfs.Remove", name, func(d emptied, e entry) error {
		if e.IsDir() {
			return posix.NewRemover(d).Directory(e)
		}
		return d.Unlink(e)
	})
}

// RemoveTree removes name and everything below it. It does not follow links.
func (f FS) RemoveTree(ctx context.Context, name pfs.Path) error {
	return f.removing(ctx, "cephfs.RemoveTree", name, func(d emptied, e entry) error {
		return posix.NewRemover(d).Tree(e)
	})
}

// removing begins a removal of name and calls do with it and its directory.
func (f FS) removing(ctx context.Context, op string, name pfs.Path, do func(d emptied, e entry) error) error {
	return f.change(ctx, op, name, func(d *dir, base string) error {
		if name == pfs.Root {
			return pfs.Errorf(op, name, pfs.Invalid, "the top directory cannot be removed")
		}
		st, err := d.stat(base)
		if err != nil {
			return err
		}
		return d.durably(func() error { return do(emptied{d, d}, entry{name: base, st: st}) })
	})
}

// emptied is an open directory whose entries are removed.
type emptied struct {
	*dir
	top *dir // of the removal
}

func (e entry) IsDir() bool  { return e.st.mode.IsDir() }
func (e entry) Hidden() bool { return pfs.IsTemp(e.name, e.st.mode) }

func (d emptied) Entries(token string, limit int) ([]entry, string, error) {
	return d.entries(token, limit)
}

func (d emptied) Enter(e entry) (posix.Dir[entry], error) {
	sub, err := d.element(e.name)
	return emptied{sub, d.top}, err
}

func (d emptied) Unlink(e entry) error { return d.unlink(e.name) }

func (d emptied) Rmdir(e entry) error {
	err := d.rmdir(e.name)
	if errors.Is(err, syscall.ENOTEMPTY) {
		return stuckError(e.name)
	}
	return err
}

// stuckError is ENOTEMPTY of the directory of that name.
type stuckError string

func (e stuckError) Error() string {
	return fmt.Sprintf("nothing more can be removed in its directory %q: it has snapshots, or new entries keep appearing", string(e))
}

func (stuckError) Unwrap() error { return syscall.ENOTEMPTY }

func (d emptied) Lift(e entry) (entry, error) {
	hidden := pfs.RemovedName()
	if err := d.rename(e.name, d.top, hidden, false); err != nil {
		return entry{}, err
	}
	st, err := d.top.stat(hidden)
	return entry{name: hidden, st: st}, err
}
