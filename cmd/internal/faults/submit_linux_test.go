package faults

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
