package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
)

// Options are the options of Run.
type Options struct {
	// Command returns the command of a server, which calls Inherited and fuse.Mount. Run adds to
	// its environment, extra files and attributes.
	Command func() *exec.Cmd

	// Unprivileged runs the server as the user Nobody, without capabilities. It needs root.
	Unprivileged bool

	// StateDir is a directory on a local disk for the state that a replacement reads: about 40 bytes for each
	// file that the kernel knows. The files have no names, so none is left. Empty means os.TempDir().
	StateDir string

	// Ready, if not nil, is called when the first server answers requests.
	Ready func()

	// Upgrade, if not nil, replaces the server for each channel that is received from it. The result is sent
	// on that channel: nil, or the reason why the old server continues.
	Upgrade <-chan chan<- error

	// Signals, if not nil, has signals for the server.
	Signals <-chan os.Signal

	// Patience is how long a server may take to show that it works. 0 means 30 seconds.
	Patience time.Duration

	// Start is how long a replacement may take until it serves: it must reach its store and read the state.
	// After that it is killed and replaced, any number of times, because the store may be down. 0 means 5 minutes.
	Start time.Duration

	// Grace is how long a server may take to end. 0 means 30 seconds.
	Grace time.Duration

	// Logger receives starts and ends of servers; nil discards them.
	Logger *slog.Logger
}

// Nobody is the user and the group of a server without privileges.
const Nobody = 65534

const (
	// A server that dies so soon after it began to serve, or before, counts as a quick death.
	quick     = 200 * time.Millisecond
	mostQuick = 10               // in a row; then the mount ends
	longest   = 10 * time.Second // pause before a replacement

	mostSilent = 3 // servers in a row that do not answer; then the mount ends

	// mostUnanswered is the number of pings in a row without an answer after which a server counts as blocked. Pings
	// are counted instead of time, because this process itself may be stopped for any time.
	mostUnanswered = 3

	// In an upgrade, startWait bounds the time in which the new server opens its store, and drainWait the time
	// in which the old server answers its last requests. The new server gets the requests that are left.
	startWait = time.Minute
	drainWait = 5 * time.Second
)

// broker keeps one mount.
type broker struct {
	opts     Options
	id       string
	state    []*os.File
	replaced int // servers that were started after the first one

	mu         sync.Mutex // guards the following
	connection *fuse.Connection
	format     uint32 // of the record of its state
	ready      bool
	kept       map[string]*os.File // for the next server
}

// server is a child process.
type server struct {
	b       *broker
	session string
	cmd     *exec.Cmd
	socket  *socket
	started time.Time
	ended   chan struct{} // closed after the process has ended, with err
	err     error

	mayConnect chan struct{} // closed when the server before it has ended
	asked      chan struct{} // closed when it asks for the mount

	mu         sync.Mutex // guards the following
	misfit     error      // why it cannot take over
	serving    time.Time  // since when, zero if not yet
	answers    bool       // it has answered a question
	unanswered int        // questions since the last answer
	checks     int        // before it served
}

// Run starts a server, which mounts, and keeps the mount until it ends: by umount, by the server, or by the
// end of ctx, which sends SIGTERM to the server. If the first server ends before it has mounted, Run returns
// its error, an *exec.ExitError.
func Run(ctx context.Context, opts Options) error {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Patience == 0 {
		opts.Patience = 30 * time.Second
	}
	if opts.Start == 0 {
		opts.Start = 5 * time.Minute
	}
	if opts.Grace == 0 {
		opts.Grace = 30 * time.Second
	}
	b := &broker{opts: opts, id: pfs.NewID(), kept: map[string]*os.File{}}
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, f := range b.kept {
			f.Close()
		}
	}()
	for range 2 {
		f, err := os.CreateTemp(opts.StateDir, "pfs-mount-")
		if err != nil {
			return pfs.E("broker.Run", "", pfs.KindOf(err), err)
		}
		defer f.Close()
		if err := os.Remove(f.Name()); err != nil {
			return pfs.E("broker.Run", "", pfs.KindOf(err), err)
		}
		b.state = append(b.state, f)
	}
	return b.run(ctx)
}

