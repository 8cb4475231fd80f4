package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// panicAt makes f panic at an operation on a name.
func panicAt(f *faulty, at string, on pfs.Path) {
	f.before = func(op string, name pfs.Path) error {
		if op == at && name == on {
			panic(fmt.Sprintf("%s of %s", op, name))
		}
		return nil
	}
}

// wantPanic checks that err is that of a panic.
func wantPanic(t *testing.T, err error) {
	t.Helper()
	var p *pfs.PanicError
	if pfs.KindOf(err) != pfs.Other || !errors.As(err, &p) || len(p.Stack) == 0 {
		t.Errorf("err = %v, want one of a panic, with its stack", err)
	}
}

// TestPanicOfAStore has stores panic in all goroutines of a job of trees: one file fails,
// and the others are copied.
func TestPanicOfAStore(t *testing.T) {
	for _, c := range []struct {
		op, name string
		target   bool
	}{
		{op: "list", name: "/t/d"},
		{op: "open", name: "/t/small"},
		{op: "open", name: "/t/large"},
		{op: "read", name: "/t/large"},
		{op: "create", name: "/u/large", target: true},
		{op: "write", name: "/u/large", target: true},
		{op: "commit", name: "/u/large", target: true},
	} {
		t.Run(c.op+strings.ReplaceAll(c.name, "/", " "), func(t *testing.T) {
			a, b := newFaulty(t), newFaulty(t)
			put(t, a, "/t/large", noise(1, 3*chunk))
			put(t, a, "/t/small", noise(2, 100))
			put(t, a, "/t/d/other", noise(3, 100))
			put(t, a, "/t/good", noise(4, 2*chunk))
			met := a
			if c.target {
				met = b
			}
			panicAt(met, c.op, pfs.Path(c.name))
			j := newJob(t, Options{})
			var failed *Incomplete
			err := j.Copy(t.Context(), End{a, "/t"}, End{b, "/u"})
			if !errors.As(err, &failed) || failed.Stats.Failed != 1 {
				t.Fatalf("err = %v, want one failure", err)
			}
			wantPanic(t, failed.First)
			checkFile(t, b, "/u/good", noise(4, 2*chunk))
			if n := len(j.pool.slots); n > 0 {
				t.Errorf("%d buffers are not given back", n)
			}
		})
	}
}

// TestPanicOfABatch has the target panic with a whole batch.
func TestPanicOfABatch(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	put(t, a, "/t/one", noise(1, 100))
	put(t, a, "/t/two", noise(2, 100))
	panicAt(b, "batch", "/u/one")
	var failed *Incomplete
	err := newJob(t, Options{}).Copy(t.Context(), End{a, "/t"}, End{b, "/u"})
	if !errors.As(err, &failed) || failed.Stats.Failed != 2 {
		t.Fatalf("err = %v, want two failures", err)
	}
	wantPanic(t, failed.First)
}

// TestPanicOfAStream has stores panic below the streams and Verify.
func TestPanicOfAStream(t *testing.T) {
	a := newFaulty(t)
	put(t, a, "/f", noise(1, 3*chunk))
	panicAt(a, "read", "/f")
	_, err := newJob(t, Options{}).ToWriter(t.Context(), End{a, "/f"}, &bytes.Buffer{}, 0, -1)
	wantPanic(t, err)
	b := newFaulty(t)
	put(t, b, "/f", noise(1, 3*chunk))
	var failed *Incomplete
	if err := newJob(t, Options{}).Verify(t.Context(), End{struct{ pfs.FileSystem }{a}, "/f"}, End{b, "/f"}); !errors.As(err, &failed) {
		t.Fatalf("err = %v, want a failure", err)
	}
	wantPanic(t, failed.First)
	panicAt(a, "write", "/g")
	_, err = newJob(t, Options{}).FromReader(t.Context(), End{a, "/g"}, bytes.NewReader(noise(2, 3*chunk)), pfs.CommitOptions{})
	wantPanic(t, err)
}

// TestPanicAndNoRoom has a store panic with one file and no room for another, which then waits for the end of
// the first.
func TestPanicAndNoRoom(t *testing.T) {
	a, b := newFaulty(t), newFaulty(t)
	put(t, a, "/t/first", noise(1, 3*chunk))
	put(t, a, "/t/second", noise(2, 3*chunk))
	panicked := make(chan struct{})
	b.before = func(op string, name pfs.Path) error {
		switch {
		case op == "readback" && name == "/u/first":
			defer close(panicked)
			panic("readback")
		case op == "commit" && name == "/u/second":
			<-panicked
			return pfs.E("test", name, pfs.NoSpace, nil)
		}
		return nil
	}
	j, ended := newJob(t, Options{}), make(chan error)
	go func() { ended <- j.Copy(t.Context(), End{a, "/t"}, End{b, "/u"}) }()
	select {
	case <-ended:
		if s := j.Stats(); s.Failed != 2 {
			t.Errorf("%+v, want two failures", s)
		}
	case <-time.After(time.Minute):
		t.Fatal("the second file waits for the first one for ever")
	}
}
