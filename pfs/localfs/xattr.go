package localfs

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// attributes are extended attributes of open files.
type attributes interface {
	get(f *os.File, name string, p []byte) (n int, err error) // with no p, the length
	set(f *os.File, name string, p []byte, flags pfs.XattrFlags) error
	list(f *os.File) (names []string, err error)
	remove(f *os.File, name string) error
}

// Xattr returns the value of the attribute attr.
func (f *FS) Xattr(ctx context.Context, name pfs.Path, attr string) (value []byte, err error) {
	const op = "localfs.Xattr"
	if err := pfs.CheckXattr(op, name, attr); err != nil {
		return nil, err
	}
	err = f.attributed(ctx, op, name, func(file *os.File) error {
		value = make([]byte, 64<<10) // the most that systems keep
		n, err := f.attrs.get(file, attr, value)
		value = slices.Clone(value[:max(0, n)])
		return err
	})
	return value, err
}

// SetXattr sets the attribute attr.
func (f *FS) SetXattr(ctx context.Context, name pfs.Path, attr string, value []byte, flags pfs.XattrFlags) error {
	const op = "localfs.SetXattr"
	if err := pfs.CheckXattr(op, name, attr); err != nil {
		return err
	}
	return f.attributed(ctx, op, name, func(file *os.File) error {
		if err := f.attrs.set(file, attr, value, flags); err != nil {
			return err
		}
		return f.sync(file)
	})
}

// ListXattr returns the names of the attributes that users may use.
func (f *FS) ListXattr(ctx context.Context, name pfs.Path) (names []string, err error) {
	err = f.attributed(ctx, "localfs.ListXattr", name, func(file *os.File) error {
		names, err = f.attrs.list(file)
		return err
	})
	return rules.UserXattrs(names), err
}

// RemoveXattr removes the attribute attr.
func (f *FS) RemoveXattr(ctx context.Context, name pfs.Path, attr string) error {
	const op = "localfs.RemoveXattr"
	if err := pfs.CheckXattr(op, name, attr); err != nil {
		return err
	}
	return f.attributed(ctx, op, name, func(file *os.File) error {
		if err := f.attrs.remove(file, attr); err != nil {
			return err
		}
		return f.sync(file)
	})
}

// attributed calls do with the file or directory name open.
func (f *FS) attributed(ctx context.Context, op string, name pfs.Path, do func(file *os.File) error) error {
	return f.at(ctx, op, name, func(d dir, base string) error {
		st, err := f.lookAtNoLink(d, base, op, name)
		if missing(err) && !f.keepsAttributes(d) {
			return errors.ErrUnsupported
		}
		if err != nil {
			return err
		}
		if !st.mode.IsRegular() && !st.mode.IsDir() {
			return pfs.Errorf(op, name, pfs.Unsupported, "a %s has no extended attributes", rules.TypeName(st.mode))
		}
		file, err := d.openFile(base, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer file.Close()
		return do(file)
	})
}
