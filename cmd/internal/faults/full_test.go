package faults

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestPoolFull fills the pool of a CephFS in the middle of a file, and of small ones. The commands
// report that at once and leave nothing half-written visible. They succeed when there is space
// again, with the same service.
func TestPoolFull(t *testing.T) {
	t.Parallel()
	needCeph(t)
	c := testbed.CephAlone(t)
	p := onCephFS(t, c)
	limit := func(bytes int) {
		c.Command(t, "osd", "pool", "set-quota", "cephfs_data", "max_bytes", strconv.Itoa(bytes))
	}
	t.Cleanup(func() { limit(0) })
	large := p.local("large", 160<<20)
	must(t, os.Mkdir(filepath.Join(p.work, "tree"), 0o755))
	small := map[string][]byte{}
	for _, name := range []string{"a", "b", "c"} {
		small[name] = p.local(filepath.Join("tree", name), 10_000)
	}

	limit(1 << 20) // the cluster notices the excess within seconds; on a busy machine that takes many
	p.want(1, "no space left", "cp", "-q", "--bwlimit", "2M", "large", p.home("large"))
	pfstest.WantAbsent(t, p.direct, p.stored("large"))
	p.want(1, "no space left", "cp", "-q", "-r", "tree/", p.home("tree"))
	pfstest.WantNames(t, p.direct, p.stored("tree"))
	p.want(0, "", "ls", p.home(""))

	limit(0)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(poll) {
		code, out := p.run(p.command("", "cp", "-q", "large", p.home("large")))
		if code == 0 {
			break
		}
		if p.wantSaid([]string{"cp", "large"}, code, out, 1, "no space left"); time.Now().After(deadline) {
			t.Fatal("there is no space again after a minute")
		}
	}
	p.want(0, "", "cp", "-q", "-r", "tree/", p.home("tree"))
	pfstest.WantFile(t, p.direct, p.stored("large"), large)
	for name, data := range small {
		pfstest.WantFile(t, p.direct, p.stored("tree").Join(name), data)
	}
}
