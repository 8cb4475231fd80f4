//go:build unix

package output

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

const (
	dir  = pfs.Path("/pfs/dc/home/u/jobs/j/attempts/1/trainer-0")
	logs = pfs.Path("/pfs/dc/home/u/jobs/j/logs/1/trainer-0")
)

// rig is a rank directory and a store.
type rig struct {
	t    *testing.T
	opts Options
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t, Options{
		FS: memfs.New(memfs.Options{}), Dir: dir, Logs: logs, Rank: job.RankDir(t.TempDir()),
		Run: Run{"trainer-0", 1, 0}, Wait: 10 * time.Second, Settle: time.Millisecond,
	}}
	if err := r.opts.Rank.Make(); err != nil {
		t.Fatal(err)
	}
	return r
}

// write writes an output.
func (r *rig) write(name, content string) {
	r.t.Helper()
	name = filepath.Join(r.opts.Rank.Output(), name)
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(content), 0o644)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// exit ends the entry.
func (r *rig) exit(e job.Exit) {
	r.t.Helper()
	if err := r.opts.Rank.WriteExit(&e); err != nil {
		r.t.Fatal(err)
	}
}

// upload uploads until the end.
func (r *rig) upload() *job.Uploaded {
	r.t.Helper()
	done, err := Upload(r.t.Context(), r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	return done
}

// verify verifies what the store has.
func (r *rig) verify() *Report {
	r.t.Helper()
	report, err := Verify(r.t.Context(), r.opts.FS, r.opts.Dir, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

// want checks that the outputs have this marker and are verified.
func (r *rig) want(marker string, files int64) *Report {
	r.t.Helper()
	report := r.verify()
	if report.Marker != marker || !report.Verified || report.Files != files {
		r.t.Errorf("want %s with %d files: %+v", marker, files, report)
	}
	if ok, err := pfs.Exists(r.t.Context(), r.opts.FS, r.opts.Dir.Join(uploading)); ok || err != nil {
		r.t.Errorf("%s is left: %v, %v", uploading, ok, err)
	}
	return report
}

func TestMarkers(t *testing.T) {
	for _, c := range []struct {
		exit job.Exit
		want string
	}{
		{job.Exit{}, Success},
		{job.Exit{Code: 3}, Failed},
		{job.Exit{Code: 137, Signal: "SIGKILL"}, Failed},
		{job.Exit{Stopped: true}, Failed},
	} {
		r := newRig(t)
		r.write("a", "one")
		r.write("deep/er/b", "")
		r.exit(c.exit)
		if done := r.upload(); done.Marker != c.want || done.Files != 2 || done.Bytes != 3 {
			t.Errorf("%+v: %+v", c.exit, done)
		}
		report := r.want(c.want, 2)
		if !report.Whole() || report.Exit.Code != c.exit.Code {
			t.Errorf("%+v", report)
		}
		if done := r.upload(); done.Marker != c.want {
			t.Errorf("again: %+v", done)
		}
	}
}

func TestNoOutputs(t *testing.T) {
	r := newRig(t)
	r.exit(job.Exit{})
	r.upload()
	r.want(Success, 0)
}

// TestIdleMemory: an uploader that has nothing to send keeps no buffers, which would be all of its memory.
func TestIdleMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		store, err := localfs.New(t.TempDir(), localfs.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		r.opts.FS = store
		var idle sync.WaitGroup
		idle.Add(1)
		passes := 0
		r.opts.Progress = func(Progress) {
			if passes++; passes == 3 { // the second has found nothing
				idle.Done()
			}
		}
		r.write("big", strings.Repeat("0123456789abcdef", 4<<20/16*6))
		heap := func() int64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before := heap()
		done := make(chan *job.Uploaded)
		go func() { done <- r.upload() }()
		idle.Wait()
		if more := heap() - before; more > pfs.ChunkSize {
			t.Errorf("it keeps %d bytes", more)
		}
		r.exit(job.Exit{})
		<-done
		r.want(Success, 1)
	})
}

// TestWhileItRuns checks that outputs arrive before the end, and that the store follows changes.
func TestWhileItRuns(t *testing.T) {
	r := newRig(t)
	more := filepath.Join(t.TempDir(), "more")
	r.opts.More = []string{more}
	progress := make(chan Progress)
	r.opts.Progress = func(p Progress) {
		select {
		case progress <- p:
		case <-t.Context().Done():
		}
	}
	done := make(chan *job.Uploaded, 1)
	go func() {
		d, err := Upload(t.Context(), r.opts)
		if err != nil {
			t.Error(err)
		}
		done <- d
	}()
	await := func(what string, files int64) {
		t.Helper()
		for p := range progress {
			if p.Reason != "" {
				t.Fatal(p.Reason)
			}
			if p.Files >= files {
				return
			}
		}
		t.Fatal(what)
	}
	r.write("a", "one")
	r.write("old/b", "two")
	await("two files", 2)
	if got := r.verify(); got.Marker != "" || got.Reasons == nil {
		t.Errorf("before the end: %+v", got)
	}
	r.write("a", "another")
	if err := os.RemoveAll(filepath.Join(r.opts.Rank.Output(), "old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(more, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(more, "c"), []byte("three"), 0o600); err != nil {
		t.Fatal(err)
	}
	await("the changes", 4)
	r.exit(job.Exit{})
	go func() {
		for range progress {
		}
	}()
	if d := <-done; d.Marker != Success || d.Files != 2 || d.Bytes != 12 {
		t.Errorf("%+v", d)
	}
	r.want(Success, 2)
	if ok, err := pfs.Exists(t.Context(), r.opts.FS, dir.Join("old")); ok || err != nil {
		t.Errorf("the directory that was removed is there: %v, %v", ok, err)
	}
	if info, err := r.opts.FS.Stat(t.Context(), dir+"/more/c"); err != nil || info.Mode.Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode, err)
	}
}