func (b *broker) run(ctx context.Context) error {
	free := make(chan struct{})
	close(free)
	s, err := b.start(free, b.newSession(), false)
	if err != nil {
		return err
	}
	deaths, silent := 0, 0
	own := false // replacements run the program of this process
	tick := time.NewTicker(b.opts.Patience / mostUnanswered)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return b.stop(s)
		case sig := <-b.opts.Signals:
			_ = s.cmd.Process.Signal(sig)
		case reply := <-b.opts.Upgrade:
			next, err := b.upgrade(ctx, s)
			if err == nil {
				s, deaths, own = next, 0, false
			} else {
				m := answerOf(err)
				m.Do = doRefused
				go s.socket.send(m)
			}
			reply <- err
		case <-tick.C:
			switch answered, works := s.check(); {
			case answered:
				silent = 0
			case !works:
				if s.lived() > 0 {
					silent++
				}
				b.opts.Logger.Error("the server of the mount does not answer and is killed", "mount_point", b.dir(), "pid", s.cmd.Process.Pid)
				if !s.kill() {
					return s.stuck()
				}
			}
		case <-s.ended:
			if ctx.Err() != nil { // no death: the mount is to end
				return b.stop(s)
			}
			c := b.mountOf()
			if !b.isReady() {
				if c != nil {
					_ = c.Unmount()
				}
				return s.err
			}
			if c.Ended() {
				return nil
			}
			if s.err == nil { // a signal asked it to end the mount
				return c.Abort()
			}
			if s.lived() < quick && time.Since(s.started) < b.opts.Start {
				deaths++
			} else {
				deaths = 0
			}
			if deaths >= mostQuick || silent >= mostSilent {
				_ = b.mountOf().Abort()
				return pfs.Errorf("broker.Run", "", pfs.Unavailable, "the mount at %s is ended: its servers die at once or do not answer (the last one: %v)", b.dir(), s.err)
			}
			b.opts.Logger.Error("the server of the mount has ended and is replaced", "mount_point", b.dir(), "pid", s.cmd.Process.Pid, "error", s.err)
			if deaths > 1 && !sleep(ctx, min(longest, 50*time.Millisecond<<deaths)) {
				continue
			}
			own = own || s.unfit() != nil
			next, err := b.start(free, s.session, own)
			if err != nil && !own { // another program is just being installed
				own = true
				next, err = b.start(free, s.session, own)
			}
			if s = next; err != nil {
				_ = b.mountOf().Abort()
				return err
			}
		}
	}
}

// sleep waits, and reports whether ctx is not done.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err() == nil
}

func (b *broker) mountOf() *fuse.Connection {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.connection
}

func (b *broker) isReady() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready
}

func (b *broker) dir() string {
	if c := b.mountOf(); c != nil {
		return c.Dir
	}
	return ""
}

// stop ends the server s, and the mount.
func (b *broker) stop(s *server) error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(b.opts.Grace):
		if !s.kill() {
			return s.stuck()
		}
	}
	c := b.mountOf()
	if c == nil {
		return s.err
	}
	if !c.Ended() {
		return c.Abort() // Unmount could wait for a server for ever
	}
	return nil
}

