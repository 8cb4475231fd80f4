package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

func TestCopyFileSizes(t *testing.T) {
	for _, size := range []int{0, 1, maxSmall, maxSmall + 1, chunk - 1, chunk, chunk + 1, 5*chunk + 7} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			a, b := newFaulty(t), newFaulty(t)
			want := noise(1, size)
			put(t, a, "/f", want)
			rec := &recorder{t: t}
			j := newJob(t, Options{Events: rec.record})
			must(t, j.Copy(context.Background(), End{a, "/f"}, End{b, "/g"}))
			checkFile(t, b, "/g", want)
			info, _ := b.Stat(context.Background(), "/g")
			if info.Mode != 0o640 || !info.ModTime.Equal(past) || info.Digest != digest.Bytes(want) {
				t.Errorf("mode, time, digest: got %v %v %s", info.Mode, info.ModTime, info.Digest)
			}
			s := j.Stats()
			if s.Files != 1 || s.FilesDone != 1 || s.Bytes != int64(size) || s.BytesDone != int64(size) || !s.Complete || s.Failed != 0 {
				t.Errorf("stats: got %+v", s)
			}
			if done := rec.of(Done); len(done) != 1 || done[0].Path != "/f" || done[0].Target != "/g" || done[0].Size != int64(size) {
				t.Errorf("done events: got %+v", done)
			}
		})
	}
}

func TestNewTimeNewMode(t *testing.T) {
	for _, size := range []int{10, maxSmall + 1} {
		a, b := newFaulty(t), newFaulty(t)
		put(t, a, "/f", noise(1, size))
		before := time.Now().Add(-time.Second)
		must(t, newJob(t, Options{NewTime: true, NewMode: true}).Copy(context.Background(), End{a, "/f"}, End{b, "/f"}))
		info, _ := b.Stat(context.Background(), "/f")
		if info.Mode != 0o644 || info.ModTime.Before(before) {
			t.Errorf("got %v %v, want 0644 and now", info.Mode, info.ModTime)
		}
	}
}

// TestResume interrupts a copy in the middle and runs it again: staged leaves are not sent again,
// and leaves in the journal not read again either.
func TestResume(t *testing.T) {
	const leaves = 26
	for _, tc := range []struct {
		name    string
		wire    bool
		unit    int64
		maxSent int64 // leaves of the second run
		maxRead int64
	}{
		{"local target", false, 0, leaves - 17, leaves - 16},
		{"far target", true, 0, leaves - 17, leaves},
		{"target in pieces", true, 3 * chunk, leaves - 9, 2 * leaves},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := newFaulty(t), newFaulty(t)
			b.wire, b.unit = tc.wire, tc.unit
			want := noise(2, leaves*chunk-11)
			put(t, a, "/f", want)

			ctx, cancel := context.WithCancel(context.Background())
			var writes atomic.Int64
			b.before = func(op string, _ pfs.Path) error {
				if op == "write" && writes.Add(1) == 22 {
					cancel()
				}
				return nil
			}
			err := newJob(t, Options{}).Copy(ctx, End{a, "/f"}, End{b, "/f"})
			checkKind(t, err, pfs.Canceled)
			checkAbsent(t, b, "/f")

			b.before = nil
			a.read.Store(0)
			b.written.Store(0)
			j := newJob(t, Options{})
			must(t, j.Copy(context.Background(), End{a, "/f"}, End{b, "/f"}))
			checkFile(t, b, "/f", want)
			if got, most := b.written.Load(), tc.maxSent*chunk; got > most {
				t.Errorf("the second run sent %d bytes, want at most %d", got, most)
			}
			if got := a.read.Load(); got > tc.maxRead*chunk {
				t.Errorf("the second run read %d leaves, want at most %d", got/chunk, tc.maxRead)
			}
			if got := j.Stats().BytesResumed; got < (leaves-tc.maxSent)*chunk {
				t.Errorf("resumed %d bytes", got)
			}
			if s := j.Stats(); s.BytesDone != s.Bytes {
				t.Errorf("%d bytes done of %d", s.BytesDone, s.Bytes)
			}
		})
	}
}

