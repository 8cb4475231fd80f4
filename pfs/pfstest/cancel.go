package pfstest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

var cancelPromises = []promise{
	{says: "an operation whose context is done changes nothing and answers Canceled", check: func(e *env) {
		e.each(func(operation) bool { return true }, func(e *env, op operation) {
			MustMkdir(e, e.fs, "/dir/sub")
			WriteFile(e, e.fs, "/dir/sub/f", nil)
			WriteFile(e, e.fs, "/dir/f", []byte("content"))
			for _, name := range []pfs.Path{"/dir/f", "/dir/new", "/dir/sub"} {
				e.wantCanceled(op.call(e.canceled(), e.fs, name), context.Canceled, name, otherFile, otherFree)
			}
			WantNames(e, e.fs, "/dir", "f", "sub")
			WantNames(e, e.fs, "/dir/sub", "f")
			WantNames(e, e.fs, pfs.Root, "dir", otherFile.Base())
			WantFile(e, e.fs, "/dir/f", []byte("content"))
		})
	}},
	{says: "a context past its deadline counts as canceled", check: func(e *env) {
		ctx, cancel := context.WithDeadline(e.ctx, time.Unix(0, 0))
		defer cancel()
		e.wantCanceled(e.fs.Mkdir(ctx, "/dir", 0o755), context.DeadlineExceeded, "/dir")
		WantNames(e, e.fs, pfs.Root)
	}},
	// The deadline passes after the checks with which an operation begins. The operation may succeed
	// or fail, but not as if the store were away.
	{says: "an operation whose deadline passes while it runs counts as canceled, too", check: func(e *env) {
		e.each(func(operation) bool { return true }, func(e *env, op operation) {
			MustMkdir(e, e.fs, "/dir/empty")
			WriteFile(e, e.fs, "/dir/f", []byte("content"))
			for asks := range int64(3) {
				for _, name := range []pfs.Path{"/dir/f", "/dir/new", "/dir/empty"} {
					ctx := &passing{Context: e.ctx, done: make(chan struct{})}
					ctx.asks.Store(asks + 1)
					err := op.call(ctx, e.fs, name)
					if errors.Is(err, pfs.Canceled) || errors.Is(err, pfs.Unavailable) || errors.Is(err, context.DeadlineExceeded) {
						e.wantCanceled(err, context.DeadlineExceeded, name, name.Parent(), otherFile, otherFree)
					}
				}
			}
		})
	}},
	{says: "a File whose context is done reads nothing", check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		f := e.open("/f")
		n, err := f.ReadAt(e.canceled(), make([]byte, 7), 0)
		e.wantCanceled(err, context.Canceled, "/f")
		if n != 0 {
			e.Errorf("%d bytes were read", n)
		}
		e.ok(pfs.ReadFull(e.ctx, f, make([]byte, 7), 0))
	}},
	{says: "a Staged whose context is done is usable with another context", needs: NoReadStaged, check: func(e *env) {
		w := e.create("/f", pfs.CreateOptions{})
		data := Pattern(1, 1000)
		e.put(w, data)
		gone := e.canceled()
		e.wantCanceled(errOf(w.WriteAt(gone, []byte("x"), 0)), context.Canceled, "/f")
		e.wantCanceled(errOf(w.ReadAt(gone, make([]byte, 1), 0)), context.Canceled, "/f")
		e.wantCanceled(w.Sync(gone), context.Canceled, "/f")
		e.wantCanceled(errOf(w.Commit(gone, pfs.CommitOptions{Size: 1000})), context.Canceled, "/f")
		WantAbsent(e, e.fs, "/f")
		e.commit(w, 1000)
		WantFile(e, e.fs, "/f", data)
	}},
	{says: "a Handle whose context is done changes nothing", needs: NoHandle | NoRandomWrite, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		h := e.handle("/f", readWrite)
		gone := e.canceled()
		e.wantCanceled(errOf(h.WriteAt(gone, []byte("x"), 0)), context.Canceled, "/f")
		e.wantCanceled(h.Truncate(gone, 0), context.Canceled, "/f")
		e.wantCanceled(h.Sync(gone), context.Canceled, "/f")
		WantFile(e, e.fs, "/f", []byte("content"))
	}},
	{says: "a large read ends between two chunks", check: func(e *env) {
		data := Pattern(1, fuseChunks*pfs.ChunkSize)
		WriteFile(e, e.fs, "/f", data)
		f := e.open("/f")
		ctx, p := newFuse(e.ctx, 3), make([]byte, len(data))
		n, err := f.ReadAt(ctx, p, 0)
		e.wantFuse(ctx, n, len(data), err)
		if string(p[:n]) != string(data[:n]) {
			e.Error("wrong bytes")
		}
	}},
	{says: "a large write ends between two chunks", check: func(e *env) {
		data := Pattern(1, fuseChunks*pfs.ChunkSize)
		w := e.create("/f", pfs.CreateOptions{})
		ctx := newFuse(e.ctx, 3)
		n, err := w.WriteAt(ctx, data, 0)
		e.wantFuse(ctx, n, len(data), err)
		e.put(w, data)
		e.commit(w, len(data))
		WantFile(e, e.fs, "/f", data)
	}},
	// Each entry is either done or missing.
	{says: "a batch ends between two entries", check: func(e *env) {
		const n = 500
		batch := make([]pfs.BatchEntry, n)
		for i, name := range numbered("f", n) {
			batch[i] = pfs.BatchEntry{Path: pfs.Root.Join(name), Data: Pattern(uint64(i), 100)}
		}
		errs := pfs.WriteBatch(newFuse(e.ctx, 50), e.fs, batch)
		if len(errs) != n {
			e.Fatalf("%d errors for %d entries", len(errs), n)
		}
		seen := e.listed(pfs.Root, 0)
		for i, err := range errs {
			switch name := batch[i].Path.Base(); {
			case err != nil:
				e.wantCanceled(err, context.Canceled, batch[i].Path)
			case seen[name] != 1:
				e.Errorf("%s is done and not there", name)
			default:
				WantFile(e, e.fs, batch[i].Path, batch[i].Data)
			}
		}
	}},
	{says: "a listing ends between two pages", check: func(e *env) {
		e.fillDir("/", "f", 100)
		ctx, cancel := context.WithCancel(e.ctx)
		page, err := e.fs.List(ctx, pfs.Root, pfs.ListOptions{Limit: 10})
		e.ok(err)
		cancel()
		e.wantCanceled(errOf(e.fs.List(ctx, pfs.Root, pfs.ListOptions{Limit: 10, Token: page.Next})), context.Canceled, pfs.Root)
		e.ok(errOf(e.fs.List(e.ctx, pfs.Root, pfs.ListOptions{Limit: 10, Token: page.Next})))
	}},
	{says: "a copy that was given up leaves the whole target or none", needs: NoCopy, check: func(e *env) {
		data := Pattern(1, 3*pfs.ChunkSize)
		WriteFile(e, e.fs, "/f", data)
		ctx, cancel := context.WithCancel(e.ctx)
		defer cancel()
		_, err := pfs.CopyInside(ctx, e.fs, "/f", "/copy", pfs.CopyOptions{}, func(int64) { cancel() })
		if err == nil {
			WantFile(e, e.fs, "/copy", data)
			return
		}
		e.wantCanceled(err, context.Canceled, "/f", "/copy")
		WantNames(e, e.fs, pfs.Root, "f")
	}},
}

