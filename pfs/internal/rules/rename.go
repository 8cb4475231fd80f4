package rules

import (
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
)

// Rename is one rename.
type Rename struct {
	Op        string
	From, To  pfs.Path
	Exclusive bool // it replaces nothing
}

// Begin handles a rename of a name to itself, of the root, or of a directory into itself. moved is
// the mode of the entry From.
func (r Rename) Begin(moved fs.FileMode) (done bool, err error) {
	switch {
	case r.From == r.To && !r.Exclusive:
		return true, nil
	case r.From == r.To || r.To == pfs.Root:
		return true, pfs.E(r.Op, r.To, pfs.Exist, nil)
	case r.From == pfs.Root, moved.IsDir() && r.To.Within(r.From):
		return true, pfs.Errorf(r.Op, r.From, pfs.Invalid, "it cannot be moved into itself, to %s", r.To)
	}
	return false, nil
}

// Replace returns an error if the moved entry cannot replace the entry To.
func (r Rename) Replace(moved, there fs.FileMode) error {
	switch {
	case r.Exclusive, there.IsDir():
		return pfs.E(r.Op, r.To, pfs.Exist, nil)
	case moved.IsDir():
		return pfs.E(r.Op, r.To, pfs.NotDir, nil)
	}
	return nil
}
