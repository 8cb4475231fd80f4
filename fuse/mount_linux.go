package fuse

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	raw "github.com/hanwen/go-fuse/v2/fuse"
	"github.com/paddlecloud/pfs/pfs"
)

const (
	subtype   = "pfs"
	fsType    = "fuse." + subtype // in the table of mounts
	readAhead = 4096              // of a mount, in KiB
)

// Mounted is a mount that this process serves.
type Mounted struct {
	s    *server
	done chan struct{}
}

// Mount shows fsys at dir until it is unmounted. dir is an empty directory, or a directory of another
// mount that shows the same directory. ctx holds values for all calls of fsys; its end does not end the
// mount. A mount of this package whose server has died is replaced.
//
// With Options.Broker, this server may be the replacement of a server with the same file system and
// options. Programs that use the mount then notice only a pause.
func Mount(ctx context.Context, fsys pfs.FileSystem, dir string, opts Options) (*Mounted, error) {
	if opts.Root == "" {
		opts.Root = pfs.Root
	}
	if opts.Timeout == 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.ReadOnly && opts.Protection == nil {
		opts.Protection = func(context.Context, pfs.Path) (Protection, error) { return Foreign, nil }
	}
	if opts.OpenMode == NoOpen && !opts.ReadOnly {
		return nil, pfs.Errorf("fuse.Mount", "", pfs.Invalid, "the open mode %s is for read-only mounts", NoOpen)
	}
	root, err := fsys.Stat(ctx, opts.Root)
	if opts.Broker != nil && opts.Broker.Replacements() > 0 {
		switch pfs.KindOf(err) {
		case pfs.Unavailable, pfs.Limit, pfs.Unauthenticated, pfs.Permission: // the mount goes on, and requests get this error while it lasts
			root, err = pfs.Info{Mode: fs.ModeDir}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if !root.IsDir() {
		return nil, pfs.Errorf("fuse.Mount", opts.Root, pfs.NotDir, "only a directory can be mounted")
	}
	connect := Connect
	if opts.Broker != nil {
		connect = opts.Broker.Connect
	}
	c, err := connect(dir, opts)
	if err != nil {
		return nil, err
	}
	m, err := serve(ctx, fsys, c, opts, root)
	if err == nil && opts.Broker == nil {
		err = quietPoll(c.Dir)
	}
	if err != nil {
		_ = c.Unmount()
		return nil, pfs.Errorf("fuse.Mount", "", pfs.KindOf(err), "mount %s: %w", c.Dir, err)
	}
	return m, nil
}

func serve(ctx context.Context, fsys pfs.FileSystem, c *Connection, opts Options, root pfs.Info) (*Mounted, error) {
	s := &server{
		RawFileSystem: raw.NewDefaultRawFileSystem(),
		fs:            fsys, opts: opts, tree: newTree(root), files: map[uint64]any{}, unsaid: map[uint64]bool{}, spaces: map[pfs.Path]space{}, connection: c,
		self:   raw.Owner{Uid: c.UID, Gid: c.GID},
		asRoot: os.Geteuid() == 0 && !opts.Squash,
	}
	if o := opts.Owner; o != nil {
		s.self = raw.Owner{Uid: o.UID, Gid: o.GID}
	}
	s.unopened.files, s.unopenedDirs = map[*node]*unopenedFile{}, map[*node]*openDir{}
	s.infos, s.tree.learns = fsys.(infoOpener)
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	if opts.WriteBehind != "" && !opts.ReadOnly {
		s.parts = make(chan []byte, behindParts)
		for range behindParts {
			s.parts <- nil
		}
	}
	if root.ModTime.IsZero() {
		s.tree.root.asDir().mode = 0 // unknown
	}
	taken := false
	var err error
	if len(c.State) == 2 {
		if s.journal, taken, err = openJournal(c.State, opts.Logger, s.resume); err != nil {
			return nil, err
		}
		if s.tree.journal = s.journal; taken {
			s.resumed()
		} else if opts.Broker.Replacements() > 0 {
			return nil, errors.New("the server before this one could not record its state, so the mount cannot be continued")
		} else {
			s.journal.noteNode(s.tree.root)
		}
	}
	if s.device, err = newDevice(c, s); err != nil {
		return nil, err
	}
	if taken { // before this server takes a request, which would be sent to it twice
		if err := s.device.resend(); err != nil {
			opts.Logger.Warn("the kernel cannot repeat the requests that the last server had taken; programs that wait for them must be killed (it needs Linux 6.9)", "error", err)
		}
	}
	m := &Mounted{s: s, done: make(chan struct{})}
	go func() {
		defer close(m.done)
		s.device.serve()
		_ = s.drainAll(s.ctx) // logs errors
		s.stop()
		if !s.device.draining.Load() { // else readers wait until the process ends
			c.close()
		}
	}()
	if opts.Broker != nil {
		go func() { // the broker may not answer
			if err := opts.Broker.Serving(s.healthy, s.device.drain); err != nil {
				opts.Logger.Warn("the broker does not answer", "error", err)
			}
		}()
	}
	return m, nil
}

// healthy returns once it has held the lock of the tree and flushed the journal, which all requests need.
func (s *server) healthy() {
	s.tree.mu.Lock()
	s.tree.mu.Unlock() //lint:ignore SA2001 whoever holds the lock does not block
	s.journal.flush()
}

// logWriter passes the messages of the library on to a logger.
type logWriter struct{ logger *slog.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	w.logger.Warn(strings.TrimSpace(string(p)))
	return len(p), nil
}

// Done is closed when the mount has ended.
func (m *Mounted) Done() <-chan struct{} { return m.done }

// Replaced reports whether another server takes over, so that the mount has ended only for this one.
func (m *Mounted) Replaced() bool { return m.s.device.draining.Load() }

// Close ends the mount. Programs that use it then get errors. Completed writes are on the store if it
// accepts them before ctx is done; the log names the files of other writes.
func (m *Mounted) Close(ctx context.Context) error {
	select {
	case <-m.done: // another mount may be in its place
		return nil
	default:
	}
	first := patience
	if end, ok := ctx.Deadline(); ok {
		first = min(first, time.Until(end)/2)
	}
	wait, stop := context.WithTimeout(ctx, first)
	defer stop()
	unmounted := make(chan error, 1)
	go func() { unmounted <- m.s.connection.Unmount() }() // the kernel or the broker may not answer
	var err error
	select {
	case err = <-unmounted:
	case <-wait.Done():
		err = pfs.Errorf("fuse.Close", "", pfs.Unavailable, "%s is still mounted: neither the kernel nor the broker has unmounted it in time", m.s.connection.Dir)
	}
	if err == nil {
		select {
		case <-m.done:
			return nil
		case <-wait.Done(): // some program has a file open
		}
	}
	if err := m.s.drainAll(ctx); err != nil {
		m.s.opts.Logger.Error("some of what programs have written could not be sent to the store", "error", err)
	}
	m.s.eachBehind(func(o *openFile, bytes int64) {
		name, _ := m.s.path(o.node)
		m.s.opts.Logger.Error("the mount ends before the store has all bytes that programs have written", "path", name, "bytes", bytes)
	})
	return err
}

// patience is how long a mount may take to answer or to end.
const patience = 5 * time.Second

// busyWait is how long Unmount waits for a mount that is in use: Mounts and df use each mount for a moment.
const busyWait = time.Second

// endWait bounds the time for the processes of a mount to end. They upload staged files first.
const endWait = 30 * time.Second

// free returns the real name of dir, and checks that it can be a mount point.
func free(dir string, opts Options) (string, error) {
	const op = "fuse.Mount"
	dir, err := real(dir)
	if err != nil {
		return "", pfs.Errorf(op, "", pfs.KindOf(err), "mount point: %w", err)
	}
	if e, ok := find(dir); ok && e.fsType == fsType {
		switch st := e.status(); st.State {
		case dead:
			if err := unmount(dir, true); err != nil {
				return "", err
			}
			return free(dir, opts)
		default:
			return "", pfs.Errorf(op, "", pfs.Exist, "%s is mounted already (%s, from %s): end that mount first (paddlectl umount %s), or choose another directory", dir, st.State, st.Source, dir)
		}
	}
	entries, err := os.Open(dir)
	if err == nil {
		defer entries.Close()
		var names []string
		if names, err = entries.Readdirnames(1); len(names) > 0 && !shows(dir, opts) {
			return "", pfs.Errorf(op, "", pfs.NotEmpty, "mount point %s: a mount would hide what is in it; choose an empty directory", dir)
		}
	}
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return "", pfs.Errorf(op, "", pfs.NotDir, "mount point %s", dir)
	case err != nil && !errors.Is(err, io.EOF):
		return "", pfs.Errorf(op, "", pfs.KindOf(err), "mount point: %w", err)
	}
	return dir, nil
}

// shows reports whether dir is a directory of another mount that shows the same directory as a mount with opts.
func shows(dir string, opts Options) bool {
	outer := containing(dir)
	if outer.fsType != fsType || outer.source != opts.Source {
		return false
	}
	root, err := pfs.CleanPath(outer.status().Root + strings.TrimPrefix(dir, outer.dir))
	return err == nil && root == opts.Root
}

// containing returns the mount that contains the absolute path name.
func containing(name string) (found entry) {
	all, _ := mounts()
	for _, e := range all { // later ones are above earlier ones
		if len(e.dir) >= len(found.dir) && pfs.Path(name).Within(pfs.Path(e.dir)) {
			found = e
		}
	}
	return found
}

// real returns the absolute name of dir without symbolic links. It does not touch a mount at dir,
// which may not answer.
func real(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return "", err
	}
	name := filepath.Join(parent, filepath.Base(dir))
	if _, ok := find(name); ok {
		return name, nil
	}
	return filepath.EvalSymlinks(dir)
}

