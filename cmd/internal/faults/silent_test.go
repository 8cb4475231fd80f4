package faults

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// silence is how long a NameNode is silent in the middle of copies: longer than the service waits
// for it.
const silence = 30 * time.Second

// TestNameNodeSilent pauses the NameNode in the middle of two copies.
func TestNameNodeSilent(t *testing.T) {
	testbed.Long(t)
	t.Parallel()
	p := onHDFS(t, testbed.HDFSAlone(t))
	p.through(func() {
		p.pause()
		time.Sleep(silence)
		p.resume()
	})
}

// away is how long a daemon is dead: longer than its cluster takes to notice.
const away = 8 * time.Second

// TestDaemonsKilledOnCephFS kills the OSD in the middle of two copies, and then the MDS.
func TestDaemonsKilledOnCephFS(t *testing.T) {
	testbed.Long(t)
	t.Parallel()
	needCeph(t)
	c := testbed.CephAlone(t)
	p := onCephFS(t, c)
	p.through(func() {
		for _, daemon := range []string{"osd", "mds"} {
			c.Kill(t, daemon)
			time.Sleep(away)
			c.Start(t, daemon)
		}
	})
}

// TestSilentStore checks what a user sees while a store does not answer.
func TestSilentStore(t *testing.T) {
	testbed.Long(t)
	t.Run("hdfs", func(t *testing.T) {
		t.Parallel()
		testSilent(t, onHDFS(t, testbed.HDFSAlone(t), "timeout: "+patience), "NameNode")
	})
	t.Run("ceph", func(t *testing.T) {
		t.Parallel()
		needCeph(t)
		testSilent(t, onCephFS(t, testbed.CephAlone(t), "timeout: "+patience), "CephFS")
	})
}

// inTime is longer than commands take, on an overloaded machine, for 5 retries, or 10 with growing
// pauses, of calls that time out.
const inTime = 4 * time.Minute

func testSilent(t *testing.T, p *place, store string) {
	data := p.put("f", 3<<20)
	p.put("gone", 10)
	p.want(0, "", "cp", "-q", "f", "/pfs/local/home/alice/f")
	p.stopServer() // a CephFS client answers from its cache even while the cluster is silent
	p.startServer()
	p.pause()
	var asked sync.WaitGroup
	for _, args := range [][]string{
		{"ls", p.home("")},
		{"ls", "-l", p.home("f")},
		{"ls", "-R", p.home(""), p.home("f"), p.home("gone")},
		{"tree", p.home("")},
		{"du", p.home("")},
		{"find", p.home("")},
		{"stat", p.home("f")},
		{"cat", p.home("f")},
		{"cp", "--retries", "1", "f", p.home("new")},
		{"cp", "--retries", "1", p.home("f"), "got"},
		{"rm", p.home("gone")},
	} {
		asked.Go(func() {
			began := time.Now()
			code, out := p.run(p.command("", args...))
			took := time.Since(began)
			p.Logf("paddlectl %q: exit %d after %v\n%.300q", args, code, took.Round(time.Millisecond), out)
			p.wantSaid(args, code, out, 6, "/pfs/"+p.dc+"/")
			if !strings.Contains(out, "unavailable: "+store) && !strings.Contains(out, "unavailable: the "+store) || took > inTime {
				p.Errorf("paddlectl %q does not say that %s is unavailable, or after %v only:\n%.300q", args, store, took, out)
			}
		})
	}
	for _, args := range [][]string{{"ls", "/pfs/local/home/alice"}, {"cat", "/pfs/local/home/alice/f"}} {
		p.want(0, "", args...)
	}
	p.want(0, p.dc, "ls", "/pfs")
	asked.Wait()
	p.resume()
	began := time.Now()
	p.want(0, "f\n", "ls", p.home(""))
	pfstest.WantFile(t, p.direct, p.stored("f"), data)
	p.want(0, "", "cp", "-q", "f", p.home("new"))
	pfstest.WantFile(t, p.direct, p.stored("new"), data)
	p.want(0, "", "rm", "-f", p.home("gone"))
	p.Logf("all is well %v after the store was", time.Since(began))
}
