//go:build linux

package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/localfs"
)

// TestMain makes the test binary the program of supervisors and launchers.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == Launcher {
		code, err := Launch(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	}
	if len(os.Args) == 3 && os.Args[1] == Supervisor {
		fsys, err := localfs.New(os.Getenv("LOCAL_TEST_STORE"), localfs.Options{NoSync: true})
		if err == nil {
			ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			err = Supervise(ctx, Options{FS: fsys, Inputs: os.Getenv("LOCAL_TEST_STORE") + ".inputs", Command: testCommand(os.Getenv("LOCAL_TEST_STORE"))}, os.Args[2])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == Unmount {
		if err := syscall.Unmount(os.Args[2], 0); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func testCommand(store string) func(what, dir string) *exec.Cmd {
	return func(what, dir string) *exec.Cmd {
		cmd := exec.Command("/proc/self/exe", what, dir)
		cmd.Env = append(os.Environ(), "LOCAL_TEST_STORE="+store)
		return cmd
	}
}

// bed is an engine over a store with a package.
type bed struct {
	*Engine
	t     *testing.T
	store string
	fsys  pfs.FileSystem
}

func newBed(t *testing.T) *bed {
	t.Helper()
	t.Parallel()
	store := t.TempDir()
	home := filepath.Join(store, "pfs/dc/home/alice/pkg")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "train.sh"), []byte("echo training $PFS_INDEX\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	fsys, err := localfs.New(store, localfs.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fsys.Close() })
	e, err := New(Options{Dir: filepath.Join(t.TempDir(), "jobs"), Datacenter: "dc", FS: fsys, Command: testCommand(store),
		Environ: os.Environ(), Root: filepath.Join(store, "pfs"), Grace: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{Engine: e, t: t, store: store, fsys: fsys}
	t.Cleanup(b.clean)
	return b
}

// clean ends what a failed test has left.
func (b *bed) clean() {
	jobs, _ := filepath.Glob(filepath.Join(b.opts.Dir, "*"))
	for _, d := range jobs {
		s, err := dir(d).load()
		if err == nil && !s.Record.State.Ended() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			if err := b.Kill(ctx, "alice", s.Record.Spec.Name, nil); err != nil {
				b.t.Errorf("kill: %v", err)
			}
		}
		for end := time.Now().Add(20 * time.Second); isLocked(dir(d).file(lockFile)) && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
		if b.t.Failed() {
			log, _ := os.ReadFile(dir(d).file(logFile))
			b.t.Logf("log of the supervisor:\n%s", log)
		}
	}
}

func spec(trainers, pservers int, entry string) *job.Spec {
	s := &job.Spec{ID: pfs.NewID(), Name: "Fit.A-line", User: "alice", Datacenter: "dc", Package: "/pfs/dc/home/alice/pkg", Entry: entry, Passes: 1,
		Roles:       []job.Role{{Name: job.Trainer, Replicas: trainers, CPU: 1000, Memory: 1 << 30}},
		MaxAttempts: 1, Restart: job.RestartJob, UploadWait: time.Minute}
	if pservers > 0 {
		s.Roles = append(s.Roles, job.Role{Name: job.Pserver, Replicas: pservers, CPU: 1000, Memory: 1 << 30})
	}
	return s
}

func (b *bed) submit(s *job.Spec) dir {
	b.t.Helper()
	if err := s.Check(); err != nil {
		b.t.Fatal(err)
	}
	if err := b.Submit(b.t.Context(), s); err != nil {
		b.t.Fatal(err)
	}
	return b.dir("alice", s.Name)
}

// until waits until the record is as wanted.
func (b *bed) until(s *job.Spec, what string, wanted func(*job.Record) bool) *job.Record {
	b.t.Helper()
	var r *job.Record
	var err error
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if r, err = b.Job(b.t.Context(), "alice", s.Name); err == nil && wanted(r) {
			return r
		}
	}
	b.t.Fatalf("not %s: %+v, %v", what, r, err)
	return nil
}

func (b *bed) end(s *job.Spec) *job.Record {
	b.t.Helper()
	return b.until(s, "ended", func(r *job.Record) bool { return r.State.Ended() })
}

// printed waits until the log has the text.
func (b *bed) printed(s *job.Spec, text string) {
	b.t.Helper()
	b.until(s, "printed "+text, func(*job.Record) bool { return strings.Contains(b.logs(s, job.LogOptions{Lines: -1}), text) })
}

func (b *bed) logs(s *job.Spec, opts job.LogOptions) string {
	b.t.Helper()
	var text bytes.Buffer
	if err := b.Logs(b.t.Context(), "alice", s.Name, opts, &text); err != nil {
		b.t.Fatal(err)
	}
	var lines strings.Builder
	for line := range bytes.Lines(text.Bytes()) {
		worker, l, ok := job.ParseWorkerLine(bytes.TrimSuffix(line, []byte("\n")))
		if !ok {
			b.t.Errorf("log line %q", line)
		}
		fmt.Fprintf(&lines, "%s: %s\n", worker, l.Text)
	}
	return lines.String()
}

// launcherPID returns the process of a launcher.
func (b *bed) launcherPID(d dir, worker string, attempt int) int {
	b.t.Helper()
	rank := d.rank(job.Worker{Name: worker, Attempt: attempt})
	text, err := os.ReadFile(filepath.Join(rank.Run(), launchPID))
	if err != nil {
		b.t.Fatal(err)
	}
	pid, _ := strconv.Atoi(string(text))
	return pid
}

// supervisorPID returns the process that has the lock of the job.
func (b *bed) supervisorPID(d dir) int {
	b.t.Helper()
	pid := b.lockHolder(d)
	if pid == 0 {
		b.t.Fatal("the job has no supervisor")
	}
	return pid
}

// lockHolder returns the process that has the lock of a job, or 0.
func (b *bed) lockHolder(d dir) int {
	b.t.Helper()
	info, err := os.Stat(d.file(lockFile))
	if err != nil {
		b.t.Fatal(err)
	}
	inode := fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		b.t.Fatal(err)
	}
	for line := range strings.Lines(string(locks)) {
		if fields := strings.Fields(line); strings.Contains(line, inode) && len(fields) > 4 {
			pid, _ := strconv.Atoi(fields[4])
			return pid
		}
	}
	return 0
}

// markers returns the marker of each run of an attempt, by directory.
func (b *bed) markers(s *job.Spec, attempt int) map[string]string {
	b.t.Helper()
	at := job.Dir("dc", "alice", s.Name).Join("attempts").Join(strconv.Itoa(attempt))
	runs, err := output.Runs(b.t.Context(), b.fsys, at)
	if err != nil {
		b.t.Fatal(err)
	}
	found := map[string]string{}
	for _, run := range runs {
		report, err := output.Verify(b.t.Context(), b.fsys, run, nil)
		if err != nil {
			b.t.Fatal(err)
		}
		if report.Wrong > 0 {
			b.t.Errorf("%s: %+v", run, report)
		}
		found[strings.TrimPrefix(string(run), string(at)+"/")] = report.Marker
	}
	return found
}

func (b *bed) committed(s *job.Spec, attempt int) bool {
	b.t.Helper()
	ok, err := output.Committed(b.t.Context(), b.fsys, job.Dir("dc", "alice", s.Name).Join("attempts").Join(strconv.Itoa(attempt)))
	if err != nil {
		b.t.Fatal(err)
	}
	return ok
}

// nothingLeft checks that no process of the job is left.
func (b *bed) nothingLeft(d dir) {
	b.t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		data, _ := os.ReadFile(name)
		if bytes.Contains(data, []byte("PFS_OUTPUT="+string(d)+"/")) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
			b.t.Errorf("a process is left: %q", cmdline)
		}
	}
}