// running reports whether a process has not ended. An ended process counts as ended even if its parent does not wait for it, such
// as the first process of a container.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ") // the name of the program may have any bytes
	return err != nil || !strings.HasPrefix(state, "Z")
}

// Unmount ends the mount at dir and waits until its server has ended.
func Unmount(dir string) error {
	const op = "fuse.Unmount"
	dir, err := real(dir)
	if err != nil {
		return pfs.Errorf(op, "", pfs.KindOf(err), "mount point: %w", err)
	}
	e, ok := find(dir)
	switch {
	case !ok:
		return pfs.Errorf(op, "", pfs.NotExist, "nothing is mounted at %s", dir)
	case e.fsType != fsType:
		return pfs.Errorf(op, "", pfs.Invalid, "%s is a mount of type %s and not of this program", dir, e.fsType)
	}
	all, _ := mounts()
	for _, other := range all {
		if strings.HasPrefix(other.dir, dir+"/") {
			return pfs.Errorf(op, "", pfs.Unavailable, "%s is in use: end the mount at %s first", dir, other.dir)
		}
	}
	st := e.status()
	start := time.Now()
	for err = unmount(dir, st.State == dead); err != nil; err = unmount(dir, false) {
		if pfs.KindOf(err) != pfs.Unavailable || time.Since(start) > busyWait {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	end := time.Now().Add(endWait)
	for _, pid := range []int{st.ServerPID, st.BrokerPID} {
		for ; pid > 0 && pid != os.Getpid() && running(pid); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				return pfs.Errorf(op, "", pfs.Unavailable, "%s is unmounted, but its process %d is still at work", dir, pid)
			}
		}
	}
	return nil
}

