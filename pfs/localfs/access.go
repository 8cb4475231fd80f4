package localfs

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
)

// CheckAccess tells of a file whether the system lets it be read, and of a change whether
// the directory may be changed that name is in. What is not there refuses nothing.
func (f *FS) CheckAccess(ctx context.Context, a pfs.Access, name pfs.Path) error {
	const op = "localfs.CheckAccess"
	err := f.at(ctx, op, name, func(d dir, base string) error {
		switch a {
		case pfs.Read:
			return d.access(base, false)
		case pfs.Make:
			if there, err := f.isThere(op, d, base, name); there || err != nil {
				return nil // Mkdir itself says what it finds
			}
			fallthrough
		case pfs.Write, pfs.Delete:
			return d.access(".", true)
		}
		return nil
	})
	if errors.Is(err, pfs.NotExist) {
		return nil
	}
	return err
}
