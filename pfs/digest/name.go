package digest

import (
	"encoding/hex"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// stagedPrefix begins the names of staged writes that lie beside their targets.
const stagedPrefix = pfs.TempPrefix + "up-"

// NameTag returns a hash of a file's name, of 16 characters however long that is. A store writes it into the names
// of temporaries that belong to the file.
func NameTag(name string) string {
	sum := Leaf([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// StagedName names the staged write id of the file base, beside it. It is tied to base, so that an ID belongs to
// one file.
func StagedName(base, id string) string { return stagedPrefix + NameTag(base) + "-" + id }

// IsStaged reports whether name is one that StagedName returns.
func IsStaged(name string) bool { return strings.HasPrefix(name, stagedPrefix) }
