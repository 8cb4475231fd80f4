package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/retry"
)

func TestFromReader(t *testing.T) {
	for _, size := range []int{0, 1, chunk, 3*chunk + 1, 20 * chunk} {
		for _, unit := range []int64{0, 3 * chunk} {
			t.Run(fmt.Sprint(size, unit), func(t *testing.T) {
				b := newFaulty(t)
				b.unit = unit
				want := noise(1, size)
				rec := &recorder{t: t}
				j := newJob(t, Options{Events: rec.record})
				info, err := j.FromReader(context.Background(), End{b, "/f"}, iotest.HalfReader(bytes.NewReader(want)), pfs.CommitOptions{Mode: 0o600, ModTime: past})
				must(t, err)
				checkFile(t, b, "/f", want)
				if info.Digest != digest.Bytes(want) || info.Mode != 0o600 || !info.ModTime.Equal(past) || info.Size != int64(size) {
					t.Errorf("got %+v", info)
				}
				if s := j.Stats(); s.BytesDone != int64(size) || s.Bytes != int64(size) || s.FilesDone != 1 || len(rec.of(Done)) != 1 {
					t.Errorf("got %+v", s)
				}
			})
		}
	}
}

// TestFromReaderBroken has the stream fail: nothing may come of it.
func TestFromReaderBroken(t *testing.T) {
	data := noise(1, 9*chunk)
	for _, tc := range []struct {
		name string
		r    io.Reader
		opts pfs.CommitOptions
		want error
	}{
		{"error", io.MultiReader(bytes.NewReader(data), iotest.ErrReader(iotest.ErrTimeout)), pfs.CommitOptions{}, iotest.ErrTimeout},
		{"cut", io.MultiReader(bytes.NewReader(data), iotest.ErrReader(io.ErrUnexpectedEOF)), pfs.CommitOptions{}, io.ErrUnexpectedEOF},
		{"short", bytes.NewReader(data), pfs.CommitOptions{Size: int64(len(data)) + 1}, pfs.Integrity},
		{"other", bytes.NewReader(data), pfs.CommitOptions{Digest: digest.Bytes(nil)}, pfs.Integrity},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newFaulty(t)
			_, err := newJob(t, Options{}).FromReader(context.Background(), End{b, "/f"}, tc.r, tc.opts)
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			checkAbsent(t, b, "/f")
			if n, _, _ := b.Sweep(context.Background(), "/", -time.Hour); n != 0 {
				t.Errorf("%d uploads are left", n)
			}
		})
	}
}

// TestFromReaderCanceled cancels a copy while the stream is silent.
func TestFromReaderCanceled(t *testing.T) {
	b := newFaulty(t)
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = w.Write(noise(1, chunk+1))
		cancel()
	}()
	pool := NewPool(0)
	_, err := newJob(t, Options{Pool: pool}).FromReader(ctx, End{b, "/f"}, r, pfs.CommitOptions{})
	checkKind(t, err, pfs.Canceled)
	checkAbsent(t, b, "/f")
	if len(pool.slots) != 0 {
		t.Errorf("%d buffers are still held", len(pool.slots))
	}
}

// TestFromReaderLost has the target lose bytes that are not yet durable.
func TestFromReaderLost(t *testing.T) {
	for _, tc := range []struct {
		op    string
		at    int64
		sweep bool // the bytes are gone too
		ok    bool
	}{
		{"write", 3, true, true}, {"write", 3, false, true}, {"write", 11, false, true}, {"sync", 1, true, true},
		{"sync", 2, false, true}, {"sync", 3, true, false}, {"commit", 1, false, true},
	} {
		for _, unit := range []int64{0, 5 * chunk} {
			t.Run(fmt.Sprint(tc, unit), func(t *testing.T) { testLost(t, unit, tc.op, tc.at, tc.sweep, tc.ok) })
		}
	}
}

