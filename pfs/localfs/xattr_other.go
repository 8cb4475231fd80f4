//go:build !linux && !darwin

package localfs

import (
	"errors"
	"os"

	"github.com/paddlecloud/pfs/pfs"
)

// fileAttributes are the extended attributes of a system that has none.
type fileAttributes struct{}

var _ attributes = fileAttributes{}

func (fileAttributes) get(*os.File, string, []byte) (int, error) { return 0, errors.ErrUnsupported }
func (fileAttributes) set(*os.File, string, []byte, pfs.XattrFlags) error {
	return errors.ErrUnsupported
}
func (fileAttributes) list(*os.File) ([]string, error) { return nil, errors.ErrUnsupported }
func (fileAttributes) remove(*os.File, string) error   { return errors.ErrUnsupported }