func TestJob(t *testing.T) {
	b := newBed(t)
	s := spec(2, 1, `[ $PFS_ROLE = pserver ] && exec sleep 1000
		sh train.sh; echo "model of $PADDLE_TRAINER_ID of $PADDLE_TRAINERS_NUM at $PADDLE_PSERVERS_IP_PORT_LIST" >$PFS_OUTPUT/model; [ -e $PFS_ROOT/dc/home/alice/pkg/train.sh ] && cmp $PFS_INPUTS/dc/home/alice/pkg/train.sh train.sh`)
	s.Inputs = []pfs.Path{"/pfs/dc/home/alice/pkg"}
	d := b.submit(s)
	if err := b.Submit(t.Context(), s); err != nil {
		t.Errorf("the same request again: %v", err)
	}
	other := *s
	other.ID = pfs.NewID()
	if err := b.Submit(t.Context(), &other); !errors.Is(err, pfs.Exist) {
		t.Errorf("the same name: %v", err)
	}
	r := b.end(s)
	if r.State != job.Succeeded || r.Attempt != 1 || r.Host == "" || r.Started.IsZero() || r.Ended.IsZero() {
		t.Errorf("%+v", r)
	}
	for _, w := range r.Workers {
		want := output.Success
		if w.Role == job.Pserver {
			want = output.Failed // it was ended
		}
		if w.State != job.Succeeded || w.Outputs != want || w.ExitCode == nil {
			t.Errorf("%+v", w)
		}
	}
	if got := b.logs(s, job.LogOptions{Lines: 10}); got != "trainer-0: training 0\ntrainer-1: training 1\n" {
		t.Errorf("logs %q", got)
	}
	if !b.committed(s, 1) {
		t.Error("the attempt has no marker")
	}
	if got := b.markers(s, 1); got["trainer-0"] != output.Success || got["trainer-1"] != output.Success || got["pserver-0"] != output.Failed {
		t.Errorf("markers %v", got)
	}
	model, err := os.ReadFile(filepath.Join(b.store, "pfs/dc/home/alice/jobs", s.Name, "attempts/1/trainer-1/model"))
	if err != nil || !strings.HasPrefix(string(model), "model of 1 of 2 at 127.0.0.1:") {
		t.Errorf("%q, %v", model, err)
	}
	b.nothingLeft(d)
	if err := b.Delete(t.Context(), "alice", s.Name); err != nil {
		t.Error(err)
	}
	stored, err := job.ReadRecord(t.Context(), b.fsys, "dc", "alice", s.Name)
	if err != nil || stored.State != job.Succeeded || len(stored.Workers) != 3 {
		t.Errorf("in the store: %+v, %v", stored, err)
	}
	if _, err := b.Job(t.Context(), "alice", s.Name); !errors.Is(err, pfs.NotExist) {
		t.Errorf("after Delete: %v", err)
	}
}