// TestResumeDamaged damages the staged bytes of an interrupted copy.
func TestResumeDamaged(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	want := noise(3, 24*chunk)
	put(t, a, "/f", want)
	var id string
	b.before = func(op string, _ pfs.Path) error {
		if op == "commit" {
			return pfs.E("test", "/f", pfs.Permission, nil)
		}
		return nil
	}
	checkKind(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/f"}, End{b, "/f"}), pfs.Permission)
	b.before = nil
	f, _ := a.Open(context.Background(), "/f")
	id = (&fileCopy{upload: newUpload(newJob(t, Options{}), "/f", End{b, "/f"}), source: End{a, "/f"}, info: f.Info()}).stagedID()
	w, err := b.Create(context.Background(), "/f", pfs.CreateOptions{ID: id, Reopen: true})
	must(t, err)
	for _, off := range []int64{5*chunk + 3, 20 * chunk} { // content
		_, err = w.WriteAt(context.Background(), []byte("damage"), off)
		must(t, err)
	}
	_, err = w.WriteAt(context.Background(), noise(9, 32), 24*chunk+16*7) // journal
	must(t, err)
	must(t, w.Suspend(t.Context()))
	b.written.Store(0)
	must(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/f"}, End{b, "/f"}))
	checkFile(t, b, "/f", want)
	if got := b.written.Load(); got > 3*chunk {
		t.Errorf("%d bytes sent for two damaged leaves", got)
	}
}

func TestSourceChanges(t *testing.T) {
	for _, size := range []int{100, 3 * chunk} {
		for _, times := range []int64{1, 5} {
			t.Run(fmt.Sprint(size, times), func(t *testing.T) {
				a, b := newFaulty(t), newFaulty(t)
				put(t, a, "/f", noise(4, size))
				put(t, b, "/f", []byte("old"))
				var changes atomic.Int64
				a.before = func(op string, name pfs.Path) error {
					if n := changes.Load(); op == "read" && n < times && changes.CompareAndSwap(n, n+1) {
						put(t, a.FS, name, noise(uint64(5+n), size))
					}
					return nil
				}
				err := newJob(t, Options{}).Copy(context.Background(), End{a, "/f"}, End{b, "/f"})
				if times == 1 {
					must(t, err)
					checkFile(t, b, "/f", noise(5, size))
					return
				}
				checkKind(t, err, pfs.Conflict)
				checkFile(t, b, "/f", []byte("old"))
				if e := (*pfs.Error)(nil); !errors.As(err, &e) || e.Path != "/f" {
					t.Errorf("the error %v does not name /f", err)
				}
			})
		}
	}
}

// TestDamagedSource copies a file whose bytes do not match its stored digest.
func TestDamagedSource(t *testing.T) {
	for _, size := range []int{1000, 20 * chunk} {
		a, b := newFaulty(t), newFaulty(t)
		put(t, a, "/x", noise(6, size))
		must(t, newJob(t, Options{}).Copy(context.Background(), End{plain{a}, "/x"}, End{a, "/f"}))
		a.flip = func(op string, off int64, p []byte) {
			if op == "read" && off == 0 {
				p[0] ^= 1
			}
		}
		err := newJob(t, Options{}).Copy(context.Background(), End{a, "/f"}, End{b, "/f"})
		checkKind(t, err, pfs.Integrity)
		checkAbsent(t, b, "/f")
	}
}

func TestTemporaryErrors(t *testing.T) {
	for _, op := range []string{"open", "stat", "read", "create", "write", "commit"} {
		for _, fails := range []int64{3, 1000} {
			t.Run(fmt.Sprint(op, fails), func(t *testing.T) {
				a, b := newFaulty(t), newFaulty(t)
				want := noise(7, 2*chunk)
				put(t, a, "/f", want)
				var n atomic.Int64
				hook := func(o string, _ pfs.Path) error {
					if o == op && n.Add(1) <= fails {
						return pfs.E("test", "/f", pfs.Unavailable, nil)
					}
					return nil
				}
				a.before, b.before = hook, hook
				err := newJob(t, Options{}).Copy(context.Background(), End{a, "/f"}, End{b, "/f"})
				if fails > 100 {
					checkKind(t, err, pfs.Unavailable)
					return
				}
				must(t, err)
				checkFile(t, b, "/f", want)
			})
		}
	}
}

func TestPermanentErrorIsNotRetried(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	put(t, a, "/f", noise(7, 2*chunk))
	b.before = func(op string, _ pfs.Path) error {
		if op == "create" {
			return pfs.E("test", "/f", pfs.Permission, nil)
		}
		return nil
	}
	checkKind(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/f"}, End{b, "/f"}), pfs.Permission)
	if got := b.creates.Load(); got != 1 {
		t.Errorf("%d tries, want 1", got)
	}
}

// TestFlips flips bits in transit: the receiver finds them at once or at the commit.
func TestFlips(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		a, b := newFaulty(t), newFaulty(t)
		want := noise(8, 6*chunk)
		put(t, a, "/f", want)
		var n atomic.Int64
		b.before = func(op string, _ pfs.Path) error {
			if op == "write" && n.Add(1)%2 == 1 {
				return pfs.E("test", "/f", pfs.Integrity, nil)
			}
			return nil
		}
		must(t, newJob(t, Options{Parallel: 1}).Copy(context.Background(), End{a, "/f"}, End{b, "/f"}))
		checkFile(t, b, "/f", want)
	})
	t.Run("found at commit", func(t *testing.T) {
		a, b := newFaulty(t), newFaulty(t)
		b.wire = true
		want := noise(9, 6*chunk)
		put(t, a, "/f", want)
		var n atomic.Int64
		b.flip = func(op string, _ int64, p []byte) {
			if op == "write" && n.Add(1) == 3 {
				p[17] ^= 4
			}
		}
		must(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/f"}, End{b, "/f"}))
		checkFile(t, b, "/f", want)
		if got := b.written.Load(); got != 7*chunk {
			t.Errorf("%d bytes sent, want %d", got, 7*chunk)
		}
	})
	t.Run("for ever", func(t *testing.T) {
		a, b := newFaulty(t), newFaulty(t)
		b.wire = true
		put(t, a, "/f", noise(9, 2*chunk))
		b.flip = func(op string, _ int64, p []byte) { p[0] ^= 1 }
		checkKind(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/f"}, End{b, "/f"}), pfs.Integrity)
		checkAbsent(t, b, "/f")
	})
}

// busy is a target where another writer replaces each file right after it is published.
type busy struct {
	pfs.FileSystem
	commits atomic.Int64
	unit    int64
}

type busyStaged struct {
	pfs.Staged
	f *busy
}

func (f *busy) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := f.FileSystem.Create(ctx, name, opts)
	return busyStaged{w, f}, err
}

func (w busyStaged) Unit() int64 { return w.f.unit }

func (w busyStaged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	info, err := w.Staged.Commit(ctx, opts)
	info.Digest = digest.Bytes([]byte("the other's"))
	w.f.commits.Add(1)
	return info, err
}

// TestOvertaken publishes once while another writer publishes too.
func TestOvertaken(t *testing.T) {
	a := newFaulty(t)
	put(t, a, "/f", noise(1, chunk+1))
	for _, unit := range []int64{chunk, 3 * chunk} {
		for name, do := range map[string]func(j *Job, b *busy) error{
			"file": func(j *Job, b *busy) error { return j.Copy(context.Background(), End{a, "/f"}, End{b, "/f"}) },
			"stream": func(j *Job, b *busy) error {
				_, err := j.FromReader(context.Background(), End{b, "/f"}, bytes.NewReader(noise(1, chunk+1)), pfs.CommitOptions{})
				return err
			},
		} {
			t.Run(fmt.Sprint(name, unit), func(t *testing.T) {
				b := &busy{FileSystem: plain{memfs.New(memfs.Options{})}, unit: unit}
				checkKind(t, do(newJob(t, Options{}), b), pfs.Conflict)
				if n := b.commits.Load(); n != 1 {
					t.Errorf("published %d times, over what somebody else had published", n)
				}
			})
		}
	}
}

// TestLostStaged has the target lose the upload, with or without its bytes.
func TestLostStaged(t *testing.T) {
	for _, keep := range []bool{true, false} {
		t.Run(fmt.Sprint(keep), func(t *testing.T) {
			a, b := newFaulty(t), newFaulty(t)
			b.wire = true
			want := noise(10, 20*chunk)
			put(t, a, "/f", want)
			var n atomic.Int64
			b.before = func(op string, _ pfs.Path) error {
				if op != "write" || n.Add(1) != 12 {
					return nil
				}
				if !keep {
					if _, _, err := b.Sweep(context.Background(), "/", -time.Hour); err != nil {
						return err
					}
				}
				return pfs.E("test", "/f", pfs.Conflict, nil)
			}
			must(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/f"}, End{b, "/f"}))
			checkFile(t, b, "/f", want)
			if got := b.written.Load(); keep && got > 24*chunk {
				t.Errorf("%d leaves sent, though nothing was lost", got/chunk)
			}
		})
	}
}

// TestUnits copies to stores that want their pieces written in order.
func TestUnits(t *testing.T) {
	for _, unit := range []int64{1 << 20, chunk, 2 * chunk, 3 << 20, 10 << 20, 1000 * chunk} {
		t.Run(fmt.Sprint(unit), func(t *testing.T) {
			a, b := newFaulty(t), newFaulty(t)
			b.unit = unit
			want := noise(11, 13*chunk+5)
			put(t, a, "/f", want)
			must(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/f"}, End{b, "/f"}))
			checkFile(t, b, "/f", want)
		})
	}
}

func TestLaneOf(t *testing.T) {
	for _, tc := range []struct{ unit, leaves, want int64 }{
		{0, 10, 1}, {1, 10, 1}, {chunk, 10, 1}, {2 * chunk, 10, 2}, {3 << 20, 10, 3}, {10 << 20, 100, 5},
		{chunk + 1, 10, 10}, {1 << 60, 7, 7}, {chunk, 0, 1}, {64 << 20, 0, 1},
	} {
		if got := uploadUnitOf(tc.unit, tc.leaves); got != tc.want {
			t.Errorf("uploadUnitOf(%d, %d) = %d, want %d", tc.unit, tc.leaves, got, tc.want)
		}
	}
}

// TestCopyFileMethod is the service's own copy between two stores.
func TestCopyFileMethod(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	want := noise(12, 3*chunk)
	put(t, a, "/f", want)
	id := pfs.NewID()
	info, err := newJob(t, Options{}).CopyFile(context.Background(), End{a, "/f"}, End{b, "/f"}, pfs.CopyOptions{ID: id, NoReplace: true}, nil)
	must(t, err)
	if info.Size != 3*chunk || info.Digest != digest.Bytes(want) {
		t.Errorf("got %+v", info)
	}
	_, err = newJob(t, Options{}).CopyFile(context.Background(), End{a, "/f"}, End{b, "/f"}, pfs.CopyOptions{NoReplace: true}, nil)
	checkKind(t, err, pfs.Exist)
}

// copier is a service that copies internally and records the IDs.
type copier struct {
	pfs.FileSystem
	ids []string
}

func (c *copier) CopyFile(ctx context.Context, src, dst pfs.Path, opts pfs.CopyOptions, _ func(int64)) (pfs.Info, error) {
	c.ids = append(c.ids, opts.ID)
	return pfs.CopyInside(ctx, c.FileSystem, src, dst, opts, nil)
}

// TestInsideGoesOn: the same copy has the same ID, so that the service can go on with
// it, and that of another version has another.
func TestInsideGoesOn(t *testing.T) {
	c := &copier{FileSystem: newFaulty(t).FS}
	for _, content := range []string{"one", "one", "two"} {
		if len(c.ids) != 1 {
			put(t, c, "/f", []byte(content))
		}
		must(t, newJob(t, Options{}).Copy(context.Background(), End{c, "/f"}, End{c, "/g"}))
		must(t, c.Remove(context.Background(), "/g"))
	}
	if len(c.ids) != 3 || !pfs.ValidID(c.ids[0]) || c.ids[0] != c.ids[1] || c.ids[1] == c.ids[2] {
		t.Errorf("IDs %q", c.ids)
	}
}

// TestInside copies within one file system: no bytes come here.
func TestInside(t *testing.T) {
	a := newFaulty(t)
	want := noise(13, 2*chunk)
	put(t, a, "/d/f", want)
	put(t, a, "/d/g", []byte("small"))
	j := newJob(t, Options{})
	must(t, j.Copy(context.Background(), End{a, "/d"}, End{a, "/e"}))
	checkFile(t, a.FS, "/e/f", want)
	checkFile(t, a.FS, "/e/g", []byte("small"))
	if got := a.read.Load(); got != 0 {
		t.Errorf("%d bytes read", got)
	}
	if s := j.Stats(); s.BytesDone != s.Bytes || s.FilesDone != 2 {
		t.Errorf("got %+v", s)
	}
}

func TestIntoItself(t *testing.T) {
	a := memfs.New(memfs.Options{})
	put(t, a, "/d/f", []byte("x"))
	for _, tc := range []struct {
		source, target pfs.Path
		del            bool
	}{{"/d/f", "/d/f", false}, {"/d", "/d", false}, {"/d", "/d/e", false}, {"/d", "/", true}} {
		err := newJob(t, Options{Delete: tc.del}).Copy(context.Background(), End{a, tc.source}, End{a, tc.target})
		checkKind(t, err, pfs.Invalid)
	}
	if got := tree(t, a, "/"); got != "d/ d/f" {
		t.Errorf("got %s", got)
	}
}

func TestOptionsChecked(t *testing.T) {
	for _, o := range []Options{
		{Algorithm: "md5"}, {Overwrite: 7}, {Links: 9}, {BytesPerSecond: -1},
		{Filter: []Rule{{Pattern: "[a"}}}, {Filter: []Rule{{Pattern: ""}}}, {Filter: []Rule{{Pattern: "/"}}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("New(%+v) succeeded", o)
		}
	}
}

func TestRateLimit(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	put(t, a, "/f", noise(1, 300<<10))
	j := newJob(t, Options{BytesPerSecond: 1 << 20})
	start := time.Now()
	must(t, j.pay(context.Background(), 1<<20)) // the burst
	must(t, j.Copy(context.Background(), End{a, "/f"}, End{b, "/f"}))
	if took := time.Since(start); took < 250*time.Millisecond {
		t.Errorf("300 KiB at 1 MiB/s took %v", took)
	}
}

// Bytes that the rate does not allow before the deadline fail, in a batch too.
func TestRateLimitDeadline(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	plant(t, a, "/d/1", "/d/2")
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	err := newJob(t, Options{BytesPerSecond: 1}).Copy(ctx, End{a, "/d"}, End{b, "/d"})
	checkKind(t, err, pfs.Canceled)
	checkAbsent(t, b, "/d/1", "/d/2")
}

// TestOwnID resumes under an ID of the caller's choice after the source changed: the ID does not
// imply anything about the staged bytes.
func TestOwnID(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	put(t, a, "/f", noise(1, 20*chunk))
	opts := pfs.CopyOptions{ID: pfs.NewID()}
	b.before = func(op string, _ pfs.Path) error {
		if op == "commit" {
			return pfs.E("test", "/f", pfs.Permission, nil)
		}
		return nil
	}
	_, err := newJob(t, Options{}).CopyFile(context.Background(), End{a, "/f"}, End{b, "/f"}, opts, nil)
	checkKind(t, err, pfs.Permission)
	b.before = nil
	want := noise(1, 20*chunk)
	want[3*chunk] ^= 1
	put(t, a, "/f", want)
	j := newJob(t, Options{})
	_, err = j.CopyFile(context.Background(), End{a, "/f"}, End{b, "/f"}, opts, nil)
	must(t, err)
	checkFile(t, b, "/f", want)
	if got := j.Stats().BytesResumed; got != 19*chunk {
		t.Errorf("%d bytes resumed, want %d", got, 19*chunk)
	}
}
