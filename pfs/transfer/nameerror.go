package transfer

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/paddlecloud/pfs/pfs"
)

// NameError is the cause of the error for an entry whose name cannot be in a Path.
type NameError struct {
	Dir    pfs.Path // where the entry is
	Quoted string   // its name, as pfs.Page.Unnamed has it
}

func (e *NameError) Error() string {
	why := "has a name that is reserved here"
	if name, err := strconv.Unquote(e.Quoted); err == nil && !utf8.ValidString(name) {
		why = "has a name that is not UTF-8"
	}
	return fmt.Sprintf("entry %s %s: rename it", e.Quoted, why)
}

func newNameError(op string, dir pfs.Path, quoted string) error {
	return pfs.E(op, dir, pfs.Invalid, &NameError{Dir: dir, Quoted: quoted})
}