// TestLeftOut checks that everything that is not uploaded is named.
func TestLeftOut(t *testing.T) {
	r := newRig(t)
	out := r.opts.Rank.Output()
	r.write("a", "one")
	if err := syscall.Mkfifo(filepath.Join(out, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"latest": "a", "out": "/etc/passwd", "up": "..", "dangling": "none"} {
		if err := os.Symlink(target, filepath.Join(out, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(out) // the path of a socket is short
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	r.exit(job.Exit{})
	r.upload()
	if report := r.want(Success, 1); report.LeftOut != 6 || report.Whole() {
		t.Errorf("%+v", report)
	}
	r = newRig(t)
	out = r.opts.Rank.Output()
	r.write("a", "one")
	r.write("_SUCCESS", "mine")
	if err := os.WriteFile(filepath.Join(out, "b\xff"), []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.exit(job.Exit{})
	if done := r.upload(); !strings.HasPrefix(done.Reason, `"b\xff": `) && !strings.HasPrefix(done.Reason, "_SUCCESS: ") {
		t.Errorf("%+v", done)
	}
	if report := r.want(Incomplete, 1); report.LeftOut != 2 || len(report.Reasons) != 2 {
		t.Errorf("%+v", report)
	}
}

func TestNoExitRecord(t *testing.T) {
	r := newRig(t)
	r.write("a", "one")
	r.opts.Lost = func(context.Context) string { return "the launcher is gone" }
	if done := r.upload(); done.Marker != Incomplete || done.Reason != "the launcher is gone" {
		t.Errorf("%+v", done)
	}
	r.want(Incomplete, 1)
}

// TestTwoUploaders checks that the second uploader of a run is refused, while the first works and afterwards.
func TestTwoUploaders(t *testing.T) {
	r := newRig(t)
	r.write("a", "one")
	other := newRig(t)
	other.opts.FS = r.opts.FS
	other.write("b", "two")
	other.exit(job.Exit{})
	u := &uploader{opts: r.opts, id: pfs.NewID()}
	if _, err := u.claim(budgeted(t.Context(), retry.Never)); err != nil {
		t.Fatal(err)
	}
	if _, err := Upload(t.Context(), other.opts); pfs.KindOf(err) != pfs.Conflict {
		t.Errorf("while another one works: %v", err)
	}
	u.unclaim(t.Context())
	r.exit(job.Exit{})
	r.upload()
	if _, err := Upload(t.Context(), other.opts); pfs.KindOf(err) != pfs.Conflict || !strings.Contains(err.Error(), Success) {
		t.Errorf("afterwards: %v", err)
	}
	r.want(Success, 1)
}

// TestVerifyFindsDamage checks each kind of damage.
func TestVerifyFindsDamage(t *testing.T) {
	for what, damage := range map[string]func(r *rig) error{
		"missing":  func(r *rig) error { return r.opts.FS.Remove(t.Context(), dir.Join("a")) },
		"shorter":  func(r *rig) error { return put(r, "a", "on") },
		"changed":  func(r *rig) error { return put(r, "a", "eno") },
		"manifest": func(r *rig) error { return put(r, Manifest, "{}\n") },
		"no manifest": func(r *rig) error {
			return r.opts.FS.Remove(t.Context(), dir.Join(Manifest))
		},
	} {
		r := newRig(t)
		r.write("a", "one")
		r.exit(job.Exit{})
		r.upload()
		if err := damage(r); err != nil {
			t.Fatal(err)
		}
		if report := r.verify(); report.Verified || report.Wrong != 1 || report.Whole() {
			t.Errorf("%s: %+v", what, report)
		}
	}
}

func put(r *rig, name, content string) error {
	return pfs.WriteBatch(r.t.Context(), r.opts.FS, []pfs.BatchEntry{{Path: dir.Join(name), Data: []byte(content)}})[0]
}

func TestCommitAttempt(t *testing.T) {
	r := newRig(t)
	for i, code := range []int{0, 1} {
		rank := newRig(t)
		rank.opts.FS, rank.opts.Dir = r.opts.FS, dir.Parent().Join(fmt.Sprint("trainer-", i))
		rank.exit(job.Exit{Code: code})
		rank.upload()
	}
	attempt := dir.Parent()
	if err := CommitAttempt(t.Context(), r.opts.FS, attempt, []string{"trainer-0", "trainer-1"}); pfs.KindOf(err) != pfs.NotExist || !strings.Contains(err.Error(), "trainer-1") {
		t.Errorf("with a failed trainer: %v", err)
	}
	lost := attempt.Join("trainer-2")
	err := pfs.MkdirAll(t.Context(), r.opts.FS, lost, 0o755)
	if err == nil {
		err = writeMarker(t.Context(), r.opts.FS, lost, &Marker{Version: formatVersion, Reasons: []string{"its node is gone", "and more"}, Name: Incomplete})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := CommitAttempt(t.Context(), r.opts.FS, attempt, []string{"trainer-2"}); err == nil || !strings.HasSuffix(err.Error(), "trainer-2 has _INCOMPLETE instead of _SUCCESS: its node is gone") {
		t.Errorf("with a lost trainer: %v", err)
	}
	rank := newRig(t)
	rank.opts.FS, rank.opts.Dir, rank.opts.Run.Restart = r.opts.FS, RestartDir(attempt.Join("trainer-1"), 10), 10
	rank.exit(job.Exit{})
	rank.upload()
	if err := CommitAttempt(t.Context(), r.opts.FS, attempt, []string{"trainer-0", "trainer-1"}); err != nil {
		t.Error(err)
	}
	if ok, err := Committed(t.Context(), r.opts.FS, attempt); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if gone, err := Lost(t.Context(), r.opts.FS, attempt); len(gone) != 0 || err != nil {
		t.Errorf("%+v, %v", gone, err)
	}
	if err := writeRecord(budgeted(t.Context(), retry.Never), r.opts.FS, attempt.Join("trainer-0").Join(Success), &Marker{Version: formatVersion, Manifest: "another"}, false); err != nil {
		t.Fatal(err)
	}
	if gone, err := Lost(t.Context(), r.opts.FS, attempt); len(gone) != 1 || gone[0].Worker != "trainer-0" || err != nil {
		t.Errorf("%+v, %v", gone, err)
	}
	runs, err := Runs(t.Context(), r.opts.FS, attempt)
	if err != nil || len(runs) != 4 || runs[2].Base() != "10" {
		t.Errorf("%v, %v", runs, err)
	}
}

func TestLogs(t *testing.T) {
	r := newRig(t)
	line := string(job.LogLine{Time: time.Unix(1, 0), Stream: job.Stdout, Text: []byte("hello")}.Append(nil))
	for n, content := range map[int]string{1: line, 2: line + line + "half"} {
		if err := os.WriteFile(filepath.Join(r.opts.Rank.Logs(), job.LogName(n)), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.opts.Run.Restart = 3
	r.exit(job.Exit{})
	r.upload()
	if info, err := r.opts.FS.Stat(t.Context(), logs.Join(LogName(3, 2))); err != nil || info.Size != int64(2*len(line)+4) {
		t.Errorf("%+v, %v", info, err)
	}
	if ok, err := pfs.Exists(t.Context(), r.opts.FS, logs.Join(LogName(3, 1))); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}

// TestLogBounds checks that the oldest files at the store make room, and that files that were never sent are missed.
func TestLogBounds(t *testing.T) {
	r := newRig(t)
	u := &uploader{opts: r.opts, id: pfs.NewID()}
	u.opts.Pool = transfer.NewPool(DefaultMemory)
	s := &logShipper{u: u, sent: map[string]int64{}, most: 25}
	write := func(n int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(r.opts.Rank.Logs(), job.LogName(n)), []byte("0123456789"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pass := func() {
		t.Helper()
		if err := s.pass(budgeted(t.Context(), retry.Never), true); err != nil {
			t.Fatal(err)
		}
	}
	for n := 1; n <= 4; n++ {
		write(n)
		pass()
	}
	for n := 1; n <= 4; n++ {
		if ok, err := pfs.Exists(t.Context(), r.opts.FS, logs.Join(job.LogName(n))); ok != (n > 2) || err != nil {
			t.Errorf("file %d: %v, %v", n, ok, err)
		}
	}
	write(7)
	if pass(); s.lost != 2 {
		t.Errorf("%d files are missed", s.lost)
	}
}

// TestAbandon ends runs whose uploader is gone. A lost uploader that comes back accepts that.
func TestAbandon(t *testing.T) {
	r := newRig(t)
	spec := &job.Spec{Datacenter: "dc", User: "u", Name: "j"}
	worker := func() *job.Worker { return &job.Worker{Name: "trainer-0", Role: job.Trainer, Attempt: 1} }
	abandon := func(w *job.Worker) string {
		t.Helper()
		if err := Abandon(t.Context(), r.opts.FS, spec, w, "out of memory"); err != nil {
			t.Fatal(err)
		}
		return w.Outputs
	}
	if got := abandon(worker()); got != "" {
		t.Errorf("a run that never began has %s", got)
	}
	r.write("a", "one")
	u := &uploader{opts: r.opts, id: pfs.NewID(), states: map[pfs.LeafDigest]state{}}
	ctx := budgeted(t.Context(), retry.Never)
	if _, err := u.claim(ctx); err != nil {
		t.Fatal(err)
	}
	if err := put(r, "a", "one"); err != nil {
		t.Fatal(err)
	}
	if err := pfs.MkdirAll(ctx, r.opts.FS, RestartDir(dir, 2), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := abandon(worker()); got != Incomplete {
		t.Errorf("the worker has %q", got)
	}
	report := r.verify()
	if report.Marker != Incomplete || report.Files != 1 || report.Verified || report.Bytes != 3 || len(report.Reasons) != 1 || report.Wrong != 0 {
		t.Errorf("%+v", report)
	}
	m, err := ReadMarker(ctx, r.opts.FS, RestartDir(dir, 2))
	if err != nil || m == nil || m.Restart != 2 || m.Files != 0 || m.Reasons[0] != "out of memory" {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := u.commit(ctx, &inventory{}); err != nil || m.Name != Incomplete {
		t.Errorf("the uploader that comes back commits %+v, %v", m, err)
	}
	r.exit(job.Exit{})
	if err := os.WriteFile(filepath.Join(r.opts.Rank.Run(), "uploader"), []byte(u.id), 0o644); err != nil {
		t.Fatal(err)
	}
	if done := r.upload(); done.Marker != Incomplete || done.Reason == "" {
		t.Errorf("the uploader that was started again: %+v", done)
	}
	began := &job.Worker{Name: "trainer-1", Role: job.Trainer, Attempt: 1, Started: time.Now()}
	if got := abandon(began); got != Incomplete {
		t.Errorf("a run without outputs has %q", got)
	}
	r = newRig(t)
	r.write("a", "one")
	r.exit(job.Exit{})
	r.upload()
	if got := abandon(worker()); got != Success {
		t.Errorf("committed outputs have %q", got)
	}
	r.want(Success, 1)
}

// TestLongReason: an acknowledgement fits into its reserved file, and into the last message of a container, however long names are.
func TestLongReason(t *testing.T) {
	r := newRig(t)
	r.write(strings.Repeat(strings.Repeat("\x01", 100)+"/", 10)+"\xff", "lost")
	r.exit(job.Exit{})
	done := r.upload()
	text, err := os.ReadFile(filepath.Join(r.opts.Rank.Run(), "uploaded.json"))
	if done.Marker != Incomplete || !strings.Contains(done.Reason, "\x01") || err != nil || len(text) > 3800 {
		t.Errorf("%s, %d bytes, %v", done.Marker, len(text), err)
	}
}
