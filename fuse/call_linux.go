package fuse

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	raw "github.com/hanwen/go-fuse/v2/fuse"
	"github.com/paddlecloud/pfs/pfs"
)

// harmless are signals after which programs go on. An operation that they interrupt goes on too.
const harmless = 1<<(syscall.SIGURG-1) | 1<<(syscall.SIGCHLD-1) | 1<<(syscall.SIGWINCH-1) | 1<<(syscall.SIGPROF-1) |
	1<<(syscall.SIGALRM-1) | 1<<(syscall.SIGVTALRM-1) | 1<<(syscall.SIGIO-1) | 1<<(syscall.SIGCONT-1) |
	1<<(syscall.SIGUSR1-1) | 1<<(syscall.SIGUSR2-1)

// call returns the context of a request. It ends when a signal ends the caller's program, when the
// mount ends, or with end.
func (s *server) call(cancel <-chan struct{}, h *raw.InHeader) (ctx context.Context, end func()) {
	ctx, stop := context.WithCancel(s.ctx)
	pid := h.Pid
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-cancel:
		}
		// The kernel reports only the first signal.
		again := time.NewTicker(time.Second)
		defer again.Stop()
		for !ended(pid) {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
			}
		}
		stop()
	}()
	return ctx, stop
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