func testLost(t *testing.T, unit int64, at string, number int64, sweep, ok bool) {
	b := newFaulty(t)
	b.wire, b.unit = true, unit
	want := noise(2, 15*chunk+3)
	var n atomic.Int64
	b.before = func(op string, _ pfs.Path) error {
		if op != at || n.Add(1) != number {
			return nil
		}
		if sweep {
			if _, _, err := b.Sweep(context.Background(), "/", -time.Hour); err != nil {
				return err
			}
		}
		return pfs.E("test", "/f", pfs.Conflict, nil)
	}
	_, err := newJob(t, Options{}).FromReader(context.Background(), End{b, "/f"}, bytes.NewReader(want), pfs.CommitOptions{})
	if !ok {
		checkKind(t, err, pfs.Conflict)
		checkAbsent(t, b, "/f")
		return
	}
	must(t, err)
	checkFile(t, b, "/f", want)
}

// TestSecureAnew checks that a window is not durable if another chunk has meanwhile reopened the
// upload in which it was secured.
func TestSecureAnew(t *testing.T) {
	w := &Writer{upload: newUpload(newJob(t, Options{}), "/f", End{Path: "/f"})}
	n := 0
	must(t, w.secure(t.Context(), nil, func(pfs.Staged) error {
		if n++; n == 1 {
			w.generation++
		}
		return nil
	}))
	if n != 2 {
		t.Errorf("secured %d times, want 2", n)
	}
}

// TestFromReaderPieces writes to a target with long units, and loses some of them in transit.
func TestFromReaderPieces(t *testing.T) {
	const unit, pieces = 5, 3 // chunks of a piece, and whole pieces of the stream
	for _, tc := range []struct {
		name   string
		op     string
		at     int64 // chunk that is being written when its piece is lost
		times  int64
		noTemp bool // nothing can be kept
		want   error
	}{
		{"sound", "", 0, 0, false, nil},
		{"begin of a piece", "write", unit, 1, false, nil},
		{"middle of a piece", "write", unit + 3, 1, false, nil},
		{"last of a piece", "write", 2*unit - 1, 1, false, nil},
		{"the last piece", "write", pieces*unit + 1, 1, false, nil},
		{"while it is written again", "write", unit + 3, retry.MaxRepairs, false, nil},
		{"always", "write", unit + 3, 1 << 20, false, pfs.Integrity},
		{"at the end", "commit", pieces * unit, 1, false, nil},
		{"sound, nothing kept", "", 0, 0, true, nil},
		{"nothing kept", "write", unit + 3, 1, true, pfs.Integrity},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // tries wait
				temp := t.TempDir()
				t.Setenv("TMPDIR", temp)
				if tc.noTemp {
					t.Setenv("TMPDIR", temp+"/none")
				}
				b := newFaulty(t)
				b.wire, b.unit = true, unit*chunk
				var lost, syncs atomic.Int64
				b.lose = func(op string, off int64) []int64 {
					if op == tc.op && (op == "commit" || off == tc.at*chunk) && lost.Add(1) <= tc.times {
						return []int64{tc.at / unit}
					}
					return nil
				}
				b.before = func(op string, _ pfs.Path) error {
					if op == "sync" {
						syncs.Add(1)
					}
					return nil
				}
				want := noise(2, (pieces*unit+2)*chunk+3)
				pool := NewPool(0)
				_, err := newJob(t, Options{Pool: pool}).FromReader(context.Background(), End{b, "/f"}, bytes.NewReader(want), pfs.CommitOptions{})
				if !errors.Is(err, tc.want) {
					t.Fatalf("got %v, want %v", err, tc.want)
				}
				if tc.want != nil {
					checkAbsent(t, b, "/f")
					if tc.noTemp && !strings.Contains(err.Error(), "TMPDIR") {
						t.Errorf("got %v, want a word about TMPDIR", err)
					}
				} else {
					checkFile(t, b, "/f", want)
					if n := syncs.Load(); n != pieces {
						t.Errorf("%d syncs, want one for each whole piece, %d", n, pieces)
					}
				}
				if len(pool.slots) != 0 {
					t.Errorf("%d buffers are still held", len(pool.slots))
				}
				if left, err := filepath.Glob(temp + "/*"); len(left) != 0 || err != nil {
					t.Errorf("left are %v, %v", left, err)
				}
			})
		})
	}
}

