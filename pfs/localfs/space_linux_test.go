package localfs

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// TestSpaceIsThatOfDf: space that the disk reserves for root is neither used nor free.
func TestSpaceIsThatOfDf(t *testing.T) {
	dir := t.TempDir()
	space, err := openAt(t, dir, Options{}).Space(t.Context(), "/")
	must(t, err)
	out, err := exec.Command("df", "-B1", "--output=size,used,avail", dir).Output()
	if err != nil {
		t.Skipf("no df that tells: %v", err)
	}
	var total, used, free int64
	_, row, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if _, err := fmt.Sscan(row, &total, &used, &free); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	const others = 1 << 30 // written by other programs meanwhile
	if space.Total != total || abs(space.Used-used) > others || abs(space.Free-free) > others {
		t.Errorf("Space = %+v, df says\n%s", space, out)
	}
}

func abs(n int64) int64 { return max(n, -n) }
