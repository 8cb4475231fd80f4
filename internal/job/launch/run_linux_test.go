package launch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
)

// TestMain makes the test binary a launcher: Run needs a process of its own.
func TestMain(m *testing.M) {
	if text := os.Getenv("LAUNCH_OPTIONS"); text != "" {
		var opts Options
		if err := json.Unmarshal([]byte(text), &opts); err != nil {
			panic(err)
		}
		opts.Stdout, opts.Stderr, opts.Env = os.Stdout, os.Stderr, os.Environ()
		exit, err := Run(opts)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		if exit == nil {
			os.Exit(99)
		}
		os.Exit(exit.Code)
	}
	os.Exit(m.Run())
}

// launcher is a launcher that a test has started.
type launcher struct {
	*exec.Cmd
	dir    job.RankDir
	pkg    string
	stdout bytes.Buffer
}

func begin(t *testing.T, entry string, change func(*Options)) *launcher {
	t.Helper()
	dir := job.RankDir(t.TempDir())
	if err := dir.Make(); err != nil {
		t.Fatal(err)
	}
	r := &Rank{Spec: spec(entry), Role: job.Trainer, Index: 1, Attempt: 1, Trainers: []string{"127.0.0.1:1", "127.0.0.1:2"},
		Package: t.TempDir(), JobRoot: dir.Root(), Dir: dir}
	opts := Options{Rank: r}
	if change != nil {
		change(&opts)
	}
	text, err := json.Marshal(opts)
	if err != nil {
		t.Fatal(err)
	}
	l := &launcher{Cmd: exec.Command("/proc/self/exe"), dir: dir, pkg: r.Package}
	l.Env = append(os.Environ(), "LAUNCH_OPTIONS="+string(text))
	l.Cmd.Stdout, l.Cmd.Stderr = &l.stdout, &l.stdout
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Process.Kill(); l.Wait() })
	return l
}

func spec(entry string) *job.Spec {
	return &job.Spec{Name: "demo", User: "alice", Datacenter: "dc", Entry: entry, Passes: 3,
		Roles: []job.Role{{Name: job.Trainer, Replicas: 2, CPU: 2000}}}
}

// end waits for the end and returns the exit record.
func (l *launcher) end(t *testing.T) *job.Exit {
	t.Helper()
	l.Wait()
	exit, err := l.dir.ReadExit()
	if err != nil || exit == nil {
		t.Fatalf("exit record: %v, %v; %s", exit, err, l.stdout.Bytes())
	}
	if got := l.ProcessState.ExitCode(); got != exit.Code {
		t.Errorf("the launcher ended with %d, the record has %d", got, exit.Code)
	}
	if exit.Ended.Before(exit.Started) {
		t.Errorf("it ended at %v, before it started at %v", exit.Ended, exit.Started)
	}
	return exit
}

// lines returns the text of the log of a stream.
func (l *launcher) lines(t *testing.T, stream string) []string {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(l.dir.Logs(), "*"))
	var texts []string
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			parsed, ok := job.ParseLogLine(bytes.TrimSuffix(line, []byte("\n")))
			if !ok {
				t.Errorf("log line %q", line)
			} else if parsed.Stream == stream {
				texts = append(texts, string(parsed.Text))
			}
		}
	}
	return texts
}

// has waits until the log has the line.
func (l *launcher) has(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if slices.Contains(l.lines(t, job.Stdout), text) {
			return
		}
	}
	t.Fatalf("the log never had %q: %q", text, l.lines(t, job.Stdout))
}

func TestRun(t *testing.T) {
	t.Parallel()
	l := begin(t, `pwd; echo problem >&2; printf half; cat "$PFS_JOB_ROOT/trainer_id" "$PFS_JOB_ROOT/trainer_count" >"$PFS_OUTPUT/ids"; exit 3`, nil)
	if exit := l.end(t); exit.Code != 3 || exit.Reason != "exit code 3" || exit.Stopped {
		t.Errorf("%+v", exit)
	}
	if got := l.lines(t, job.Stdout); !slices.Equal(got, []string{l.pkg, "half"}) {
		t.Errorf("stdout %q", got)
	}
	if got := l.lines(t, job.Stderr); !slices.Equal(got, []string{"problem"}) {
		t.Errorf("stderr %q", got)
	}
	if ids, err := os.ReadFile(filepath.Join(l.dir.Output(), "ids")); string(ids) != "1\n2\n" {
		t.Errorf("%q, %v", ids, err)
	}
	if got := l.stdout.String(); !strings.Contains(got, l.pkg+"\n") || !strings.Contains(got, "problem\n") {
		t.Errorf("the launcher itself printed %q", got)
	}
}

func TestRunFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		entry  string
		change func(*Options)
		code   int
		reason string
	}{
		{"true", nil, 0, ""},
		{"no-such-program --x", nil, 127, "not found"},
		{"true", func(o *Options) { o.Rank.Package += "/missing" }, 126, "could not be started"},
		{"kill -9 $$", nil, 137, "memory"},
		{"kill -SEGV $$", nil, 139, "SIGSEGV"},
		{"sh -c 'kill -ABRT $$'; exit $?", nil, 134, "SIGABRT"},
	} {
		exit := begin(t, test.entry, test.change).end(t)
		if exit.Code != test.code || !strings.Contains(exit.Reason, test.reason) || (test.reason == "") != (exit.Reason == "") {
			t.Errorf("%s: %+v", test.entry, exit)
		}
	}
}

