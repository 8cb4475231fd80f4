//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// call is one running operation. libcephfs takes no context and may wait for the cluster forever,
// so an operation runs in its own goroutine. Its caller waits until the context is done, or until
// one call of libcephfs has had no response for the timeout. Then the operation is abandoned: it
// makes no further call of libcephfs, except to undo its changes.
type call struct {
	ctx  context.Context
	m    *mount
	user *user
	s    *store

	names []pfs.Path    // the names that it changes
	over  chan struct{} // closed once it has ended, abandoned or not

	state   *atomic.Int32 // running, finished or abandoned
	since   atomic.Int64  // start of its current call of libcephfs, in ns
	changed atomic.Bool   // it made a call that must not be repeated
	undoing bool          // it continues after it was abandoned
	counted bool          // it is counted in m.silent; guarded by m.mu
}

// The states of an operation.
const (
	running int32 = iota
	finished
	abandoned
)

// result is the result of an operation.
type result[T any] struct {
	v   T
	err error
}

// run runs an operation on the current mount. If that mount is lost before the operation has
// changed anything, the operation is repeated on the next mount. drop, if not nil, releases the
// result of an operation that succeeded after it was abandoned.
func run[T any](ctx context.Context, f FS, do func(c *call) (T, error), drop func(T)) (T, error) {
	return runChange(ctx, f, nil, do, drop)
}

// runChange is run for an operation that changes these names, or something below them. It first
// waits for abandoned changes of the same names.
func runChange[T any](ctx context.Context, f FS, names []pfs.Path, do func(c *call) (T, error), drop func(T)) (T, error) {
	var none T
	for again := true; ; again = false {
		m, err := f.store.mounted(ctx)
		if err == nil {
			err = f.store.awaitAbandoned(ctx, m, names)
		}
		if err != nil {
			return none, err
		}
		c := &call{ctx: ctx, m: m, user: f.store.user(f.as), s: f.store, names: names, over: make(chan struct{}), state: new(atomic.Int32)}
		v, err := begin(c, do, drop)
		if err == nil || !again || retry.From(ctx).Spent() || c.state.Load() != finished || c.changed.Load() || !lost(err) {
			return v, err
		}
	}
}

// begin starts an operation and waits for it.
func begin[T any](c *call, do func(c *call) (T, error), drop func(T)) (none T, err error) {
	if err := c.s.calls.Acquire(c.ctx, 1); err != nil {
		return none, timedOut(c.ctx)
	}
	c.since.Store(time.Now().UnixNano())
	done := make(chan result[T], 1)
	go func() {
		defer c.s.calls.Release(1)
		defer c.m.answered(c)
		defer c.s.abandoned.end(c)
		var v T
		err := pfs.Guard("cephfs.begin", "", func() (err error) {
			v, err = do(c)
			return err
		})
		if c.state.CompareAndSwap(running, finished) {
			done <- result[T]{v, err}
			return
		}
		if err == nil && drop != nil {
			drop(v)
		}
	}()
	return wait(c, done)
}

// wait returns the result of an operation, or abandons it.
func wait[T any](c *call, done chan result[T]) (none T, err error) {
	timer := time.NewTimer(c.s.opts.Timeout)
	defer timer.Stop()
	for {
		select {
		case r := <-done:
			return r.v, r.err
		case <-c.ctx.Done():
			err = timedOut(c.ctx)
		case <-timer.C:
			if left := c.patience(); left > 0 {
				timer.Reset(left)
				continue
			}
			err = c.s.notAnswered()
		}
		if !c.state.CompareAndSwap(running, abandoned) {
			r := <-done // it has just ended
			return r.v, r.err
		}
		if len(c.names) > 0 {
			c.s.abandoned.add(c)
		}
		if left := c.patience(); left > 0 {
			time.AfterFunc(left, c.unanswered)
		} else {
			c.unanswered()
		}
		return none, err
	}
}

// patience returns how much longer the current call of libcephfs may wait for the cluster.
func (c *call) patience() time.Duration {
	return c.s.opts.Timeout - time.Since(time.Unix(0, c.since.Load()))
}

