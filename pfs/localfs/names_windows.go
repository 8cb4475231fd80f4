package localfs

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// unfitName returns why the system cannot hold a file of exactly this name; "" if it can. It
// refuses what Windows would take for a separator, a stream or a device, or would silently cut off.
func unfitName(name pfs.Path) string {
	for e := range name.Names() {
		if strings.ContainsAny(e, `\:*?"<>|`) || strings.TrimRight(e, " .") != e || !filepath.IsLocal(e) {
			return fmt.Sprintf("Windows cannot have a file named %q", e)
		}
	}
	return ""
}
