package localfs

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
)

// CheckAccess asks the system whether a file may be read, or for a change whether the
// directory of name may be changed. What is not there refuses nothing.
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
