//go:build unix

package output

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// faulty is a store that calls before ahead of each change. An error of it is that of the change.
type faulty struct {
	pfs.FileSystem
	before func(what string, name pfs.Path) error
}

func (f *faulty) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	if err := f.before("create", name); err != nil {
		return nil, err
	}
	w, err := f.FileSystem.Create(ctx, name, opts)
	return &faultyStaged{w, f, name}, err
}

func (f *faulty) Mkdir(ctx context.Context, name pfs.Path, mode os.FileMode) error {
	if err := f.before("mkdir", name); err != nil {
		return err
	}
	return f.FileSystem.Mkdir(ctx, name, mode)
}

func (f *faulty) List(ctx context.Context, name pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	if err := f.before("list", name); err != nil {
		return pfs.Page{}, err
	}
	return f.FileSystem.List(ctx, name, opts)
}

type faultyStaged struct {
	pfs.Staged
	f    *faulty
	name pfs.Path
}

func (w *faultyStaged) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	if err := w.f.before(fmt.Sprint("write ", off), w.name); err != nil {
		return 0, err
	}
	return w.Staged.WriteAt(ctx, p, off)
}

func TestMain(m *testing.M) {
	if where := os.Getenv("PFS_TEST_UPLOADER"); where != "" {
		os.Exit(killedUploader(where))
	}
	os.Exit(m.Run())
}

// killPoints are the moments at which the uploader kills itself.
var killPoints = []struct {
	name string
	is   func(what string, name pfs.Path) bool
}{
	{"before the first file", func(what string, name pfs.Path) bool { return what == "create" && name.Base() != uploading }},
	{"in the middle of a file", func(what string, name pfs.Path) bool {
		return name.Base() == "big" && strings.HasPrefix(what, "write ") && what != "write 0"
	}},
	{"after the files, before the manifest", func(what string, name pfs.Path) bool { return what == "create" && name.Base() == Manifest }},
	{"after the manifest, before the marker", func(what string, name pfs.Path) bool {
		return what == "create" && (name.Base() == Success || name.Base() == Failed)
	}},
}

// killedRun is what the process of killedUploader reads.
type killedRun struct {
	Store string
	Rank  job.RankDir
	Point int
}

// killedUploader uploads until it kills itself; with a negative Point, to the end.
func killedUploader(where string) int {
	var k killedRun
	if err := json.Unmarshal([]byte(where), &k); err != nil {
		return 1
	}
	store, err := localfs.New(k.Store, localfs.Options{NoSync: true})
	if err != nil {
		return 1
	}
	opts := runOptions(k.Rank, store)
	if k.Point < 0 {
		debug.SetMemoryLimit(56 << 20) // as in pfs-agent
		opts.Settle = DefaultSettle
		done, err := Upload(context.Background(), opts)
		fmt.Println(done, err)
		return 0
	}
	opts.FS = &faulty{store, func(what string, name pfs.Path) error {
		if killPoints[k.Point].is(what, name) {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	}}
	_, err = Upload(context.Background(), opts)
	fmt.Println("not killed:", err)
	return 1
}

func runOptions(rank job.RankDir, store pfs.FileSystem) Options {
	return Options{FS: store, Dir: dir, Logs: logs, Rank: rank, Run: Run{"trainer-0", 1, 0}, Wait: 10 * time.Minute, Settle: time.Millisecond}
}

// TestKilledUploader kills the uploader at each of killPoints for each kind of end, and starts it again. With -v it
// prints the table of docs/faults.md.
func TestKilledUploader(t *testing.T) {
	ends := []struct {
		name, marker string
		exit         job.Exit
	}{
		{"success", Success, job.Exit{}},
		{"failure", Failed, job.Exit{Code: 3}},
		{"TERM", Failed, job.Exit{Code: 143, Signal: "SIGTERM", Stopped: true}},
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/4) // three chunks
	for point, p := range killPoints {
		for _, end := range ends {
			t.Run(p.name+"/"+end.name, func(t *testing.T) {
				t.Parallel()
				where := t.TempDir()
				store, err := localfs.New(where, localfs.Options{NoSync: true})
				if err != nil {
					t.Fatal(err)
				}
				r := newRig(t)
				r.opts = runOptions(r.opts.Rank, store)
				r.write("big", string(big))
				r.write("small/one", "one")
				r.exit(end.exit)
				text, err := json.Marshal(killedRun{where, r.opts.Rank, point})
				if err != nil {
					t.Fatal(err)
				}
				c := exec.Command(os.Args[0])
				c.Env = append(os.Environ(), "PFS_TEST_UPLOADER="+string(text))
				if out, err := c.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
					t.Fatalf("%v: %s", err, out)
				}
				if report := r.verify(); report.Marker != "" || report.Verified {
					t.Errorf("after the kill: %+v", report)
				}
				r.opts.Run.Restart, r.opts.Dir = 0, dir
				if done := r.upload(); done.Marker != end.marker {
					t.Errorf("%+v", done)
				}
				r.want(end.marker, 2)
				sum, err := digest.Stored(t.Context(), store, dir.Join("big"), digest.XXH3, nil)
				if err != nil {
					t.Error(err)
				}
				m, err := ReadMarker(t.Context(), store, dir)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("| %s | %s | none | `%s` | `%s` | `%s` |", p.name, end.name, m.Name, m.Manifest, sum)
			})
		}
	}
}

