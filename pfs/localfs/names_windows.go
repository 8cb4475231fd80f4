package localfs

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// unfitName says why the system cannot hold name under this very name; "" if it
// can. What Windows would take for a separator, a stream or a device, or would
// silently cut off, must not reach it.
func unfitName(name pfs.Path) string {
	for e := range name.Names() {
		if strings.ContainsAny(e, `\:*?"<>|`) || strings.TrimRight(e, " .") != e || !filepath.IsLocal(e) {
			return fmt.Sprintf("Windows cannot have a file named %q", e)
		}
	}
	return ""
}
