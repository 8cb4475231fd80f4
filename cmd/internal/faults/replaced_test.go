package faults

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestReplacedWhileRead replaces a file, and removes one, directly on the store in the middle of a
// copy. The copy is the whole old file, the whole new one, or missing.
func TestReplacedWhileRead(t *testing.T) {
	t.Run("hdfs", func(t *testing.T) {
		t.Parallel()
		testReplaced(t, onHDFS(t, testbed.HDFS(t)))
	})
	t.Run("ceph", func(t *testing.T) {
		t.Parallel()
		needCeph(t)
		testReplaced(t, onCephFS(t, testbed.Ceph(t)))
	})
}

func testReplaced(t *testing.T, p *place) {
	const size = 24 << 20
	fresh := pfstest.Pattern(9, size)
	for _, tt := range []struct {
		name   string
		strike func(name pfs.Path) error
		again  int // the exit code of the same command
	}{
		{"replaced", func(name pfs.Path) error {
			pfstest.WriteFile(t, p.direct, name, fresh)
			return nil
		}, 0},
		{"removed", func(name pfs.Path) error { return p.direct.Remove(t.Context(), name) }, 3},
	} {
		t.Logf("%s in the middle of a copy", tt.name)
		data := p.put(tt.name, size)
		before := p.line.passed()
		cp := p.begin("cp", "-q", "--bwlimit", "8M", p.home(tt.name), "got-"+tt.name)
		for p.line.passed()-before < size/3 && len(cp.ended) == 0 {
			time.Sleep(poll)
		}
		must(t, tt.strike(p.stored(tt.name)))
		code := <-cp.ended
		t.Logf("%s: exit %d\n%s", tt.name, code, &cp.out)
		switch code {
		case 0:
			got, err := os.ReadFile(filepath.Join(p.work, "got-"+tt.name))
			if err != nil || !bytes.Equal(got, data) && !bytes.Equal(got, fresh) {
				t.Errorf("%s: the copy of %d bytes is neither the old file nor the new one, %v", tt.name, len(got), err)
			}
		case 5:
			p.wantNoLocal("got-" + tt.name)
		case 3:
			if tt.name != "removed" {
				t.Errorf("a file that was replaced is not found:\n%s", &cp.out)
			}
			p.wantNoLocal("got-" + tt.name)
		default:
			t.Errorf("%s: exit %d, want 0 or 5", tt.name, code)
		}
		must(t, os.RemoveAll(filepath.Join(p.work, "got-"+tt.name)))
		p.want(tt.again, "", "cp", "-q", p.home(tt.name), "got-"+tt.name)
		if tt.again == 0 {
			p.wantLocal("got-"+tt.name, fresh)
		}
	}
}
