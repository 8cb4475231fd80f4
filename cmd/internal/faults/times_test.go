package faults

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestTimesKept copies files to an HDFS and back in all ways of copying. Times are kept to the
// millisecond, and no command takes the lost digits for a difference.
func TestTimesKept(t *testing.T) {
	t.Parallel()
	p := onHDFS(t, testbed.HDFS(t))
	must(t, os.MkdirAll(filepath.Join(p.work, "tree", "dir"), 0o755))
	times := map[string]time.Time{}
	for name, size := range map[string]int{"small": 10, "dir/small": 1000, "large": 3 << 20} {
		p.local(filepath.Join("tree", name), size)
		times[name] = time.Unix(1_600_000_000, 123_456_789)
	}
	times["dir"] = time.Unix(1_500_000_000, 999_999_999)
	for _, name := range []string{"small", "dir/small", "large", "dir"} {
		must(t, os.Chtimes(filepath.Join(p.work, "tree", name), time.Time{}, times[name]))
	}
	tree := p.home("tree")
	p.want(0, "", "cp", "-q", "-r", "tree/", tree)
	p.want(0, "", "cp", "-q", "-r", tree+"/", "back")
	for name, at := range times {
		info, err := os.Stat(filepath.Join(p.work, "back", name))
		must(t, err)
		if want := at.Truncate(time.Millisecond); !info.ModTime().Equal(want) {
			t.Errorf("%s came back with %v, want %v", name, info.ModTime(), want)
		}
	}
	// A sync that took the lost digits for a difference would set the times of files that it skips.
	p.want(0, "", "sync", "-q", tree+"/", "tree")
	for name, at := range times {
		info, err := os.Stat(filepath.Join(p.work, "tree", name))
		must(t, err)
		if !info.ModTime().Equal(at) {
			t.Errorf("sync gave %s the time %v, it had %v", name, info.ModTime(), at)
		}
	}
	p.want(0, "", "verify", "tree", tree)
}