// upgrade replaces the server old by a new one, and returns the new one when it has taken over.
func (b *broker) upgrade(ctx context.Context, old *server) (*server, error) {
	const op = "broker.upgrade"
	mayConnect := make(chan struct{})
	s, err := b.start(mayConnect, b.newSession(), false)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.asked:
	case <-s.ended:
		return nil, pfs.Errorf(op, "", pfs.Other, "the new server has ended; the old one goes on: %v", cmp.Or(s.unfit(), s.err))
	case <-ctx.Done():
		_ = s.cmd.Process.Kill()
		return nil, pfs.CheckContext(ctx, op, "")
	case <-time.After(startWait):
		_ = s.cmd.Process.Kill()
		return nil, pfs.Errorf(op, "", pfs.Unavailable, "the new server has not opened its store in %v; the old one goes on", startWait)
	}
	_ = old.socket.send(message{Do: doDrain})
	select {
	case <-old.ended:
	case <-time.After(drainWait):
		if !old.kill() { // run ends the mount when it finds the same
			_ = s.cmd.Process.Kill()
			return nil, pfs.Errorf(op, "", pfs.Unavailable, "process %d, the old server, does not end", old.cmd.Process.Pid)
		}
	}
	close(mayConnect)
	return s, nil
}

// kill kills s and reports whether it has ended. A process can be stuck in the kernel.
func (s *server) kill() (ended bool) {
	_ = s.cmd.Process.Kill()
	select {
	case <-s.ended:
		return true
	case <-time.After(s.b.opts.Patience):
		return false
	}
}

// stuck ends the mount of s, which was killed but has not ended: no other server could work beside it.
func (s *server) stuck() error {
	b := s.b
	if c := b.mountOf(); c != nil {
		_ = c.Abort()
	}
	return pfs.Errorf("broker.Run", "", pfs.Unavailable, "the mount at %s is ended: process %d, its server, was killed and does not end", b.dir(), s.cmd.Process.Pid)
}

// newSession returns a session for a server and its replacements.
func (b *broker) newSession() string { return b.id + "-" + pfs.NewID() }

// start starts a server. The server gets the mount when mayConnect is closed. With own it runs the program of this process,
// even if another version is installed now.
func (b *broker) start(mayConnect chan struct{}, session string, own bool) (*server, error) {
	const op = "broker.start"
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, pfs.E(op, "", pfs.KindOf(err), err)
	}
	theirs := os.NewFile(uintptr(ends[1]), "server")
	defer theirs.Close()
	s := &server{b: b, session: session, cmd: b.opts.Command(), started: time.Now(), ended: make(chan struct{}), mayConnect: mayConnect, asked: make(chan struct{})}
	if s.socket, err = newSocket(os.NewFile(uintptr(ends[0]), "broker")); err != nil {
		return nil, pfs.E(op, "", pfs.KindOf(err), err)
	}
	if own {
		s.cmd.Path = "/proc/self/exe"
	}
	if s.cmd.Env == nil {
		s.cmd.Env = os.Environ()
	}
	if b.mountOf() != nil {
		b.replaced++
	}
	value := fmt.Sprintf("%d,%d,%s", 3+len(s.cmd.ExtraFiles), b.replaced, session)
	s.cmd.Env = append(s.cmd.Env, variable+"="+value)
	s.cmd.ExtraFiles = append(s.cmd.ExtraFiles, theirs)
	if b.opts.Unprivileged {
		if s.cmd.SysProcAttr == nil {
			s.cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		s.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: Nobody, Gid: Nobody}
	}
	if err := s.cmd.Start(); err != nil {
		s.socket.c.Close()
		return nil, pfs.E(op, "", pfs.KindOf(err), err)
	}
	go s.listen()
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
		s.socket.c.Close()
	}()
	return s, nil
}

// listen answers the requests of s, until it has ended.
func (s *server) listen() {
	for {
		m, files, err := s.socket.receive()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
				s.b.opts.Logger.Debug("a server's socket", "error", err)
			}
			return
		}
		if m.Do == doPong {
			s.mu.Lock()
			s.answers, s.unanswered = true, 0
			s.mu.Unlock()
			continue
		}
		answer, with := s.do(m, files)
		err = s.socket.send(answer, with...)
		for _, f := range files {
			f.Close()
		}
		if err != nil {
			return
		}
	}
}