// TestFromReaderFaults has operations fail temporarily, or damages the last bytes.
func TestFromReaderFaults(t *testing.T) {
	for _, op := range []string{"create", "write", "sync", "commit"} {
		b := newFaulty(t)
		want := noise(3, 10*chunk)
		var n atomic.Int64
		b.before = func(o string, _ pfs.Path) error {
			if o == op && n.Add(1) < 4 {
				return pfs.E("test", "/f", pfs.Unavailable, nil)
			}
			return nil
		}
		_, err := newJob(t, Options{}).FromReader(context.Background(), End{b, "/f"}, bytes.NewReader(want), pfs.CommitOptions{})
		must(t, err)
		checkFile(t, b, "/f", want)
	}
	b := newFaulty(t)
	b.wire = true
	want := noise(3, 6*chunk)
	var once atomic.Bool
	b.flip = func(_ string, off int64, p []byte) {
		if off == 5*chunk && once.CompareAndSwap(false, true) {
			p[9] ^= 1
		}
	}
	_, err := newJob(t, Options{}).FromReader(context.Background(), End{b, "/f"}, bytes.NewReader(want), pfs.CommitOptions{})
	must(t, err)
	checkFile(t, b, "/f", want)
}

// TestStreamsShareMemory runs more streams than the memory would do for at once.
func TestStreamsShareMemory(t *testing.T) {
	pool := NewPool(0)
	b := newFaulty(t)
	errs := make(chan error)
	const streams = 6
	for i := range streams {
		j := newJob(t, Options{Pool: pool})
		go func() {
			name := pfs.Path(fmt.Sprintf("/%d", i))
			_, err := j.FromReader(context.Background(), End{b, name}, bytes.NewReader(noise(uint64(i), 9*chunk)), pfs.CommitOptions{})
			errs <- err
		}()
	}
	for range streams {
		must(t, <-errs)
	}
	for i := range streams {
		checkFile(t, b, pfs.Path(fmt.Sprintf("/%d", i)), noise(uint64(i), 9*chunk))
	}
	if len(pool.slots) != 0 {
		t.Errorf("%d buffers are still held", len(pool.slots))
	}
}

func TestToWriter(t *testing.T) {
	a := newFaulty(t)
	data := noise(4, 9*chunk+17)
	put(t, a, "/f", data)
	put(t, a, "/empty", nil)
	size := int64(len(data))
	for _, tc := range []struct{ off, length, from, to int64 }{
		{0, -1, 0, size}, {0, size, 0, size}, {0, size + 100, 0, size}, {5, 10, 5, 15}, {chunk - 1, 2, chunk - 1, chunk + 1},
		{3*chunk + 1, -1, 3*chunk + 1, size}, {size, -1, 0, 0}, {size + 5, 10, 0, 0}, {7, 0, 0, 0},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			var w bytes.Buffer
			j := newJob(t, Options{})
			n, err := j.ToWriter(context.Background(), End{a, "/f"}, &w, tc.off, tc.length)
			must(t, err)
			if want := data[tc.from:tc.to]; n != int64(len(want)) || !bytes.Equal(w.Bytes(), want) {
				t.Errorf("got %d bytes, want %d", n, len(want))
			}
		})
	}
	if n, err := newJob(t, Options{}).ToWriter(context.Background(), End{a, "/empty"}, io.Discard, 0, -1); n != 0 || err != nil {
		t.Errorf("empty file: %d, %v", n, err)
	}
	_, err := newJob(t, Options{}).ToWriter(context.Background(), End{a, "/f"}, io.Discard, -1, 1)
	checkKind(t, err, pfs.Invalid)
	_, err = newJob(t, Options{}).ToWriter(context.Background(), End{a, "/none"}, io.Discard, 0, 1)
	checkKind(t, err, pfs.NotExist)
}