// TestSignals: the entry, and everything below it, gets the signals of the launcher.
func TestSignals(t *testing.T) {
	t.Parallel()
	l := begin(t, `trap 'echo saved; exit 5' TERM; trap 'echo one' USR1; echo ready; while :; do sleep 0.01; done`, nil)
	l.has(t, "ready")
	l.Process.Signal(syscall.SIGUSR1)
	l.has(t, "one")
	l.Process.Signal(syscall.SIGTERM)
	if exit := l.end(t); exit.Code != 5 || !exit.Stopped {
		t.Errorf("%+v", exit)
	}
	l.has(t, "saved")
}

// TestIgnoresTERM: an entry that ignores SIGTERM is killed after the grace period.
func TestIgnoresTERM(t *testing.T) {
	t.Parallel()
	l := begin(t, `trap '' TERM; echo ready; while :; do sleep 0.01; done`, func(o *Options) { o.Grace = 50 * time.Millisecond })
	l.has(t, "ready")
	l.Process.Signal(syscall.SIGTERM)
	if exit := l.end(t); exit.Signal != "SIGKILL" || !exit.Stopped {
		t.Errorf("%+v", exit)
	}
}

// TestDaemon: no process of the entry is left, not even one that has left its group and session, so
// the outputs do not change after the exit record.
func TestDaemon(t *testing.T) {
	t.Parallel()
	l := begin(t, `setsid sh -c 'trap "" TERM; echo $$; (while :; do date >>"$PFS_OUTPUT/f"; sleep 0.01; done) & wait' & sleep 0.1; exit 0`, nil)
	if exit := l.end(t); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
	pid, _ := strconv.Atoi(l.lines(t, job.Stdout)[0])
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("the daemon is alive")
	}
}

// TestLogBounds: a log is cut into files, of which the first are removed; long lines are cut.
func TestLogBounds(t *testing.T) {
	t.Parallel()
	l := begin(t, `head -c 40000 /dev/zero | tr '\0' x; echo; i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done`,
		func(o *Options) { o.LogSize, o.LogFiles = 20000, 3 })
	l.end(t)
	names, _ := filepath.Glob(filepath.Join(l.dir.Logs(), "*"))
	if len(names) != 3 || filepath.Base(names[0]) == job.LogName(1) {
		t.Errorf("files %v", names)
	}
	if got := l.lines(t, job.Stdout); got[len(got)-1] != "line 2999" {
		t.Errorf("the last line is %q", got[len(got)-1])
	}
}

// TestUploadWait: the launcher waits for the uploader, but not for ever.
func TestUploadWait(t *testing.T) {
	t.Parallel()
	l := begin(t, "true", func(o *Options) { o.UploadWait = time.Hour })
	for exit := (*job.Exit)(nil); exit == nil; time.Sleep(time.Millisecond) {
		exit, _ = l.dir.ReadExit()
	}
	if err := syscall.Kill(l.Process.Pid, 0); err != nil {
		t.Fatalf("it ended before the acknowledgement: %v", err)
	}
	if err := l.dir.WriteUploaded(&job.Uploaded{Marker: "_SUCCESS"}); err != nil {
		t.Fatal(err)
	}
	l.end(t)
	begin(t, "true", func(o *Options) { o.UploadWait = time.Millisecond }).end(t)
}

// TestFullDisk: a full disk costs lines of the log, but neither the entry nor the exit record.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	l := begin(t, `cat /dev/zero >"$PFS_OUTPUT/big"; for i in 1 2 3 4 5 6 7 8 9; do head -c 15000 /dev/zero | tr '\0' x; echo; done; rm "$PFS_OUTPUT/big"; sleep 0.1; echo end; exit 7`,
		func(o *Options) {
			o.Rank.Dir = job.RankDir(dir)
			o.Rank.JobRoot = o.Rank.Dir.Root()
			if err := o.Rank.Dir.Make(); err != nil {
				t.Fatal(err)
			}
		})
	l.dir = job.RankDir(dir)
	if exit := l.end(t); exit.Code != 7 {
		t.Errorf("%+v", exit)
	}
	if out := l.lines(t, job.Stdout); out[len(out)-1] != "end" {
		t.Errorf("%q", out)
	}
	if got := l.lines(t, job.Stderr); !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "bytes of the log are lost: write") }) {
		t.Errorf("%.200q", got)
	}
}

// TestFullDiskAtTheEnd: the exit record has its room reserved, and says that lines of the log are lost.
func TestFullDiskAtTheEnd(t *testing.T) {
	dir := job.RankDir(t.TempDir())
	if err := syscall.Mount("none", string(dir), "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	defer syscall.Unmount(string(dir), syscall.MNT_DETACH)
	l := begin(t, `cat /dev/zero >"$PFS_OUTPUT/big"; head -c 15000 /dev/zero | tr '\0' x; echo; exit 7`, func(o *Options) {
		o.Rank.Dir, o.Rank.JobRoot = dir, dir.Root()
		if err := dir.Make(); err != nil {
			t.Fatal(err)
		}
	})
	l.dir = dir
	if exit := l.end(t); exit.Code != 7 || !strings.Contains(exit.Reason, "bytes of the log are lost") {
		t.Errorf("%+v", exit)
	}
}

// TestStopBelowShell: a program that is a child of the entry's shell has time to save its state after
// SIGTERM, although the shell ends at once. It gets the signal once.
func TestStopBelowShell(t *testing.T) {
	l := begin(t, `sh -c 'trap "echo asked; sleep 0.5; echo saved; exit 0" TERM; echo up; while :; do sleep 0.01; done'; true`, nil)
	l.has(t, "up")
	l.Process.Signal(syscall.SIGTERM)
	exit := l.end(t)
	if got := strings.Join(l.lines(t, job.Stdout), " "); got != "up asked saved" || !exit.Stopped {
		t.Errorf("%q, %+v", got, exit)
	}
}