// unanswered is called when an abandoned operation may have had no answer for the timeout. It gives
// the mount up if too many operations have none. Callers that go away, perhaps many at once, do not
// show that the cluster is silent.
func (c *call) unanswered() {
	if c.m.unanswered(c) > maxAbandoned {
		c.s.giveUp(c.m, c.s.notAnswered())
	}
}

// notAnswered returns the error of a call that the cluster has not answered.
func (s *store) notAnswered() error {
	return pfs.Errorf("cephfs.wait", "", pfs.Unavailable, "the CephFS has not answered for %v", s.opts.Timeout)
}

// timedOut returns the error of an operation whose context is done.
func timedOut(ctx context.Context) error {
	if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
		return pfs.Errorf("cephfs.wait", "", pfs.Canceled, "the CephFS did not answer in time: %w", err)
	}
	return pfs.E("cephfs.wait", "", pfs.Canceled, ctx.Err())
}

// errAbandoned ends an abandoned operation.
var errAbandoned = errors.New("the caller no longer waits")

// undo returns a call for the steps of c that must be done even if c was abandoned.
func (c *call) undo() *call {
	return &call{ctx: context.WithoutCancel(c.ctx), m: c.m, user: c.user, s: c.s, names: c.names, over: c.over, state: c.state, undoing: true}
}

// lib makes one call of libcephfs that may be repeated on another mount.
func (c *call) lib(do func(m *cMount, p *cPerms) error) error { return c.libAs(c.user, do) }

// ask is lib for a call that returns a value.
func ask[T any](c *call, do func(m *cMount, p *cPerms) (T, error)) (v T, err error) {
	err = c.lib(func(m *cMount, p *cPerms) (err error) {
		v, err = do(m, p)
		return err
	})
	return v, err
}

// libAs is lib as another user.
func (c *call) libAs(w *user, do func(m *cMount, p *cPerms) error) error {
	if err := c.goOn(); err != nil {
		return err
	}
	err := c.inside(w, do)
	if lost(err) {
		c.s.giveUp(c.m, err)
	}
	return err
}

// inside makes the call, if the mount is not dead.
func (c *call) inside(w *user, do func(m *cMount, p *cPerms) error) error {
	if err := c.m.enter(); err != nil {
		return err
	}
	defer c.m.leave()
	c.since.Store(time.Now().UnixNano())
	defer runtime.KeepAlive(w)
	return do(c.m.c, w.perms)
}

// once makes one call of libcephfs that changes these names and must not be repeated: if the mount
// is lost meanwhile, it is unknown whether the cluster has done it.
func (c *call) once(do func(m *cMount, p *cPerms) error, names ...dirName) error {
	return c.onceAs(c.user, do, names...)
}

// onceAs is once as another user.
func (c *call) onceAs(w *user, do func(m *cMount, p *cPerms) error, names ...dirName) error {
	defer c.m.names.Lock(dirName.compare, names...)()
	return c.libAs(w, func(m *cMount, p *cPerms) error {
		c.changed.Store(true)
		return do(m, p)
	})
}

// goOn returns an error if no further call of libcephfs may be made.
func (c *call) goOn() error {
	switch {
	case c.undoing:
		return nil
	case c.state.Load() == abandoned:
		return errAbandoned
	case c.ctx.Err() != nil:
		return pfs.E("cephfs.wait", "", pfs.Canceled, c.ctx.Err())
	}
	return nil
}

// release gives an inode back to libcephfs, unless the mount is dead.
func (c *call) release(in *cInode) {
	if c.m.enter() != nil {
		return
	}
	defer c.m.leave()
	c.m.put(in)
}

// lost reports whether err says that this mount has ended: the cluster evicted its client, or the
// store gave it up.
func lost(err error) bool {
	return errors.Is(err, errGone) || errors.Is(err, syscall.ESHUTDOWN) || errors.Is(err, syscall.ENOTCONN)
}