// unmount unmounts dir; lazily means also if it is in use.
func unmount(dir string, lazily bool) error {
	const op = "fuse.Unmount"
	var err error
	if os.Geteuid() == 0 {
		flags := 0
		if lazily {
			flags = syscall.MNT_DETACH
		}
		err = syscall.Unmount(dir, flags)
	} else {
		args := []string{"-u"}
		if lazily {
			args = append(args, "-z")
		}
		var out []byte
		if out, err = exec.Command("fusermount3", append(args, "--", dir)...).CombinedOutput(); err != nil {
			if strings.Contains(string(out), "busy") {
				err = syscall.EBUSY
			} else {
				err = helperFailed(err, out)
			}
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EBUSY):
		return pfs.Errorf(op, "", pfs.Unavailable, "%s is in use: end the programs that have files open in it or work in it (fuser -vm %s)", dir, dir)
	}
	return pfs.Errorf(op, "", pfs.KindOf(err), "unmount %s: %w", dir, err)
}

// Control makes the mount at dir send all written bytes to the store, and then execute a command of Options.Control. It
// returns the error of either. A mount without Options.Control answers Unsupported when all bytes are sent.
func Control(dir, command string) error {
	const op = "fuse.Control"
	dir, err := real(dir)
	if err != nil {
		return pfs.Errorf(op, "", pfs.KindOf(err), "mount point: %w", err)
	}
	if e, ok := find(dir); !ok || e.fsType != fsType {
		return pfs.Errorf(op, "", pfs.NotExist, "%s is not a mount of this program", dir)
	}
	text := make([]byte, 64<<10)
	n, err := syscall.Getxattr(dir, controlXattr+command, text)
	if err == syscall.ENODATA {
		return pfs.Errorf(op, "", pfs.Unsupported, "the mount at %s stages no files, or belongs to another user", dir)
	}
	if err != nil {
		return pfs.Errorf(op, "", pfs.KindOf(err), "%s: %w", dir, err)
	}
	var a answer
	if err := json.Unmarshal(text[:n], &a); err != nil {
		return pfs.E(op, "", pfs.Other, err)
	}
	return a.failure(op)
}