// away returns a store that answers err to every change while it is not nil.
func away(store pfs.FileSystem, fault func() error) pfs.FileSystem {
	return &faulty{store, func(_ string, name pfs.Path) error {
		if err := fault(); err != nil {
			return pfs.E("faulty.Change", name, pfs.KindOf(err), err)
		}
		return nil
	}}
}

// awayIf is a store that is away while down is set.
func awayIf(store pfs.FileSystem, down *atomic.Bool) pfs.FileSystem {
	return away(store, func() error {
		if down.Load() {
			return pfs.Unavailable
		}
		return nil
	})
}

// TestStoreFaults checks what becomes of outputs when the store fails for a while or for good.
func TestStoreFaults(t *testing.T) {
	for _, c := range []struct {
		name    string
		kind    pfs.Kind
		back    time.Duration // until the store works again; 0: never
		smaller bool          // files of the uploader itself can be written
		marker  string
		within  time.Duration
	}{
		{"away for 3 minutes", pfs.Unavailable, 3 * time.Minute, false, Success, 4 * time.Minute},
		{"away for good", pfs.Unavailable, 0, false, "", 10 * time.Minute},
		{"full for 30 s", pfs.NoSpace, 30 * time.Second, false, Success, time.Minute},
		{"full", pfs.NoSpace, 0, true, Incomplete, 2 * time.Minute},
		{"quota used up", pfs.Quota, 0, true, Incomplete, 2 * time.Minute},
		{"token renewed after 20 s", pfs.Unauthenticated, 20 * time.Second, false, Success, time.Minute},
		{"token expired", pfs.Unauthenticated, 0, false, "", 3 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memfs.New(memfs.Options{})
				r := newRig(t)
				r.opts.Wait = 10 * time.Minute
				began := time.Now()
				r.opts.FS = &faulty{store, func(what string, name pfs.Path) error {
					if c.back > 0 && time.Since(began) > c.back || c.smaller && (what != "create" || reserved(name.Base())) {
						return nil
					}
					return pfs.E("faulty.Change", name, c.kind, nil)
				}}
				r.write("a", "one")
				r.write("b", "two")
				r.exit(job.Exit{})
				done := r.upload()
				if took := time.Since(began); took > c.within+15*time.Second {
					t.Errorf("it took %v", took)
				}
				if done.Marker != c.marker || (c.marker != Success) != (done.Reason != "") {
					t.Errorf("%+v", done)
				}
				r.opts.FS = store
				switch report := r.verify(); c.marker {
				case Success:
					r.want(Success, 2)
				case Incomplete:
					if report.Marker != Incomplete || !report.Verified || report.LeftOut != 2 || !strings.Contains(report.Reasons[0], c.kind.Error()) {
						t.Errorf("%+v", report)
					}
				default:
					if report.Marker != "" || report.Verified {
						t.Errorf("%+v", report)
					}
				}
			})
		})
	}
}