// TestAttempts: one failed rank ends all, and all start again; the outputs of attempts do not mix.
func TestAttempts(t *testing.T) {
	b := newBed(t)
	s := spec(2, 0, `echo $PFS_ATTEMPT >$PFS_OUTPUT/attempt; echo attempt $PFS_ATTEMPT
		[ $PFS_ATTEMPT = 1 ] || exit 0
		[ $PFS_INDEX = 0 ] || exit 3
		sleep 1000`)
	s.MaxAttempts = 3
	d := b.submit(s)
	r := b.end(s)
	if r.State != job.Succeeded || r.Attempt != 2 {
		t.Errorf("%+v", r)
	}
	if got := b.markers(s, 1); got["trainer-0"] != output.Failed || got["trainer-1"] != output.Failed || b.committed(s, 1) {
		t.Errorf("markers of attempt 1: %v", got)
	}
	if got := b.markers(s, 2); got["trainer-0"] != output.Success || got["trainer-1"] != output.Success || !b.committed(s, 2) {
		t.Errorf("markers of attempt 2: %v", got)
	}
	if got := b.logs(s, job.LogOptions{Lines: 1, Attempt: 1, Worker: "trainer-1"}); got != "trainer-1: attempt 1\n" {
		t.Errorf("logs of attempt 1: %q", got)
	}
	b.nothingLeft(d)
}

