package digest

import (
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

// TestStagedName checks the names of uploads on existing stores, which must not change.
func TestStagedName(t *testing.T) {
	id := strings.Repeat("z", 64) // the longest
	for base, want := range map[string]string{
		"f":                              ".pfs-up-b3b2b50bf19ad7d5-" + id,
		strings.Repeat("n", pfs.MaxName): ".pfs-up-e296203c04606adc-" + id,
	} {
		got := StagedName(base, id)
		if got != want || !pfs.ReservedName(got) || !pfs.IsTemp(got, 0o600) || len(got) > pfs.MaxName {
			t.Errorf("StagedName(%.10q) = %q, want %q", base, got, want)
		}
	}
}