// TestAwayWhileItRuns checks that passes that fail while the entry runs lose nothing.
func TestAwayWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memfs.New(memfs.Options{})
		r := newRig(t)
		var down atomic.Bool
		r.opts.FS = awayIf(store, &down)
		r.write("a", "one")
		done := make(chan *job.Uploaded)
		go func() { done <- r.upload() }()
		time.Sleep(10 * time.Second)
		down.Store(true)
		r.write("b", "two")
		time.Sleep(10 * time.Minute)
		r.write("a", "three")
		down.Store(false)
		time.Sleep(5 * time.Minute)
		if _, err := store.Stat(t.Context(), dir.Join("b")); err != nil {
			t.Errorf("before the end: %v", err)
		}
		r.exit(job.Exit{})
		if d := <-done; d.Marker != Success || d.Bytes != 8 {
			t.Errorf("%+v", d)
		}
		r.want(Success, 2)
	})
}

// TestBeginsWhenStable: the store is not asked for anything while the ranks of a job start, since nothing can be stable yet.
func TestBeginsWhenStable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memfs.New(memfs.Options{})
		r := newRig(t)
		r.opts.Settle = DefaultSettle
		var changes atomic.Int64
		r.opts.FS = &faulty{store, func(string, pfs.Path) error { changes.Add(1); return nil }}
		if err := os.WriteFile(filepath.Join(r.opts.Rank.Logs(), job.LogName(1)), []byte("a line\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r.write("a", "one")
		done := make(chan *job.Uploaded)
		go func() { done <- r.upload() }()
		time.Sleep(DefaultSettle - time.Millisecond)
		synctest.Wait()
		if n := changes.Load(); n > 0 {
			t.Errorf("%d changes of the store", n)
		}
		time.Sleep(2 * time.Second)
		if changes.Load() == 0 {
			t.Error("the uploader has not begun")
		}
		r.exit(job.Exit{})
		<-done
		r.want(Success, 1)
	})
}

// TestWaitIsKept: the time for the upload begins with the end of the entry, also if a pass then waits for the service.
func TestWaitIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memfs.New(memfs.Options{})
		r := newRig(t)
		r.opts.Wait = 10 * time.Second
		var down atomic.Bool
		r.opts.FS = awayIf(store, &down)
		r.write("a", "one")
		done := make(chan *job.Uploaded)
		go func() { done <- r.upload() }()
		time.Sleep(20 * time.Second)
		down.Store(true)
		r.write("b", "two")
		time.Sleep(20 * time.Second)
		r.exit(job.Exit{})
		ended := time.Now()
		d := <-done
		if took := time.Since(ended); d.Marker != "" || d.Reason == "" || took > r.opts.Wait+time.Second {
			t.Errorf("%+v after %v", d, took)
		}
	})
}

// TestChangedAtTheStore checks that files that somebody changes or removes at the store are sent again.
func TestChangedAtTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for _, name := range []string{"a", "b", "c"} {
			r.write(name, "content of "+name)
		}
		done := make(chan *job.Uploaded)
		go func() { done <- r.upload() }()
		time.Sleep(time.Minute)
		if err := errors.Join(put(r, "a", "bad"), put(r, "d", "extra"), r.opts.FS.Remove(t.Context(), dir.Join("b"))); err != nil {
			t.Fatal(err)
		}
		r.exit(job.Exit{})
		if d := <-done; d.Marker != Success {
			t.Errorf("%+v", d)
		}
		if report := r.want(Success, 3); !report.Whole() {
			t.Errorf("%+v", report)
		}
		if ok, err := pfs.Exists(t.Context(), r.opts.FS, dir.Join("d")); ok || err != nil {
			t.Errorf("the file that is no output: %v, %v", ok, err)
		}
	})
}