// Mounts returns the mounts of this package on this machine, in the order of their mounting.
func Mounts() ([]Status, error) {
	all, err := mounts()
	if err != nil {
		return nil, pfs.E("fuse.Mounts", "", pfs.KindOf(err), err)
	}
	found := []Status{}
	for _, e := range all {
		if e.fsType == fsType {
			found = append(found, e.status())
		}
	}
	return found, nil
}

// MountAt returns the mount of this package at dir. It asks no other mount, which might not answer.
func MountAt(dir string) (Status, error) {
	const op = "fuse.MountAt"
	name, err := real(dir)
	if err != nil && pfs.KindOf(err) != pfs.NotExist {
		return Status{}, pfs.Errorf(op, "", pfs.KindOf(err), "mount point: %w", err)
	}
	e, ok := find(name)
	if !ok || e.fsType != fsType {
		return Status{}, pfs.Errorf(op, "", pfs.NotExist, "nothing is mounted at %s", dir)
	}
	return e.status(), nil
}

// MountOf returns the mount of this package that contains the path name. It asks no other mount.
func MountOf(name string) (Status, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return Status{}, pfs.E("fuse.MountOf", "", pfs.KindOf(err), err)
	}
	e := containing(name)
	if e.fsType != fsType {
		return Status{}, pfs.Errorf("fuse.MountOf", "", pfs.NotExist, "%s is not in a mount of this program", name)
	}
	return e.status(), nil
}

// entry is a mount in the table of the kernel.
type entry struct {
	device, dir, fsType, source string
	readOnly                    bool
}

// mounts returns all mounts.
func mounts() (all []entry, err error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(table)) {
		left, right, _ := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) < 6 || len(r) < 2 {
			continue
		}
		ro := l[5] == "ro" || strings.HasPrefix(l[5], "ro,")
		all = append(all, entry{device: l[2], dir: unescape(l[4]), fsType: r[0], source: unescape(r[1]), readOnly: ro})
	}
	return all, nil
}

// unescape undoes the escapes of the kernel's table.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// find returns the topmost mount at dir.
func find(dir string) (found entry, ok bool) {
	all, _ := mounts()
	for _, e := range all {
		if e.dir == dir {
			found, ok = e, true
		}
	}
	return found, ok
}

// The states of a mount.
const (
	serving = "serving"
	dead    = "dead"
	silent  = "silent"
	private = "private"
)

// status asks the server of a mount.
func (e entry) status() Status {
	st := Status{MountPoint: e.dir, Source: e.source, ReadOnly: e.readOnly, State: silent}
	q := e.ask()
	select {
	case <-time.After(patience):
	case <-q.answered:
		switch {
		case errors.Is(q.err, syscall.ENOTCONN), errors.Is(q.err, syscall.ECONNABORTED):
			st.State = dead
		case errors.Is(q.err, fs.ErrPermission):
			st.State = private
		case q.err == nil && json.Unmarshal(q.value, &st) == nil:
			st.MountPoint, st.Source = e.dir, e.source
		}
	}
	return st
}

// question is a request for the status of a mount, which its server may never answer.
type question struct {
	answered chan struct{} // closed when value or err is set
	value    []byte
	err      error
}

// questions are the unanswered questions, by device and directory. The thread that waits for a silent mount cannot be
// ended, so each mount is asked once at a time.
var questions = struct {
	sync.Mutex
	of map[[2]string]*question
}{of: map[[2]string]*question{}}

// ask asks the server of a mount for its status.
func (e entry) ask() *question {
	key := [2]string{e.device, e.dir}
	questions.Lock()
	defer questions.Unlock()
	q := questions.of[key]
	if q != nil {
		return q
	}
	q = &question{answered: make(chan struct{})}
	questions.of[key] = q
	go func() {
		value := make([]byte, 64<<10)
		n, err := syscall.Getxattr(e.dir, statusXattr, value)
		questions.Lock()
		delete(questions.of, key)
		questions.Unlock()
		q.value, q.err = value[:max(0, n)], err
		close(q.answered)
	}()
	return q
}
