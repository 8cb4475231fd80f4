package faults

import (
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestRefused checks what a user sees when a store refuses something, and the content of the store
// then.
func TestRefused(t *testing.T) {
	t.Run("hdfs", func(t *testing.T) {
		t.Parallel()
		p := onHDFS(t, testbed.HDFS(t))
		p.refused()
		p.refusedByHDFS()
	})
	t.Run("ceph", func(t *testing.T) {
		t.Parallel()
		needCeph(t)
		p := onCephFS(t, testbed.Ceph(t))
		p.refused()
		p.want(0, "", "cp", "-q", "f", p.home("a:b")) // CephFS accepts this name, HDFS does not
	})
}

// refused tests the refusals of both stores.
func (p *place) refused() {
	data := p.put("f", 1<<20)
	p.quota()
	p.permissions()

	long := strings.Repeat("n", pfs.MaxName+1)
	for _, name := range []string{long, strings.Repeat(long[1:]+"/", pfs.MaxPath/pfs.MaxName) + "f"} {
		for _, args := range [][]string{
			{"cp", "-q", "f", p.home(name)}, {"mkdir", "-p", p.home(name)}, {"mv", p.home("f"), p.home(name)},
			{"ls", p.home(name)}, {"stat", p.home(name)}, {"cat", p.home(name)}, {"rm", p.home(name)},
		} {
			p.want(2, "invalid", args...)
		}
	}
	pfstest.WantNames(p.T, p.direct, storedHome, "f")
	pfstest.WantFile(p.T, p.direct, p.stored("f"), data)
}

// quota copies a file that reaches the quota in its middle, and again when there is space.
func (p *place) quota() {
	must(p.T, pfs.SetQuota(p.Context(), p.direct, storedHome, 12<<20, 0))
	data := p.local("large", 24<<20)
	const says = `of the limit of 12.0 MiB (12582912 bytes) for "alice" are left`
	p.want(1, says, "cp", "-q", "large", p.home("large"))
	p.want(0, "", "cp", "-q", "large", "/pfs/local/home/alice/large")
	p.want(1, says, "cp", "-q", "/pfs/local/home/alice/large", p.home("large"))
	p.want(0, "f\n", "ls", p.home(""))
	pfstest.WantAbsent(p.T, p.direct, p.stored("large"))
	must(p.T, pfs.SetQuota(p.Context(), p.direct, storedHome, 0, 0))
	p.want(0, "", "cp", "-q", "large", p.home("large"))
	pfstest.WantFile(p.T, p.direct, p.stored("large"), data)
	p.want(0, "", "rm", p.home("large"))
}

// permissions tries to access files that the store keeps for others.
func (p *place) permissions() {
	kept := "/pfs/" + p.dc + "/mnt/kept/"
	secret := []byte("not for alice")
	pfstest.WriteFile(p.T, p.direct, "/kept/secret", secret)
	must(p.T, pfs.SetAttr(p.Context(), p.direct, "/kept/secret", pfs.AttrMode, pfs.Attrs{Mode: 0o600}))
	must(p.T, p.direct.Mkdir(p.Context(), "/kept/private", 0o700))
	pfstest.WriteFile(p.T, p.direct, "/kept/private/f", secret)
	for _, args := range [][]string{
		{"cp", "-q", "f", kept + "new"}, {"cp", "-q", "f", kept + "secret"}, {"cp", "-q", kept + "secret", "got"}, {"cat", kept + "secret"},
		{"ls", kept + "private"}, {"cat", kept + "private/f"}, {"cp", "-q", "-r", kept + "private", "got"},
		{"mkdir", kept + "new"}, {"rm", kept + "secret"}, {"rm", "-r", kept + "private"}, {"mv", kept + "secret", kept + "mine"},
	} {
		p.want(4, "permission denied", args...)
	}
	p.want(0, "private\nsecret\n", "ls", kept)
	pfstest.WantFile(p.T, p.direct, "/kept/secret", secret)
	pfstest.WantFile(p.T, p.direct, "/kept/private/f", secret)
}

// refusedByHDFS tests names that only HDFS refuses.
func (p *place) refusedByHDFS() {
	for name, says := range map[string]string{"a:b": ":", strings.Repeat("d/", 1000) + "f": "level"} {
		for _, args := range [][]string{
			{"cp", "-q", "f", p.home(name)}, {"mkdir", "-p", p.home(name)}, {"mv", p.home("f"), p.home(name)},
			{"ls", p.home(name)}, {"stat", p.home(name)}, {"cat", p.home(name)}, {"rm", p.home(name)},
		} {
			p.want(2, says, args...)
		}
	}
	pfstest.WantNames(p.T, p.direct, storedHome, "f")
}

// TestSafeMode makes changes to an HDFS in safe mode, and again after it.
func TestSafeMode(t *testing.T) {
	testbed.Long(t)
	t.Parallel()
	c := testbed.HDFSAlone(t)
	p := onHDFS(t, c)
	p.put("f", 1<<20)
	data := p.local("g", 3<<20)
	leave := c.SafeMode(t)
	for _, args := range [][]string{
		{"cp", "-q", "--retries", "1", "g", p.home("g")}, {"mkdir", p.home("d")}, {"rm", p.home("f")},
	} {
		p.want(6, "safe mode", args...)
	}
	p.want(0, "f\n", "ls", p.home(""))
	p.want(0, "", "cp", "-q", p.home("f"), "got")
	leave()
	p.want(0, "", "cp", "-q", "g", p.home("g"))
	pfstest.WantFile(t, p.direct, p.stored("g"), data)
	pfstest.WantNames(t, p.direct, storedHome, "f", "g")
}
