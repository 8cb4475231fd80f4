package localfs

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
)

// CheckAccess checks whether the system allows to read the file name, or, for a change, to change
// its directory. A missing file or directory is allowed.
func (f *FS) CheckAccess(ctx context.Context, a pfs.Access, name pfs.Path) error {
	const op = "localfs.CheckAccess"
	err := f.at(ctx, op, name, func(d dir, base string) error {
		switch a {
		case pfs.Read:
			return d.access(base, false)
		case pfs.Make:
			if there, err := f.isThere(op, d, base, name); there || err != nil {
				return nil // Mkdir itself returns the error
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
