//go:build linux

package local

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
)

// TestTakeover kills the supervisor after it has asked programs to end. The next one tells them from those that end by themselves.
func TestTakeover(t *testing.T) {
	const ends = `stop() { touch $PFS_ROOT/asked; while [ ! -e $PFS_ROOT/go ]; do sleep 0.02; done; exit 1; }
		trap stop TERM; touch $PFS_ROOT/ready; while :; do sleep 0.02; done`
	const ready = `while [ ! -e $PFS_ROOT/ready ]; do sleep 0.02; done; `
	for name, c := range map[string]struct {
		spec   *job.Spec
		change func(*job.Spec)
		state  job.State
		reason string
	}{
		"done":      {spec(1, 1, `[ $PFS_ROLE = trainer ] && { `+ready+`exit 0; }; `+ends), func(*job.Spec) {}, job.Succeeded, ""},
		"failed":    {spec(2, 0, `[ $PFS_INDEX = 1 ] && { `+ready+`exit 3; }; `+ends), func(*job.Spec) {}, job.Failed, "trainer-1: exit code 3"},
		"restarted": {spec(2, 0, `[ $PFS_INDEX = 1 ] && { `+ready+`exit 3; }; `+ends), func(s *job.Spec) { s.Restart, s.MaxAttempts = job.RestartRank, 2 }, job.Failed, "trainer-1: exit code 3"},
		"late":      {spec(1, 0, ends), func(s *job.Spec) { s.TimeLimit, s.MaxAttempts = 2*time.Second, 2 }, job.Failed, "the time limit of 2s is over"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.opts.Grace = 30 * time.Second
			c.change(c.spec)
			d := b.submit(c.spec)
			b.until(c.spec, "asked to end", func(*job.Record) bool {
				_, err := os.Stat(filepath.Join(b.store, "pfs/asked"))
				return err == nil
			})
			if err := syscall.Kill(b.supervisorPID(d), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(b.store, "pfs/go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			locks, _ := filepath.Glob(string(d) + "/attempts/1/*/*/run/" + launchLock)
			for _, lock := range locks {
				for isLocked(lock) {
					time.Sleep(5 * time.Millisecond)
				}
			}
			if r := b.end(c.spec); r.State != c.state || r.Reason != c.reason || r.Attempt != 1 {
				t.Errorf("%s, attempt %d: %s", r.State, r.Attempt, r.Reason)
			}
			b.nothingLeft(d)
		})
	}
}

// TestEndedByOthers: a program that somebody else asks to end has failed, also if it then ends with 0.
func TestEndedByOthers(t *testing.T) {
	b := newBed(t)
	s := spec(1, 0, `[ $PFS_ATTEMPT = 2 ] && exit 0; trap "exit 0" TERM; echo started; while :; do sleep 0.02; done`)
	s.MaxAttempts = 2
	d := b.submit(s)
	b.printed(s, "started")
	if err := syscall.Kill(b.launcherPID(d, "trainer-0", 1), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if r := b.end(s); r.State != job.Succeeded || r.Attempt != 2 {
		t.Errorf("%s, attempt %d: %s", r.State, r.Attempt, r.Reason)
	}
	state, err := os.ReadFile(filepath.Join(string(d), logFile))
	if err != nil || !strings.Contains(string(state), "somebody asked it to end, and it ended with 0") {
		t.Errorf("%s, %v", state, err)
	}
}

// TestRestartsAreUsedUp: a rank that fails starts at most as often as the job allows.
func TestRestartsAreUsedUp(t *testing.T) {
	b := newBed(t)
	s := spec(1, 0, `echo started >>$PFS_ROOT/starts; exit 3`)
	s.Restart, s.MaxAttempts = job.RestartRank, 2
	b.submit(s)
	r := b.end(s)
	starts, err := os.ReadFile(filepath.Join(b.store, "pfs/starts"))
	if r.State != job.Failed || r.Attempt != 1 || string(starts) != "started\nstarted\n" || err != nil {
		t.Errorf("%s, attempt %d: %s; %q, %v", r.State, r.Attempt, r.Reason, starts, err)
	}
}

// TestKilledBeforeTheState: a submission, or a removal, that was killed leaves a directory without the state of a job. It keeps no
// name in use, and nothing in it is of the next job.
func TestKilledBeforeTheState(t *testing.T) {
	b := newBed(t)
	s := spec(1, 0, `echo trained`)
	d := b.dir("alice", s.Name)
	rank := d.rank(job.Worker{Name: "trainer-0", Attempt: 1})
	if err := rank.Make(); err != nil {
		t.Fatal(err)
	}
	if err := rank.WriteExit(&job.Exit{Code: 3}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.file(killFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.submit(s)
	if r := b.end(s); r.State != job.Succeeded {
		t.Errorf("%s: %s", r.State, r.Reason)
	}
}