// TestRemovedByTheProgram checks that files that the program removes are removed at the store, but not
// those of another directory that is removed as a whole.
func TestRemovedByTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		more := filepath.Join(t.TempDir(), "more")
		r.opts.More = []string{more}
		err := os.Mkdir(more, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(more, "kept"), []byte("kept"), 0o644)
		}
		r.write("a", "one")
		r.write("old/b", "two")
		done := make(chan *job.Uploaded)
		go func() { done <- r.upload() }()
		time.Sleep(time.Minute)
		if err := errors.Join(err, os.RemoveAll(filepath.Join(r.opts.Rank.Output(), "old")), os.RemoveAll(more)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if ok, err := pfs.Exists(t.Context(), r.opts.FS, dir.Join("old")); ok || err != nil {
			t.Errorf("the directory that was removed: %v, %v", ok, err)
		}
		r.exit(job.Exit{})
		if d := <-done; d.Marker != Success {
			t.Errorf("%+v", d)
		}
		if report := r.want(Success, 2); report.LeftOut != 1 {
			t.Errorf("%+v", report)
		}
	})
}

// TestMissingDirectory checks that a good program has made the directories that its user named.
func TestMissingDirectory(t *testing.T) {
	for code, want := range map[int]string{0: Incomplete, 3: Failed} {
		r := newRig(t)
		r.opts.More = []string{"/no/such/directory"}
		r.write("a", "one")
		r.exit(job.Exit{Code: code})
		if d := r.upload(); d.Marker != want || code == 0 && !strings.Contains(d.Reason, "/no/such/directory") {
			t.Errorf("exit code %d: %+v", code, d)
		}
	}
}

// TestUntilTheEnd checks that a program that writes until its last moment loses nothing.
func TestUntilTheEnd(t *testing.T) {
	r := newRig(t)
	done := make(chan *job.Uploaded)
	go func() { done <- r.upload() }()
	var content string
	for end, i := time.Now().Add(1500*time.Millisecond), 0; i < 50 || time.Now().Before(end); i++ {
		content = fmt.Sprint("version ", i)
		r.write("same", content)
		r.write(fmt.Sprint("many/", i%50), content)
	}
	r.exit(job.Exit{})
	if d := <-done; d.Marker != Success || d.Files != 51 {
		t.Errorf("%+v", d)
	}
	r.want(Success, 51)
	if sum, err := digest.Stored(t.Context(), r.opts.FS, dir.Join("same"), digest.XXH3, nil); sum != digest.Bytes([]byte(content)) {
		t.Errorf("the last version is not there: %v", err)
	}
}

// TestMappedMemory checks that changes of mapped memory are found, which give a file a new time only when they are
// the first since it was written to the disk.
func TestMappedMemory(t *testing.T) {
	r := newRig(t)
	r.write("a", strings.Repeat(".", 4096))
	f, err := os.OpenFile(filepath.Join(r.opts.Rank.Output(), "a"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	memory, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	memory[0] = 'x' // the page is dirty now
	sent := make(chan bool, 1)
	r.opts.Progress = func(p Progress) {
		if p.Files == 1 {
			select {
			case sent <- true:
			default:
			}
		}
	}
	done := make(chan *job.Uploaded)
	go func() { done <- r.upload() }()
	<-sent
	memory[1] = 'y'
	if err := syscall.Munmap(memory); err != nil {
		t.Fatal(err)
	}
	r.exit(job.Exit{})
	<-done
	r.want(Success, 1)
	file, err := r.opts.FS.Open(t.Context(), dir.Join("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got := make([]byte, 2)
	if err := pfs.ReadFull(t.Context(), file, got, 0); err != nil || string(got) != "xy" {
		t.Errorf("%q, %v", got, err)
	}
}