// canceled returns a context that is done.
func (e *env) canceled() context.Context {
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	return ctx
}

// wantCanceled fails unless err is Canceled and wraps cause.
func (e *env) wantCanceled(err, cause error, about ...pfs.Path) {
	e.Helper()
	e.want(err, pfs.Canceled, append(about, "")...)
	if !errors.Is(err, cause) {
		e.Errorf("error %v does not wrap %v", err, cause)
	}
}

// passing is a context whose deadline passes after a number of checks that it is not done.
type passing struct {
	context.Context
	asks atomic.Int64 // checks that are left
	done chan struct{}
}

func (p *passing) Err() error {
	switch left := p.asks.Add(-1); {
	case left < 0:
		return context.DeadlineExceeded
	case left == 0:
		close(p.done)
	}
	return nil
}

func (p *passing) Done() <-chan struct{} { return p.done }

// fuse is a context that is done after a number of checks whether it is. An operation of many chunks that
// checks between them uses them up.
type fuse struct {
	context.Context
	mu      sync.Mutex
	asks    int // checks that are left
	done    chan struct{}
	watched bool // somebody waits on Done, which ends it early too
}

func newFuse(ctx context.Context, asks int) *fuse {
	return &fuse{Context: ctx, asks: asks, done: make(chan struct{})}
}

func (f *fuse) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asks < 0 {
		return context.Canceled
	}
	if f.asks--; f.asks < 0 {
		close(f.done)
		return context.Canceled
	}
	return nil
}

func (f *fuse) Done() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watched = true
	return f.done
}

// blown reports whether the context is done, and whether the operation ignored it: one that
// neither checks nor watches the context cannot end in time.
func (f *fuse) blown() (done, ignored bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asks < 0, f.asks >= 0 && !f.watched
}

// wantFuse fails unless an operation of many chunks, which has done n of size bytes, ended because
// its context did.
func (e *env) wantFuse(f *fuse, n, size int, err error) {
	e.Helper()
	done, ignored := f.blown()
	switch {
	case ignored:
		e.Fatal("the context was not checked between chunks")
	case done:
		e.wantCanceled(err, context.Canceled, "/f")
		if n < 0 || n >= size {
			e.Errorf("%d of %d bytes are said to be done", n, size)
		}
	default:
		e.ok(err)
	}
}

const fuseChunks = 6
