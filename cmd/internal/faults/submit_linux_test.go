package faults

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestSubmitServiceKilled kills the service at six moments of a submit. When it is back, the job is there and runs with
// its whole package, or there is nothing of it.
func TestSubmitServiceKilled(t *testing.T) {
	testbed.Long(t)
	const files = 200
	text := strings.Repeat("weights ", 4000)
	uploaded := func(j *jobs, least int) bool {
		n := 0
		filepath.WalkDir(filepath.Join(j.home, "jobs/killed/package"), func(name string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
				n++
			}
			return nil
		})
		return n >= least
	}
	exists := func(pattern string) bool {
		found, _ := filepath.Glob(pattern)
		return len(found) > 0
	}
	for _, c := range []struct {
		moment string
		now    func(j *jobs) bool
	}{
		{"at the start", func(*jobs) bool { return true }},
		{"with the record", func(j *jobs) bool { return exists(filepath.Join(j.home, "jobs/killed/job.json")) }},
		{"with the first file", func(j *jobs) bool { return uploaded(j, 1) }},
		{"with half of the files", func(j *jobs) bool { return uploaded(j, files/2) }},
		{"with all files", func(j *jobs) bool { return uploaded(j, files) }},
		{"with the engine", func(j *jobs) bool { return exists(filepath.Join(j.work, "state/pfs/jobs/*/state.json")) }},
	} {
		t.Run(c.moment, func(t *testing.T) {
			j := &jobs{scene: newScene(t)}
			j.env = []string{"XDG_STATE_HOME=" + filepath.Join(j.work, "state"), "XDG_CACHE_HOME=" + filepath.Join(j.work, "cache"), "PFS_ROOT=" + j.work}
			pkg := filepath.Join(j.work, "package")
			must(t, os.Mkdir(pkg, 0o755))
			for i := range files {
				must(t, os.WriteFile(filepath.Join(pkg, fmt.Sprintf("f%03d", i)), []byte(fmt.Sprint(i, text)), 0o644))
			}
			submit := j.command("", "submit", "-jobname", "killed", "-entry", "cat f* | cksum >$PFS_OUTPUT/sum", pkg)
			submit.Env = append(submit.Env, j.env...)
			ended := make(chan struct{})
			var code int
			var out string
			go func() {
				defer close(ended)
				code, out = j.run(submit)
			}()
			early := false
			for !early && !c.now(j) {
				select {
				case <-ended:
					early = true
				case <-time.After(time.Millisecond):
				}
			}
			j.killServer()
			time.Sleep(time.Second)
			j.startServer()
			<-ended
			t.Logf("submit ended with %d", code)
			if code != 0 {
				j.do(3, "describe", "killed")
				if exists(filepath.Join(j.home, "jobs/killed")) {
					t.Errorf("something is left after:\n%s", out)
				}
				return
			}
			j.do(0, "wait", "killed")
			j.do(0, "get", "outputs", "killed")
			want := j.do(0, "ls", "/pfs/local/home/alice/jobs/killed/package")
			if n := len(strings.Fields(want)); n != files {
				t.Errorf("the package has %d files", n)
			}
		})
	}
}

// TestJobStoreFull: a store that stays full makes the outputs incomplete, with the reason and the only copy of the file; one that has
// room in time gets all.
func TestJobStoreFull(t *testing.T) {
	testbed.Long(t)
	needMount(t)
	store := onTmpfs(t, "size=40m,mode=700")
	j := &jobs{scene: newScene(t, "--datacenter", "local=file://"+store)}
	j.env = []string{"XDG_STATE_HOME=" + filepath.Join(j.work, "state"), "XDG_CACHE_HOME=" + filepath.Join(j.work, "cache"), "PFS_ROOT=" + j.work}
	pkg := filepath.Join(j.work, "package")
	must(t, os.Mkdir(pkg, 0o755))
	must(t, os.WriteFile(filepath.Join(pkg, "train.sh"), []byte("echo small >$PFS_OUTPUT/small; head -c 60000000 /dev/urandom >$PFS_OUTPUT/big\n"), 0o644))
	const full = "no space left: the store is full"
	submit := func(code int, name string, more ...string) string {
		return j.do(code, append(append([]string{"submit", "-jobname", name, "-entry", "sh train.sh"}, more...), pkg)...)
	}
	if out := submit(1, "full", "--wait"); !strings.Contains(out, "big: "+full) {
		t.Errorf("submit --wait printed %s", out)
	}
	if out := j.do(8, "get", "outputs", "full"); !strings.Contains(out, "_INCOMPLETE") || !strings.Contains(out, full) {
		t.Errorf("get outputs printed %s", out)
	}
	if out := j.do(0, "cat", "/pfs/local/home/alice/jobs/full/attempts/1/trainer-0/small"); out != "small\n" {
		t.Errorf("the file that fits is %q", out)
	}
	j.do(5, "delete", "full")
	if only, _ := filepath.Glob(filepath.Join(j.work, "state/pfs/jobs/*/attempts/1/trainer-0/0/output/big")); len(only) != 1 {
		t.Errorf("the file that does not fit is in %q", only)
	}

	submit(0, "room")
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		out := j.do(0, "get", "jobs", "room")
		if strings.Contains(out, "upload pending: ") && strings.Contains(out, full) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the reason is not told:\n%s", out)
		}
	}
	must(t, syscall.Mount("", store, "", syscall.MS_REMOUNT, "size=200m,mode=700"))
	j.do(0, "wait", "room")
	j.do(0, "get", "outputs", "room")
}
