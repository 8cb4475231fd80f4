package fuse

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	raw "github.com/hanwen/go-fuse/v2/fuse"
	"github.com/paddlecloud/pfs/pfs"
)

// harmless are signals after which programs continue. They do not end an operation.
const harmless = 1<<(syscall.SIGURG-1) | 1<<(syscall.SIGCHLD-1) | 1<<(syscall.SIGWINCH-1) | 1<<(syscall.SIGPROF-1) |
	1<<(syscall.SIGALRM-1) | 1<<(syscall.SIGVTALRM-1) | 1<<(syscall.SIGIO-1) | 1<<(syscall.SIGCONT-1) |
	1<<(syscall.SIGUSR1-1) | 1<<(syscall.SIGUSR2-1)

// call returns the context of a request. It ends when a signal ends the caller's program, when the
// mount ends, or with end.
func (s *server) call(cancel <-chan struct{}, h *raw.InHeader) (ctx context.Context, end func()) {
	c := &callContext{Context: s.ctx, signaled: cancel, pid: h.Pid}
	return c, c.end
}

// callContext is the context of a request. It watches for signals only if Done is called: most requests are answered at
// once, and a goroutine for each would cost more than the request itself.
type callContext struct {
	context.Context // of the server

	signaled <-chan struct{}
	pid      uint32

	mu      sync.Mutex      // guards the following
	watched context.Context // nil until somebody waits
	stop    context.CancelFunc
	over    bool
}

// watch returns a context that ends with the request.
func (c *callContext) watch() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watched == nil {
		c.watched, c.stop = context.WithCancel(c.Context)
		if c.over {
			c.stop()
		} else {
			go c.await(c.watched.Done(), c.stop)
		}
	}
	return c.watched
}

// await calls stop when a signal ends the caller's program.
func (c *callContext) await(done <-chan struct{}, stop func()) {
	select {
	case <-done:
		return
	case <-c.signaled:
	}
	// The kernel reports only the first signal.
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for !ended(c.pid) {
		select {
		case <-done:
			return
		case <-again.C:
		}
	}
	stop()
}

// current returns the context to ask now.
func (c *callContext) current() context.Context {
	c.mu.Lock()
	watched, over := c.watched, c.over
	c.mu.Unlock()
	if watched != nil {
		return watched
	}
	select {
	case <-c.signaled:
		return c.watch()
	default:
	}
	if over {
		return c.watch()
	}
	return c.Context
}

func (c *callContext) Done() <-chan struct{} { return c.watch().Done() }

func (c *callContext) Err() error { return c.current().Err() }

func (c *callContext) Value(key any) any { return c.current().Value(key) }

// end ends the context.
func (c *callContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over = true; c.stop != nil {
		c.stop()
	}
}

// ended reports whether thread pid is gone or has a pending signal that is not harmless. It also
// reports true if this process cannot see the thread.
func ended(pid uint32) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return true
	}
	for line := range bytes.Lines(status) {
		name, value, _ := strings.Cut(string(line), ":")
		if name != "SigPnd" && name != "ShdPnd" {
			continue
		}
		set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err != nil || set&^harmless != 0 {
			return true
		}
	}
	return false
}

// logEvery is the shortest time between two messages about errors of the store.
const logEvery = 5 * time.Second

// fail returns the errno of err, and logs errors that an operator may want to know.
func (s *server) fail(err error) raw.Status {
	switch pfs.KindOf(err) {
	case pfs.Unavailable, pfs.Limit, pfs.Integrity, pfs.Other, pfs.Unauthenticated, pfs.Conflict, pfs.Stale:
	default:
		return statusOf(err)
	}
	now, last := time.Now().UnixNano(), s.logged.Load()
	if age := time.Duration(now - last); age >= 0 && age < logEvery || !s.logged.CompareAndSwap(last, now) {
		s.unlogged.Add(1)
		return statusOf(err)
	}
	s.opts.Logger.Warn(pfs.Detail(err), "since_last", s.unlogged.Swap(0))
	return statusOf(err)
}

// status is fail for an error that may be nil.
func (s *server) status(err error) raw.Status {
	if err == nil {
		return raw.OK
	}
	return s.fail(err)
}
