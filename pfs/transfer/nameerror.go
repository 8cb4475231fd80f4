package transfer

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/paddlecloud/pfs/pfs"
)

// NameError is the cause of the error for an entry of a source whose name is none in
// PFS.
type NameError struct {
	Dir    pfs.Path // where the entry is
	Quoted string   // its name, as pfs.Page.Unnamed has it
}

func (e *NameError) Error() string {
	why := "has a name that is reserved here"
	if !e.IsUTF8() {
		why = "has a name that is not UTF-8"
	}
	return fmt.Sprintf("entry %s %s: rename it", e.Quoted, why)
}

// IsUTF8 reports whether the name is valid UTF-8, and is refused for another reason.
func (e *NameError) IsUTF8() bool {
	name, err := strconv.Unquote(e.Quoted)
	return err != nil || utf8.ValidString(name)
}
