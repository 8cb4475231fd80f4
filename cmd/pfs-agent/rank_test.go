package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// pod is the directory of a rank, its specification and its uploader.
type pod struct {
	t         *testing.T
	root      string // has the tree /pfs
	dir, spec string
	fs        pfs.FileSystem
	up        *uploading
	ended     chan error
}

const podRank = pfs.Path("/pfs/dc/home/u/jobs/j/attempts/1/trainer-0")

// newPod prepares a rank that runs entry.
func newPod(t *testing.T, fsys pfs.FileSystem, entry string) *pod {
	t.Helper()
	t.Parallel()
	p := &pod{t: t, root: t.TempDir(), dir: t.TempDir(), fs: fsys, ended: make(chan error, 1)}
	p.spec = filepath.Join(p.root, "spec.json")
	spec := job.Spec{
		Name: "j", User: "u", Datacenter: "dc", Package: "/pfs/dc/home/u/package", Entry: entry, Passes: 1,
		Roles: []job.Role{{Name: job.Trainer, Replicas: 1}}, MaxAttempts: 1, Restart: job.RestartJob, UploadWait: 20 * time.Second,
	}
	text, err := json.Marshal(spec)
	if err == nil {
		err = os.WriteFile(p.spec, text, 0o644)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(p.root, "dc/home/u/package"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// upload starts the uploader.
func (p *pod) upload() {
	p.t.Helper()
	env := map[string]string{"PFS_ROLE": "trainer", "PFS_INDEX": "0", "PFS_ATTEMPT": "1"}
	a := app.New(&app.Main{Name: "pfs-agent", Args: []string{"pfs-agent"}, Stdout: p.t.Output(), Stderr: p.t.Output(), Getenv: func(k string) string { return env[k] }})
	p.up = &uploading{rankOptions: &rankOptions{a: a, spec: p.spec, dir: p.dir}, fs: p.fs, asked: make(chan struct{})}
	if err := p.up.read(); err != nil {
		p.t.Fatal(err)
	}
	go func() { p.ended <- p.up.run(p.t.Context()) }()
}

// finish asks the uploader to end, and returns its error.
func (p *pod) finish() error {
	close(p.up.asked)
	return <-p.ended
}

// launch starts the launcher.
func (p *pod) launch() *exec.Cmd {
	p.t.Helper()
	c := exec.Command("pfs-agent", "launch", "--spec", p.spec, "--dir", p.dir, "--root", p.root, "--job-root", p.t.TempDir())
	c.Env = append(os.Environ(), "PFS_ROLE=trainer", "PFS_INDEX=0", "PFS_ATTEMPT=1", "PFS_TRAINERS=localhost:1")
	c.Stdout, c.Stderr = p.t.Output(), p.t.Output()
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// want checks the marker of a run.
func (p *pod) want(restart int, marker string, files int64) *output.Report {
	p.t.Helper()
	r, err := output.Verify(p.t.Context(), p.fs, output.RestartDir(podRank, restart), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if r.Marker != marker || !r.Verified || r.Files != files {
		p.t.Errorf("restart %d: want %s with %d files: %+v", restart, marker, files, r)
	}
	return r
}

// TestLaunchAndUpload checks the exit code of the entry, its outputs and its logs.
func TestLaunchAndUpload(t *testing.T) {
	p := newPod(t, memfs.New(memfs.Options{}), `echo hello; echo $PFS_RESTART >$PFS_OUTPUT/a; exit 3`)
	p.upload()
	err := p.launch().Wait()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("launch: %v", err)
	}
	if err := p.finish(); err != nil {
		t.Error(err)
	}
	p.want(0, output.Failed, 1)
	log, err := p.fs.Stat(t.Context(), pfs.Path("/pfs/dc/home/u/jobs/j/logs/1/trainer-0/"+job.LogName(1)))
	if err != nil || log.Size == 0 {
		t.Errorf("the log: %+v, %v", log, err)
	}
}

// TestTerm checks that the entry gets the SIGTERM of the container, and that the outputs are committed.
func TestTerm(t *testing.T) {
	p := newPod(t, memfs.New(memfs.Options{}), `trap 'echo saved >$PFS_OUTPUT/last; exit 0' TERM; echo x >$PFS_OUTPUT/first; while :; do sleep 0.05; done`)
	p.upload()
	c := p.launch()
	for {
		if text, _ := os.ReadFile(filepath.Join(p.up.runDir(0).Output(), "first")); len(text) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.Process.Signal(syscall.SIGTERM)
	if c.Wait(); c.ProcessState.ExitCode() != 143 {
		t.Error("the entry was asked to end and ended with 0, and the launcher with ", c.ProcessState)
	}
	if err := p.finish(); err != nil {
		t.Error(err)
	}
	p.want(0, output.Failed, 2)
}

// TestKilledContainer checks that a launcher that is killed with everything in its container leaves
// incomplete outputs, and that the container's next run has a directory of its own.
func TestKilledContainer(t *testing.T) {
	p := newPod(t, memfs.New(memfs.Options{}), `echo $PFS_RESTART >$PFS_OUTPUT/a; if [ $PFS_RESTART = 0 ]; then kill -9 $PPID; fi`)
	p.upload()
	if err := p.launch().Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the first launcher: %v", err)
	}
	if err := p.launch().Wait(); err != nil {
		t.Error(err)
	}
	if err := p.finish(); err != cliio.Reported(cliio.Partly) {
		t.Errorf("the uploader: %v", err)
	}
	if r := p.want(0, output.Incomplete, 1); len(r.Reasons) == 0 || !strings.Contains(r.Reasons[0], "killed as a whole") {
		t.Errorf("%+v", r)
	}
	p.want(1, output.Success, 1)
	if len(p.up.runs) != 2 || p.up.runs[1].Restart != 1 {
		t.Errorf("%+v", p.up.runs)
	}
}

// TestReplacedPod checks that a pod that replaces one whose uploader is gone takes the next number.
func TestReplacedPod(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	claim := []byte(`{"uploader":"another","host":"node1","since":"2026-01-01T00:00:00Z"}`)
	err := pfs.MkdirAll(t.Context(), fsys, podRank, 0o755)
	if err == nil {
		err = pfs.WriteBatch(t.Context(), fsys, []pfs.BatchEntry{{Path: podRank.Join("_UPLOADING"), Data: claim}})[0]
	}
	if err != nil {
		t.Fatal(err)
	}
	p := newPod(t, fsys, `echo >$PFS_OUTPUT/a`)
	p.upload()
	if err := p.launch().Wait(); err != nil {
		t.Error(err)
	}
	if err := p.finish(); err != nil {
		t.Error(err)
	}
	p.want(1, output.Success, 1)
}

// TestNothingLaunched checks that an uploader without a launcher ends.
func TestNothingLaunched(t *testing.T) {
	p := newPod(t, memfs.New(memfs.Options{}), `true`)
	p.upload()
	if err := p.finish(); err != nil {
		t.Error(err)
	}
}

// TestTermAtStart: a SIGTERM that comes while the launcher or the uploader is starting is not lost.
func TestTermAtStart(t *testing.T) {
	for _, command := range []string{"launch", "upload"} {
		t.Run(command, func(t *testing.T) {
			p := newPod(t, memfs.New(memfs.Options{}), `sleep 1000`)
			spec, err := os.ReadFile(p.spec)
			token := filepath.Join(p.root, "token")
			if err == nil {
				err = os.WriteFile(token, []byte("x.eyJzdWIiOiJ1In0.x"), 0o600)
			}
			fifo := filepath.Join(p.root, "fifo")
			if err == nil {
				err = syscall.Mkfifo(fifo, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			c := exec.Command("pfs-agent", command, "--spec", fifo, "--dir", p.dir)
			if command == "upload" {
				c.Args = append(c.Args, "--service", "https://127.0.0.1:1")
			} else {
				c.Args = append(c.Args, "--root", p.root, "--job-root", t.TempDir(), "--grace", "1s")
			}
			c.Env = append(os.Environ(), "PFS_ROLE=trainer", "PFS_INDEX=0", "PFS_ATTEMPT=1", "PFS_TRAINERS=localhost:1", "PFS_TOKEN_FILE="+token)
			c.Stdout, c.Stderr = t.Output(), t.Output()
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			in, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for the program
			if err != nil {
				t.Fatal(err)
			}
			c.Process.Signal(syscall.SIGTERM)
			time.Sleep(200 * time.Millisecond)
			if command == "launch" { // it waits for an uploader, which is not there
				if err := job.RankDir(filepath.Join(p.dir, "run-0")).Make(); err != nil {
					t.Fatal(err)
				}
				if err := job.RankDir(filepath.Join(p.dir, "run-0")).WriteUploaded(&job.Uploaded{}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := in.Write(spec); err != nil {
				t.Fatal(err)
			}
			in.Close()
			late := time.AfterFunc(10*time.Second, func() { c.Process.Kill() })
			c.Wait()
			if !late.Stop() {
				t.Error("it goes on after a SIGTERM")
			}
			if want := map[string]int{"launch": 143, "upload": 0}[command]; c.ProcessState.ExitCode() != want {
				t.Errorf("it ended with %v, want %d", c.ProcessState, want)
			}
		})
	}
}