// TestToWriterLinks checks that the target of a link is written, and that a change of it is
// noticed.
func TestToWriterLinks(t *testing.T) {
	ctx := context.Background()
	a := newFaulty(t)
	data := noise(4, chunk+17)
	put(t, a, "/d/f", data)
	for link, target := range map[pfs.Path]string{"/link": "d/f", "/again": "link", "/dangling": "d/none", "/loop": "loop"} {
		must(t, pfs.MakeLink(ctx, a, target, link))
	}
	for _, name := range []pfs.Path{"/link", "/again"} {
		var w bytes.Buffer
		_, err := newJob(t, Options{}).ToWriter(ctx, End{a, name}, &w, 0, -1)
		must(t, err)
		if !bytes.Equal(w.Bytes(), data) {
			t.Errorf("%s: got %d bytes, want %d", name, w.Len(), len(data))
		}
		_, err = newJob(t, Options{}).ToWriter(ctx, End{a, name}, io.Discard, 5, 1)
		must(t, err)
	}
	_, err := newJob(t, Options{}).ToWriter(ctx, End{a, "/dangling"}, io.Discard, 0, -1)
	checkKind(t, err, pfs.NotExist)
	if !strings.Contains(err.Error(), "it leads to /d/none") {
		t.Errorf("got %v, want the place that the link leads to", err)
	}
	_, err = newJob(t, Options{}).ToWriter(ctx, End{a, "/loop"}, io.Discard, 0, -1)
	checkKind(t, err, pfs.Symlink)

	replace := writerFunc(func(p []byte) (int, error) {
		put(t, a, "/d/f", data[:7])
		return len(p), nil
	})
	_, err = newJob(t, Options{}).ToWriter(ctx, End{a, "/link"}, replace, 0, 1)
	checkKind(t, err, pfs.Conflict)
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// limited accepts a given number of bytes and then fails.
type limited struct{ left int }

func (w *limited) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	if w.left -= n; n < len(p) {
		return n, io.ErrClosedPipe
	}
	return n, nil
}

func TestToWriterFaults(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	data := noise(5, 9*chunk)
	put(t, a, "/x", data)
	must(t, newJob(t, Options{}).Copy(context.Background(), End{a, "/x"}, End{b, "/f"})) // keeps a digest
	pool := NewPool(0)
	run := func(w io.Writer) (int64, error) {
		n, err := newJob(t, Options{Pool: pool}).ToWriter(context.Background(), End{b, "/f"}, w, 0, -1)
		if len(pool.slots) != 0 {
			t.Errorf("%d buffers are still held", len(pool.slots))
		}
		return n, err
	}

	n, err := run(&limited{5*chunk + 1})
	if n != 5*chunk+1 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("broken pipe: got %d, %v", n, err)
	}
	var reads atomic.Int64
	b.before = func(op string, name pfs.Path) error {
		if n := reads.Add(1); op == "read" && n%2 == 0 {
			return pfs.E("test", name, pfs.Unavailable, nil)
		}
		return nil
	}
	var w bytes.Buffer
	if _, err = run(&w); err != nil || !bytes.Equal(w.Bytes(), data) {
		t.Errorf("temporary errors: got %v", err)
	}
	b.before = nil
	b.flip = func(_ string, off int64, p []byte) {
		if off == 3*chunk {
			p[0] ^= 1
		}
	}
	_, err = run(io.Discard)
	checkKind(t, err, pfs.Integrity)
	b.flip = nil
	b.before = func(op string, name pfs.Path) error {
		if op == "stat" {
			put(t, b.FS, name, []byte("other"))
		}
		return nil
	}
	_, err = run(io.Discard)
	checkKind(t, err, pfs.Conflict)
}
