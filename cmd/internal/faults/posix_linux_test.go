package faults

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
)

var fsx = flag.Int("fsx", 1_000_000, "operations of fsx on each mount")

// view is something that can be mounted.
type view struct {
	name  string
	long  bool   // not with -short
	posix string // why pjdfstest cannot use it, if it cannot
	links string // not empty if there are links
	// not empty if files that are not written from start to end are staged
	staged    string
	allocates bool // there is posix_fallocate
	until2106 bool // no later time can be kept
	mount     func(t *testing.T) *mounted
}

// views are the mounts that programs of others are tried on.
var views = []view{
	{"file", false, "", "yes", "", true, false, func(t *testing.T) *mounted {
		return newMount(t, nil, "--store", "file://"+onTmpfs(t, "size=4g,mode=755"))
	}},
	{"home", false, "it has one owner", "", "", true, false, func(t *testing.T) *mounted {
		return newScene(t).mount("--root", "/pfs/local/home/alice")
	}},
	{"CephFS", true, "", "yes", "", false, true, func(t *testing.T) *mounted {
		needCeph(t)
		c := testbed.Ceph(t)
		spec, _ := cephDir(t, c)
		return newMount(t, nil, "--store", fmt.Sprintf("%s?user=%s&keyring=%s", spec.URL, c.User, c.Keyring))
	}},
	{"HDFS", true, "its files have one owner, and no links", "", "yes", false, false, func(t *testing.T) *mounted {
		c := testbed.HDFS(t)
		return newMount(t, nil, "--store", fmt.Sprintf("hdfs://%s?conf-dir=%s&user=%s&block-size=1048576", c.Scratch(t), c.ConfDir, c.Superuser))
	}},
}

// eachView runs a test on each view, at the same time.
func eachView(t *testing.T, test func(t *testing.T, v view)) {
	t.Helper()
	t.Parallel()
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			if v.long {
				testbed.Long(t)
			}
			test(t, v)
		})
	}
}

// TestPjdfstest runs pjdfstest, which checks system calls for what POSIX says of them.
func TestPjdfstest(t *testing.T) {
	needMount(t)
	p := testbed.Posix(t)
	counts := regexp.MustCompile(`Summary: (\d+) failed, (\d+) skipped, (\d+) passed`)
	failed := regexp.MustCompile(`(?m)^(\S+) +FAILED`)
	eachView(t, func(t *testing.T, v view) {
		if v.posix != "" {
			t.Skip(v.posix)
		}
		config, err := os.ReadFile(filepath.Join(p.Config, "pjdfstest.toml"))
		must(t, err)
		if v.allocates {
			config = bytes.Replace(config, []byte("[features]\n"), []byte("[features]\nposix_fallocate = {}\n"), 1)
		}
		if v.until2106 {
			config = bytes.Replace(config, []byte("[settings]\n"), []byte("[settings]\nexpected_failures = [\"utimensat::y2038\"]\n"), 1)
		}
		settings := filepath.Join(t.TempDir(), "pjdfstest.toml")
		must(t, os.WriteFile(settings, config, 0o644))
		m := v.mount(t)
		out, err := m.run(nil, filepath.Join(p.Bin, "pjdfstest"), "-c", settings, "-p", m.dir)
		got := counts.FindStringSubmatch(out)
		if got == nil {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Log(got[0])
		var fails []string
		for _, f := range failed.FindAllStringSubmatch(out, -1) {
			fails = append(fails, f[1])
		}
		if len(fails) > 0 || got[1] != "0" || got[3] == "0" {
			t.Errorf("%s; these fail: %q\n%s", got[0], fails, out)
		}
	})
}

// TestFsx does random reads, writes, truncations and mappings of one file with fsx, which knows what it
// must read.
func TestFsx(t *testing.T) {
	needMount(t)
	p := testbed.Posix(t)
	if testing.Short() {
		*fsx = 2000
	}
	each := min(10_000, *fsx/4) // of a process, which never unmaps what it has mapped for reading
	eachView(t, func(t *testing.T, v view) {
		m, work := v.mount(t), t.TempDir()
		start := time.Now()
		var done atomic.Int64
		var together sync.WaitGroup
		for file := range 4 { // they mostly wait for the store
			together.Go(func() {
				for !t.Failed() && done.Load() < int64(*fsx) {
					random := fmt.Sprint(rand.Uint32())
					args := []string{"-q", "-f", filepath.Join(p.Config, "fsx.toml"), "-N", fmt.Sprint(each), "-S", random, "-P", work, filepath.Join(m.dir, fmt.Sprint("fsx", file))}
					if out, err := m.run([]string{"RUST_LOG=info"}, filepath.Join(p.Bin, "fsx"), args...); err != nil {
						t.Errorf("fsx -S %s, after %d operations: %v\n%s", random, done.Load(), err, out)
					}
					t.Logf("%d operations after %v", done.Add(int64(each)), time.Since(start).Round(time.Second))
				}
			})
		}
		together.Wait()
		if left, _ := os.ReadDir(work); len(left) > 0 {
			t.Errorf("fsx left %v", left)
		}
	})
}

// TestPrograms runs programs of others, each in a directory of its own: those in testdata/programs.
func TestPrograms(t *testing.T) {
	needMount(t)
	p := testbed.Posix(t)
	scripts, err := filepath.Glob("testdata/programs/*")
	must(t, err)
	eachView(t, func(t *testing.T, v view) {
		m := v.mount(t)
		for _, script := range scripts {
			t.Run(filepath.Base(script), func(t *testing.T) {
				script, err := filepath.Abs(script)
				must(t, err)
				long, cluster := "yes", ""
				if testing.Short() {
					long = ""
				}
				if v.long {
					cluster = "yes"
				}
				with := []string{"bash", "-euo", "pipefail"}
				if strings.HasSuffix(script, ".py") {
					with = []string{p.Python}
				}
				c := exec.CommandContext(t.Context(), with[0], append(with[1:], script)...)
				c.Dir = filepath.Join(m.dir, filepath.Base(script))
				must(t, os.Mkdir(c.Dir, 0o755))
				c.Env = append(os.Environ(), "LONG="+long, "CLUSTER="+cluster, "LINKS="+v.links, "STAGED="+v.staged, "SCRATCH="+t.TempDir(), "PYTHON="+p.Python)
				out, err := c.CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%.5000s", err, out)
				}
				t.Logf("%.100s", out)
				if err := os.RemoveAll(c.Dir); err != nil {
					t.Error(err)
				}
			})
		}
	})
}