// do executes a request of s.
func (s *server) do(m message, files []*os.File) (answer message, with []*os.File) {
	b := s.b
	if m.Do == doConnect {
		if err := b.fits(m); err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.misfit = err
			return answerOf(err), nil
		}
		select {
		case <-s.asked:
			return answerOf(errors.New("the server is connected already")), nil
		default:
			close(s.asked)
		}
		select {
		case <-s.mayConnect:
		case <-s.ended: // the broker has given it up
			return answerOf(errors.New("the server has ended")), nil
		}
		if err := b.connect(m); err != nil {
			return answerOf(err), nil
		}
		c := b.mountOf()
		answer = message{Do: doAnswer, Dir: c.Dir, UID: c.UID, GID: c.GID, Hello: c.Hello, PID: os.Getpid()}
		return answer, append([]*os.File{c.Device}, b.state...)
	}
	c := b.mountOf()
	switch {
	case c == nil:
		return answerOf(errors.New("nothing is mounted yet")), nil
	case m.Do == doRegister && len(files) == 1:
		id, err := c.Register(files[0])
		answer = answerOf(err)
		answer.ID = id
		return answer, nil
	case m.Do == doUnregister:
		return answerOf(c.Unregister(m.ID)), nil
	case m.Do == doKeep && len(files) == 1:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.kept[m.Key].Close() // an error if there is none
		b.kept[m.Key], files[0] = files[0], nil
		return answerOf(nil), nil
	case m.Do == doKept:
		b.mu.Lock()
		defer b.mu.Unlock()
		if f := b.kept[m.Key]; f != nil {
			with = []*os.File{f}
		}
		return answerOf(nil), with
	case m.Do == doDrop:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.kept[m.Key].Close()
		delete(b.kept, m.Key)
		return answerOf(nil), nil
	case m.Do == doUnmount:
		return answerOf(c.Unmount()), nil
	case m.Do == doServing:
		s.mu.Lock()
		s.serving = time.Now()
		s.mu.Unlock()
		b.mu.Lock()
		first := !b.ready
		b.ready = true
		b.mu.Unlock()
		if first && b.opts.Ready != nil {
			b.opts.Ready()
		}
		return answerOf(nil), nil
	}
	return answerOf(fmt.Errorf("unknown request %q", m.Do)), nil
}

// connect mounts, unless the mount exists.
func (b *broker) connect(m message) error {
	if b.mountOf() != nil {
		return nil
	}
	// b.mu is not held, because the file system that contains the mount point may not answer. There is only one server
	// now, and it connects once.
	c, err := fuse.Connect(m.Dir, fuse.Options{Source: m.Source, ReadOnly: m.ReadOnly, Squash: m.Squash, Owner: m.Owner, Root: pfs.Path(m.Root), Logger: b.opts.Logger})
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.connection, b.format = c, m.Format
	return nil
}

// fits returns an error if a server that asks with m cannot read the journal of the mount.
func (b *broker) fits(m message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.connection == nil || m.Format == b.format {
		return nil
	}
	return fmt.Errorf("the journal of the mount at %s has format %d, and the program that is installed now reads format %d: "+
		"end the mount and mount again to use this program", b.connection.Dir, b.format, m.Format)
}

// unfit returns why s cannot take over, nil if it can.
func (s *server) unfit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.misfit
}

// check pings s. answered tells whether s has answered since the last check, works whether it may still answer.
func (s *server) check() (answered, works bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving.IsZero() { // the first one may need any time to open its store: nobody waits for it but who mounts
		s.checks++
		return false, !s.b.isReady() || time.Duration(s.checks)*s.b.opts.Patience/mostUnanswered <= s.b.opts.Start
	}
	answered, works = s.answers && s.unanswered == 0, s.unanswered < mostUnanswered
	s.unanswered++
	go s.socket.send(message{Do: doPing})
	return answered, works
}

// lived returns how long s has served.
func (s *server) lived() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving.IsZero() {
		return 0
	}
	return time.Since(s.serving)
}