func TestFails(t *testing.T) {
	b := newBed(t)
	s := spec(2, 0, `no-such-program`)
	s.MaxAttempts = 2
	b.submit(s)
	r := b.end(s)
	if r.State != job.Failed || r.Attempt != 2 || !strings.Contains(r.Reason, "not found") || !strings.Contains(r.Reason, "attempt 2 of 2") {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(b.logs(s, job.LogOptions{Lines: 10}), "no-such-program") {
		t.Error("the log does not name the program")
	}
}

// TestRestartRank: a failed rank starts again in place, with outputs of its own.
func TestRestartRank(t *testing.T) {
	b := newBed(t)
	s := spec(2, 0, `echo $PFS_RESTART >$PFS_OUTPUT/restart
		if [ $PFS_INDEX = 1 ] && [ $PFS_RESTART -lt 2 ]; then exit 3; fi; while [ ! -e $PFS_ROOT/go ]; do sleep 0.02; done`)
	s.MaxAttempts, s.Restart = 3, job.RestartRank
	b.submit(s)
	b.until(s, "restarted", func(r *job.Record) bool { return len(r.Workers) == 2 && r.Workers[1].Restarts == 2 })
	if err := os.WriteFile(filepath.Join(b.store, "pfs/go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r := b.end(s)
	if r.State != job.Succeeded || r.Attempt != 1 || r.Workers[0].Restarts != 0 {
		t.Errorf("%+v", r)
	}
	want := map[string]string{"trainer-0": output.Success, "trainer-1": output.Failed, "trainer-1/restarts/1": output.Failed, "trainer-1/restarts/2": output.Success}
	if got := b.markers(s, 1); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("markers %v", got)
	}
}

// TestKill: a program that ignores SIGTERM, and one that has forked daemons, are ended; their outputs
// are kept.
func TestKill(t *testing.T) {
	b := newBed(t)
	s := spec(2, 1, `echo kept >$PFS_OUTPUT/kept; trap '' TERM
		setsid sh -c 'trap "" TERM; while :; do date >>$PFS_OUTPUT/last; sleep 0.01; done' &
		echo started; while :; do sleep 0.02; done`)
	d := b.submit(s)
	for _, w := range []string{"trainer-0", "trainer-1", "pserver-0"} {
		b.printed(s, w+": started")
	}
	var states []job.State
	err := b.Kill(t.Context(), "alice", s.Name, func(r *job.Record) { states = append(states, r.State) })
	if err != nil {
		t.Fatal(err)
	}
	b.nothingLeft(d)
	if !slices.Contains(states, job.Killing) || states[len(states)-1] != job.Killed {
		t.Errorf("states %v", states)
	}
	if got := b.markers(s, 1); got["trainer-0"] != output.Failed || got["pserver-0"] != output.Failed {
		t.Errorf("markers %v", got)
	}
	r := b.end(s)
	if r.Workers[0].State != job.Killed || r.Workers[0].Signal != "SIGKILL" || !strings.Contains(r.Workers[0].Reason, "asked to end") {
		t.Errorf("%+v", r.Workers[0])
	}
	if err := b.Kill(t.Context(), "alice", s.Name, nil); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestTimeLimit(t *testing.T) {
	b := newBed(t)
	s := spec(1, 0, `trap 'exit 0' TERM; while :; do sleep 0.02; done`)
	s.TimeLimit, s.MaxAttempts = 300*time.Millisecond, 3
	d := b.submit(s)
	if r := b.end(s); r.State != job.Failed || r.Attempt != 1 || !strings.Contains(r.Reason, "time limit") || r.Workers[0].State != job.Killed {
		t.Errorf("%+v", r)
	}
	b.nothingLeft(d)
}

// TestSupervisorKilled: the ranks go on without a supervisor, and the next use of the engine starts
// another one, at each moment of the job.
func TestSupervisorKilled(t *testing.T) {
	for _, moment := range []string{"running", "ended", "killing"} {
		t.Run(moment, func(t *testing.T) {
			b := newBed(t)
			s := spec(2, 1, `[ $PFS_ROLE = pserver ] && exec sleep 1000
				echo started | tee -a $PFS_OUTPUT/starts; while [ ! -e $PFS_ROOT/go ]; do sleep 0.02; done`)
			d := b.submit(s)
			b.printed(s, "trainer-0: started")
			b.printed(s, "trainer-1: started")
			if moment == "killing" {
				if err := job.WriteFile(d.file(killFile), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := syscall.Kill(b.supervisorPID(d), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			letGo := func() {
				if err := os.WriteFile(filepath.Join(b.store, "pfs/go"), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want := job.Succeeded
			switch moment {
			case "running":
				b.until(s, "running", func(r *job.Record) bool { return r.State == job.Running })
				letGo()
			case "ended":
				letGo()
				for _, w := range []string{"trainer-0", "trainer-1"} {
					for isLocked(filepath.Join(d.rank(job.Worker{Name: w, Attempt: 1}).Run(), launchLock)) {
						time.Sleep(5 * time.Millisecond)
					}
				}
			case "killing":
				want = job.Killed
			}
			r := b.end(s)
			if r.State != want || r.Attempt != 1 {
				t.Errorf("%+v", r)
			}
			starts, err := os.ReadFile(filepath.Join(b.store, "pfs/dc/home/alice/jobs", s.Name, "attempts/1/trainer-0/starts"))
			if string(starts) != "started\n" || err != nil {
				t.Errorf("the entry started %q, %v", starts, err)
			}
			if want == job.Succeeded && !b.committed(s, 1) {
				t.Error("the attempt has no marker")
			}
			b.nothingLeft(d)
		})
	}
}

// TestSupervisorKilledOften: whenever supervisors die, every entry starts once.
func TestSupervisorKilledOften(t *testing.T) {
	b := newBed(t)
	s := spec(3, 0, `echo started >>$PFS_OUTPUT/starts; while [ ! -e $PFS_ROOT/go ]; do sleep 0.02; done`)
	d := b.submit(s)
	for n := range 8 {
		time.Sleep(time.Duration(n*n) * 4 * time.Millisecond)
		if pid := b.lockHolder(d); pid > 0 { // the one before may not have left its lock yet
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if _, err := b.Job(t.Context(), "alice", s.Name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(b.store, "pfs/go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := b.end(s); r.State != job.Succeeded || r.Attempt != 1 {
		t.Errorf("%+v", r)
	}
	for i := range 3 {
		starts, err := os.ReadFile(filepath.Join(b.store, "pfs/dc/home/alice/jobs", s.Name, "attempts/1", job.WorkerName(job.Trainer, i), "starts"))
		if string(starts) != "started\n" || err != nil {
			t.Errorf("the entry of trainer %d started %q, %v", i, starts, err)
		}
	}
	b.nothingLeft(d)
}

// TestFullDisk: outputs that fill the disk of the job end neither the job nor its records, and what
// could be written is committed.
func TestFullDisk(t *testing.T) {
	b := newBed(t)
	if err := os.MkdirAll(b.opts.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", b.opts.Dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() { b.clean(); syscall.Unmount(b.opts.Dir, syscall.MNT_DETACH) })
	s := spec(1, 0, `cat /dev/zero >$PFS_OUTPUT/big; exit 3`)
	b.submit(s)
	if r := b.end(s); r.State != job.Failed || r.Workers[0].ExitCode == nil || *r.Workers[0].ExitCode != 3 {
		t.Errorf("%+v", r)
	}
	if got := b.markers(s, 1); got["trainer-0"] != output.Failed {
		t.Errorf("markers %v", got)
	}
}

// TestDiskStaysFull: while others have filled the disk of the job, its state says so, and the job can be
// killed, or ends.
func TestDiskStaysFull(t *testing.T) {
	for _, end := range []string{"kill", "takeover", "failure"} {
		t.Run(end, func(t *testing.T) {
			b := newBed(t)
			if err := os.MkdirAll(b.opts.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mount("none", b.opts.Dir, "tmpfs", 0, "size=4m"); err != nil {
				t.Skipf("a small file system cannot be mounted: %v", err)
			}
			t.Cleanup(func() { b.clean(); syscall.Unmount(b.opts.Dir, syscall.MNT_DETACH) })
			s := spec(2, 0, `echo started; while [ ! -e $PFS_ROOT/go ]; do sleep 0.02; done; exit 3`)
			d := b.submit(s)
			b.printed(s, "trainer-0: started")
			b.printed(s, "trainer-1: started")
			filler, err := os.Create(filepath.Join(b.opts.Dir, "filler"))
			if err != nil {
				t.Fatal(err)
			}
			defer filler.Close()
			for n := 4096; err == nil; {
				_, err = filler.Write(make([]byte, n))
			}
			full := "no space left on " + string(d)
			b.until(s, "full", func(r *job.Record) bool { return r.State == job.Running && strings.Contains(r.Reason, full) })
			want := job.Killed
			switch end {
			case "takeover":
				if err := syscall.Kill(b.supervisorPID(d), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				fallthrough
			case "kill":
				err = b.Kill(t.Context(), "alice", s.Name, nil)
			case "failure":
				want = job.Failed
				err = os.WriteFile(filepath.Join(b.store, "pfs/go"), nil, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			if r := b.end(s); r.State != want || want == job.Failed && !strings.Contains(r.Reason, full) {
				t.Errorf("%+v", r)
			}
			b.nothingLeft(d)
		})
	}
}

// TestKilledGood: a program that is killed and ends with 0 has not succeeded.
func TestKilledGood(t *testing.T) {
	b := newBed(t)
	s := spec(1, 0, `trap 'exit 0' TERM; echo started; while :; do sleep 0.02; done`)
	b.submit(s)
	b.printed(s, "started")
	if err := b.Kill(t.Context(), "alice", s.Name, nil); err != nil {
		t.Fatal(err)
	}
	if w := b.end(s).Workers[0]; w.State != job.Killed || *w.ExitCode != 0 {
		t.Errorf("%+v", w)
	}
}

// TestMountIsLeft: the next use of the engine ends the mounts of a job that has ended.
func TestMountIsLeft(t *testing.T) {
	b := newBed(t)
	s := spec(1, 0, "true")
	d := b.submit(s)
	b.end(s)
	at := filepath.Join(d.mount(), s.Datacenter)
	t.Cleanup(func() { syscall.Unmount(at, syscall.MNT_DETACH); syscall.Unmount(at, syscall.MNT_DETACH) })
	leave := func() {
		t.Helper()
		for isLocked(d.file(lockFile)) {
			time.Sleep(5 * time.Millisecond)
		}
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := syscall.Mount("none", at, "tmpfs", 0, "size=64k"); err != nil {
				t.Skipf("a file system cannot be mounted: %v", err)
			}
		}
	}
	gone := func() bool {
		_, err := os.Lstat(d.mount())
		return errors.Is(err, os.ErrNotExist)
	}
	leave()
	b.until(s, "unmounted", func(*job.Record) bool { return gone() })
	leave()
	busy, err := os.Create(filepath.Join(at, "busy"))
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if err := b.Delete(t.Context(), "alice", s.Name); err == nil || !strings.Contains(err.Error(), "busy") {
		t.Errorf("Delete with a mount in use: %v", err)
	}
	busy.Close()
	if err := b.Delete(t.Context(), "alice", s.Name); err != nil || !gone() {
		t.Errorf("Delete: %v", err)
	}
}

// TestNoMarker: if the store was away when outputs should have been committed, the next use of the engine
// has them marked as incomplete.
func TestNoMarker(t *testing.T) {
	b := newBed(t)
	s := spec(1, 0, `echo model >$PFS_OUTPUT/model; exit $((2 - PFS_ATTEMPT))`)
	s.MaxAttempts = 2
	d := b.submit(s)
	b.end(s)
	var st *state
	for st == nil || !st.Published || isLocked(d.file(lockFile)) {
		time.Sleep(5 * time.Millisecond)
		st, _ = d.load()
	}
	for n, marker := range []string{output.Failed, output.Success} {
		if err := b.fsys.Remove(t.Context(), job.OutputDir(s, n+1, "trainer-0").Join(marker)); err != nil {
			t.Fatal(err)
		}
	}
	st.Published, st.Record.Workers[0].Outputs, st.Record.Workers[0].Reason = false, "", "of the test"
	if err := d.save(st); err != nil {
		t.Fatal(err)
	}
	b.until(s, "marked", func(r *job.Record) bool { return r.Workers[0].Outputs == output.Incomplete })
	if got := b.markers(s, 1); got["trainer-0"] != output.Incomplete {
		t.Errorf("attempt 1: %v", got)
	}
	m, err := output.ReadMarker(t.Context(), b.fsys, job.OutputDir(s, 2, "trainer-0"))
	if err != nil || m == nil || m.Name != output.Incomplete || m.Files != 1 || !strings.HasSuffix(m.Reasons[0], "the outputs: of the test") {
		t.Errorf("attempt 2: %+v, %v", m, err)
	}
}

// TestWhileStaging kills a job, and the supervisor of another, while inputs are copied.
func TestWhileStaging(t *testing.T) {
	for _, who := range []string{"job", "supervisor"} {
		t.Run(who, func(t *testing.T) {
			b := newBed(t)
			s := spec(1, 0, `stat -c %s $PFS_INPUTS/dc/home/alice/in/big >$PFS_OUTPUT/size`)
			s.Inputs = []pfs.Path{"/pfs/dc/home/alice/in"}
			const size = 1 << 30 // of a hole, which is read and compared as a whole
			big := filepath.Join(b.store, "pfs/dc/home/alice/in/big")
			if err := os.Mkdir(filepath.Dir(big), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(big, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(big, size); err != nil {
				t.Fatal(err)
			}
			if err := pfs.MkdirAll(t.Context(), b.fsys, job.Dir("dc", "alice", s.Name), 0o755); err != nil {
				t.Fatal(err)
			}
			d := b.submit(s)
			b.until(s, "staging", func(r *job.Record) bool {
				return r.State == job.Pending && strings.Contains(r.Reason, "are being copied")
			})
			if who == "job" {
				if err := b.Kill(t.Context(), "alice", s.Name, nil); err != nil {
					t.Fatal(err)
				}
				if r := b.end(s); r.State != job.Killed || r.Attempt != 0 || len(r.Workers) != 0 {
					t.Errorf("%+v", r)
				}
				b.nothingLeft(d)
				return
			}
			if err := syscall.Kill(b.supervisorPID(d), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if r := b.end(s); r.State != job.Succeeded || r.Attempt != 1 {
				t.Errorf("%+v", r)
			}
			got, err := os.ReadFile(filepath.Join(b.store, string(job.OutputDir(s, 1, "trainer-0")), "size"))
			if err != nil || strings.TrimSpace(string(got)) != fmt.Sprint(size) {
				t.Errorf("the program saw %q bytes, %v", got, err)
			}
		})
	}
}

// TestUploadPending: while outputs cannot be uploaded, the reasons of the job and of its worker say why.
func TestUploadPending(t *testing.T) {
	b := newBed(t)
	s := spec(1, 0, `echo model >$PFS_OUTPUT/model`)
	at := job.OutputDir(s, 1, "trainer-0")
	if err := pfs.MkdirAll(t.Context(), b.fsys, at.Parent(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := pfs.WriteBatch(t.Context(), b.fsys, []pfs.BatchEntry{{Path: at, Mode: 0o644, Digest: digest.Bytes(nil)}})[0]; err != nil {
		t.Fatal(err)
	}
	b.submit(s)
	b.until(s, "pending", func(r *job.Record) bool {
		return r.State == job.Uploading && strings.Contains(r.Reason, "trainer-0: upload pending: ") && strings.HasPrefix(r.Workers[0].Reason, "upload pending: ")
	})
	if err := b.fsys.Remove(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if r := b.end(s); r.State != job.Succeeded || r.Reason != "" || r.Workers[0].Reason != "" {
		t.Errorf("%+v", r)
	}
}

// TestDeleteOnlyCopy: outputs that could not be uploaded are not removed with the record.
func TestDeleteOnlyCopy(t *testing.T) {
	b := newBed(t)
	s := spec(1, 0, `echo all >$PFS_OUTPUT/good; echo lost >$PFS_OUTPUT/$(printf 'bad\377'); exit $((2 - PFS_ATTEMPT))`)
	s.MaxAttempts = 2
	d := b.submit(s)
	b.end(s)
	for attempt := 1; attempt <= 2; attempt++ {
		only := d.rank(job.Worker{Name: "trainer-0", Attempt: attempt}).Output()
		err := b.Delete(t.Context(), "alice", s.Name)
		if !errors.Is(err, pfs.Conflict) || !strings.Contains(err.Error(), only) {
			t.Errorf("Delete: %v", err)
		}
		if err := os.RemoveAll(only); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Delete(t.Context(), "alice", s.Name); err != nil {
		t.Error(err)
	}
}

// TestProcessKilled: the death of a launcher, or of an entry, is a failure of the rank. What was
// written is kept, and nothing of it goes on.
func TestProcessKilled(t *testing.T) {
	for _, who := range []string{"launcher", "entry"} {
		t.Run(who, func(t *testing.T) {
			b := newBed(t)
			s := spec(2, 0, `[ $PFS_ATTEMPT = 2 ] && exit 0
				echo $$ >$PFS_OUTPUT/pid; echo started; while :; do sleep 0.02; done`)
			s.MaxAttempts = 2
			d := b.submit(s)
			b.printed(s, "trainer-0: started")
			b.printed(s, "trainer-1: started")
			pid := b.launcherPID(d, "trainer-1", 1)
			if who == "entry" {
				text, _ := os.ReadFile(filepath.Join(d.rank(job.Worker{Name: "trainer-1", Attempt: 1}).Output(), "pid"))
				pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			r := b.end(s)
			if r.State != job.Succeeded || r.Attempt != 2 {
				t.Errorf("%+v", r)
			}
			want := output.Failed
			if who == "launcher" {
				want = output.Incomplete // nobody knows how the entry ended
			}
			if got := b.markers(s, 1); got["trainer-0"] != output.Failed || got["trainer-1"] != want {
				t.Errorf("markers %v", got)
			}
			b.nothingLeft(d)
		})
	}
}

// TestManyWorkers: 64 workers start in less than 2 s on an idle machine.
func TestManyWorkers(t *testing.T) {
	b := newBed(t)
	s := spec(64, 0, `date +%s.%N >$PFS_OUTPUT/started; while [ ! -e $PFS_ROOT/go ]; do sleep 0.2; done`)
	begin := time.Now()
	d := b.submit(s)
	for started := 0; started < 64; time.Sleep(10 * time.Millisecond) {
		names, _ := filepath.Glob(string(d) + "/attempts/1/*/0/output/started")
		started = len(names)
		if time.Since(begin) > time.Minute {
			t.Fatalf("%d workers have started", started)
		}
	}
	t.Logf("64 workers have started after %v", time.Since(begin))
	if err := os.WriteFile(filepath.Join(b.store, "pfs/go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := b.end(s); r.State != job.Succeeded {
		t.Errorf("%+v", r)
	}
	t.Logf("the job has ended after %v", time.Since(begin))
}

// TestSupervisorEnds: a supervisor that cannot write its last state ends when it is asked to, and when the directory of the job is gone.
func TestSupervisorEnds(t *testing.T) {
	ended := func(t *testing.T, pid int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
			if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); bytes.Contains(stat, []byte(") Z ")) {
				return // only its parent, this process, has not noticed
			}
			if time.Now().After(end) {
				t.Fatal("the supervisor has not ended")
			}
		}
	}
	t.Run("asked", func(t *testing.T) {
		b := newBed(t)
		s := spec(1, 0, `echo started; while [ ! -e $PFS_ROOT/go ]; do sleep 0.02; done`)
		d := b.submit(s)
		b.printed(s, "started")
		spare := d.file(stateFile) + ".new"
		for err := os.ErrExist; err != nil; err = os.Mkdir(spare, 0o700) { // the supervisor may write it meanwhile
			os.Remove(spare)
		}
		if err := os.WriteFile(filepath.Join(b.store, "pfs/go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		b.until(s, "ended and not written", func(*job.Record) bool {
			log, _ := os.ReadFile(d.file(logFile))
			_, after, _ := bytes.Cut(log, []byte("the job has ended"))
			return bytes.Contains(after, []byte("the state cannot be written"))
		})
		pid := b.supervisorPID(d)
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		ended(t, pid)
		if err := os.Remove(spare); err != nil {
			t.Fatal(err)
		}
		if r := b.end(s); r.State != job.Succeeded || r.Attempt != 1 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("removed", func(t *testing.T) {
		b := newBed(t)
		s := spec(1, 0, `echo started; exec sleep 1000`)
		d := b.submit(s)
		b.printed(s, "started")
		pid := b.supervisorPID(d)
		if err := os.Rename(string(d), filepath.Join(t.TempDir(), "away")); err != nil {
			t.Fatal(err)
		}
		ended(t, pid)
		b.nothingLeft(d)
	})
}
