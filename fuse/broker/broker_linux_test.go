package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/cachefs"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	pfsd "github.com/paddlecloud/pfs/pfs/server"
)

// The test binary is also the broker, the server and the programs that use the mount: each is a process of its
// own, with its part in this variable and its settings in JSON in the other.
const (
	partVariable     = "PFS_TEST_PART"
	settingsVariable = "PFS_TEST_SETTINGS"
)

type settings struct {
	Dir        string        // mount point, or directory of a program
	Store      string        // a directory, or the URL of a service
	Cache      string        // a directory; with it the mount is read-only
	StoreFiles bool          // as the option of the mount
	Behind     string        // a directory for what is written behind
	Nobody     bool          // the server has no privileges
	Patience   time.Duration // of the broker
	Start      time.Duration // of the broker
	Fault      string        // a file; while it exists, writes to the store wait, or fail if it says "full"
	Hang       string        // a file with the time that new servers take to start
	Stuck      string        // a file; while it exists, new servers do not answer the broker
	Trap       bool          // the server waits for itself, in the kernel
	Stopped    bool          // the broker stops when it is ready, and does not answer the server
	Program    string        // a file; once it exists, it is the program of new servers, whose record has another format
	Seed       uint64
}

func TestMain(m *testing.M) {
	var s settings
	part := os.Getenv(partVariable)
	if part != "" {
		if err := json.Unmarshal([]byte(os.Getenv(settingsVariable)), &s); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	var err error
	switch part {
	case "":
		os.Exit(m.Run())
	case "broker":
		err = beBroker(s)
	case "server":
		err = beServer(s)
	case "reader":
		err = beReader(s)
	case "writer":
		err = beWriter(s)
	case "sleeper":
		err = beSleeper()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, part, err)
		os.Exit(1)
	}
}

// command returns the command of a part.
func command(part string, s settings) *exec.Cmd {
	b, _ := json.Marshal(s)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), partVariable+"="+part, settingsVariable+"="+string(b))
	cmd.Stderr = os.Stderr
	return cmd
}

// beBroker runs a broker, which upgrades on SIGHUP, and says on standard output when it is ready and how upgrades went.
func beBroker(s settings) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	hup, upgrade := make(chan os.Signal, 1), make(chan chan<- error)
	signal.Notify(hup, syscall.SIGHUP)
	go func() {
		for range hup {
			reply := make(chan error)
			upgrade <- reply
			fmt.Println("upgrade:", <-reply)
		}
	}()
	return Run(ctx, Options{
		Command: func() *exec.Cmd {
			cmd := command("server", s)
			if _, err := os.Stat(s.Program); err == nil {
				cmd.Path = s.Program
			}
			return cmd
		},
		Unprivileged: s.Nobody, Patience: s.Patience, Start: s.Start, Upgrade: upgrade,
		Ready: func() {
			fmt.Println("ready")
			if s.Stopped {
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
				time.Sleep(100 * time.Millisecond) // this thread may be the last to stop
			}
		},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
}

// beSleeper waits for a byte on standard input, writes 5 MiB to its first extra file, and keeps the file open.
func beSleeper() error {
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	if _, err := os.NewFile(3, "file").Write(make([]byte, 5<<20)); err != nil {
		return err
	}
	fmt.Println("written")
	time.Sleep(time.Hour)
	return nil
}

// openStore opens the store of a server.
func openStore(s settings) (pfs.FileSystem, error) {
	if strings.HasPrefix(s.Store, "http") {
		return client.New(client.Options{Endpoint: s.Store, Token: func(context.Context, string) (string, error) { return "t", nil }})
	}
	store, err := localfs.New(s.Store, localfs.Options{NoSync: true})
	if err != nil || s.Fault == "" {
		return store, err
	}
	return faulty{store, s.Fault}, nil
}

// faulty is a store with faults.
type faulty struct {
	*localfs.FS
	fault string
}

func (f faulty) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (pfs.Handle, error) {
	h, err := f.FS.OpenHandle(ctx, name, flags, perm)
	if err != nil {
		return nil, err
	}
	return faultyHandle{h, f.fault}, nil
}

type faultyHandle struct {
	pfs.Handle
	fault string
}

func (h faultyHandle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	for {
		text, err := os.ReadFile(h.fault)
		switch {
		case err != nil:
			return h.Handle.WriteAt(ctx, p, off)
		case string(text) == "full":
			return 0, pfs.E("faulty.WriteAt", "", pfs.NoSpace, nil)
		}
		time.Sleep(time.Millisecond)
	}
}

func beServer(s settings) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	link, err := Inherited()
	if err != nil || link == nil {
		return fmt.Errorf("link %v, %w", link, err)
	}
	if text, err := os.ReadFile(s.Hang); err == nil {
		d, _ := time.ParseDuration(string(text))
		time.Sleep(d)
	}
	fsys, err := openStore(s)
	if err != nil {
		return err
	}
	opts := fuse.Options{Broker: link, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), Squash: !strings.HasPrefix(s.Store, "/"), OpenMode: fuse.Passthrough}
	opts.StoreFiles, opts.WriteBehind, opts.BehindAfter = s.StoreFiles, s.Behind, 1
	if s.Cache != "" {
		c, err := cachefs.New(fsys, cachefs.Options{Dirs: []string{s.Cache}, Size: 1 << 30, Reserve: 1, Settle: -1})
		if err != nil {
			return err
		}
		defer c.Close()
		fsys, opts.ReadOnly, opts.Cache = c, true, func() any { return c.Status() }
	}
	if exe, err := os.Executable(); err == nil && exe == s.Program {
		link.format++
	}
	if _, err := os.Stat(s.Stuck); err == nil {
		opts.Broker = deaf{link}
	}
	if s.Trap {
		opts.Broker, fsys = deaf{link}, trapped(fsys)
	}
	m, err := fuse.Mount(ctx, fsys, s.Dir, opts)
	if err != nil {
		return err
	}
	if s.Trap {
		go os.Lstat(s.Dir + "/trap")
	}
	select {
	case <-m.Done():
		return nil
	case <-ctx.Done():
		ctx, stop := context.WithTimeout(context.Background(), endTime)
		defer stop()
		return m.Close(ctx)
	}
}

// endTime bounds the end of a server.
const endTime = 6 * time.Second

// deaf is a link to the broker of a server that never shows that it works.
type deaf struct{ *Link }

func (d deaf) Serving(_, drain func()) error { return d.Link.Serving(func() { select {} }, drain) }

// trapped is a store that never answers for one name.
func trapped(fsys pfs.FileSystem) pfs.FileSystem {
	return pfs.NewLayer(func(ctx context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if name == "/trap" {
			select {}
		}
		return call(fsys, name)
	})
}

// outcome is what a program reports in the end.
type outcome struct {
	Operations int
	Longest    time.Duration
	Errors     []string
	Appended   int // lines of the log
}

// work repeats step until standard input ends, and reports the outcome.
func work(step func(i int) error, o *outcome) error {
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	for i := 0; ; i++ {
		select {
		case <-ended:
			return json.NewEncoder(os.Stdout).Encode(o)
		default:
		}
		start := time.Now()
		if err := step(i); err != nil && len(o.Errors) < 10 {
			o.Errors = append(o.Errors, fmt.Sprintf("%d: %v", i, err))
		}
		o.Operations++
		o.Longest = max(o.Longest, time.Since(start))
	}
}

// The files that readers read.
const (
	seeded   = 8
	seedSize = 3<<20 + 77
)

// beReader reads files that stay open, and others that it opens, and lists.
func beReader(s settings) error {
	r := rand.New(rand.NewPCG(s.Seed, 1))
	var open [seeded]*os.File
	var want [seeded][]byte
	for i := range open {
		var err error
		if open[i], err = os.Open(fmt.Sprintf("%s/seed%d", s.Dir, i)); err != nil {
			return err
		}
		want[i] = pfstest.Pattern(uint64(i), seedSize)
	}
	dir, err := os.Open(s.Dir)
	if err != nil {
		return err
	}
	return work(func(i int) error {
		k, off := r.IntN(seeded), r.IntN(seedSize-1)
		n := r.IntN(min(300_000, seedSize-off)) + 1
		got := make([]byte, n)
		f := open[k]
		switch i % 4 {
		case 0:
			var err error
			if f, err = os.Open(f.Name()); err != nil {
				return err
			}
			defer f.Close()
		case 1:
			if _, err := dir.Seek(0, io.SeekStart); err != nil {
				return err
			}
			names, err := dir.Readdirnames(-1)
			if err != nil || len(names) < seeded {
				return fmt.Errorf("%d names, %w", len(names), err)
			}
		case 2: // drop the pages, so that the server is asked
			_ = fadviseDontNeed(f)
		}
		if _, err := f.ReadAt(got, int64(off)); err != nil {
			return err
		}
		if !bytes.Equal(got, want[k][off:off+n]) {
			return fmt.Errorf("%s: wrong bytes at %d", f.Name(), off)
		}
		return nil
	}, &outcome{})
}

// beWriter changes a directory of its own in all ways, and compares.
func beWriter(s settings) error {
	r := rand.New(rand.NewPCG(s.Seed, 2))
	var o outcome
	if err := os.Mkdir(s.Dir, 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(s.Dir+"/log", os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	const size = 1 << 20
	mirror := make([]byte, size)
	random, err := os.OpenFile(s.Dir+"/random", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err == nil {
		_, err = random.Write(mirror)
	}
	if err == nil {
		err = syscall.Flock(int(random.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return err
	}
	stream, err := os.OpenFile(s.Dir+"/stream", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	var streamed []byte
	return work(func(i int) error {
		name := func(form string) string { return s.Dir + "/" + fmt.Sprintf(form, i) }
		switch i % 8 {
		case 0:
			_, err := fmt.Fprintf(log, "line %d\n", o.Appended)
			if err == nil {
				o.Appended++
			}
			return err
		case 1:
			off := r.IntN(size)
			p := mirror[off:min(size, off+r.IntN(50_000)+1)]
			for i := range p {
				p[i] = byte(r.Uint32())
			}
			_, err := random.WriteAt(p, int64(off))
			return err
		case 2:
			off := r.IntN(size - 1)
			got := make([]byte, r.IntN(min(size-off, 100_000))+1)
			_, err := random.ReadAt(got, int64(off))
			if err == nil && !bytes.Equal(got, mirror[off:off+len(got)]) {
				err = errors.New("wrong bytes in the random file")
			}
			return err
		case 3: // as programs save
			p := pfstest.Pattern(uint64(i), r.IntN(400_000))
			f, err := os.OpenFile(name("tmp%d"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			for b := p; len(b) > 0 && err == nil; {
				n := min(len(b), 100_000)
				_, err = f.Write(b[:n])
				b = b[n:]
			}
			err = errors.Join(err, f.Sync(), f.Close(), os.Rename(name("tmp%d"), s.Dir+"/saved"))
			if err != nil {
				return err
			}
			got, err := os.ReadFile(s.Dir + "/saved")
			if err == nil && !bytes.Equal(got, p) {
				err = fmt.Errorf("%d bytes are not the %d that were saved", len(got), len(p))
			}
			return err
		case 4:
			err := errors.Join(os.Mkdir(name("d%d"), 0o700), os.Symlink("log", name("d%d")+"/s"), os.Remove(name("d%d")+"/s"), os.Remove(name("d%d")))
			if err == nil {
				if _, err = os.Lstat(name("d%d")); errors.Is(err, fs.ErrNotExist) {
					err = nil
				}
			}
			return err
		case 5:
			f, err := os.OpenFile(s.Dir+"/random", os.O_RDONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
				return fmt.Errorf("the lock was lost: %v", err)
			}
		case 6:
			if err := errors.Join(random.Chmod(0o600), random.Truncate(size-1), random.Truncate(size)); err != nil {
				return err
			}
			mirror[size-1] = 0
			return random.Sync()
		case 7:
			p := pfstest.Pattern(uint64(i), r.IntN(300_000)+1)
			if _, err := stream.Write(p); err != nil {
				return err
			}
			if streamed = append(streamed, p...); len(streamed) < 6<<20 {
				return nil
			}
			got, err := os.ReadFile(stream.Name())
			if err == nil && !bytes.Equal(got, streamed) {
				err = fmt.Errorf("%d bytes are not the %d that were streamed", len(got), len(streamed))
			}
			_, failed := stream.Seek(0, io.SeekStart)
			streamed = nil
			return errors.Join(err, failed, stream.Truncate(0))
		}
		return nil
	}, &o)
}

func fadviseDontNeed(f *os.File) error {
	_, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, 4, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// mounted is a mount of a test.
type mounted struct {
	settings
	broker *exec.Cmd
	said   chan string // lines of the broker
	ended  chan struct{}
}

// mount starts a broker and waits for the mount.
func mount(t *testing.T, s settings) *mounted {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("no /dev/fuse")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	s.Dir = t.TempDir()
	must(t, os.Chmod(s.Dir, 0o755))
	m := &mounted{settings: s, broker: command("broker", s), said: make(chan string, 100), ended: make(chan struct{})}
	out, err := m.broker.StdoutPipe()
	must(t, err)
	must(t, m.broker.Start())
	go func() {
		var line [1000]byte
		for {
			n, err := out.Read(line[:])
			if err != nil {
				close(m.said)
				_ = m.broker.Wait()
				close(m.ended)
				return
			}
			m.said <- strings.TrimSpace(string(line[:n]))
		}
	}()
	if line := <-m.said; line != "ready" {
		t.Fatalf("the broker says %q", line)
	}
	t.Cleanup(func() {
		if st, ok := m.find(); ok {
			err := fuse.Unmount(st.MountPoint)
			for end := time.Now().Add(10 * time.Second); errors.Is(err, pfs.Unavailable) && time.Now().Before(end); err = fuse.Unmount(st.MountPoint) {
				time.Sleep(50 * time.Millisecond) // a process that another test has just forked has the files of this one, until it runs its program
			}
			if err != nil {
				t.Error(err)
				m.broker.Process.Kill()
				syscall.Unmount(s.Dir, syscall.MNT_DETACH|syscall.MNT_FORCE)
			}
		}
		<-m.ended
	})
	return m
}

// find returns the status of the mount.
func (m *mounted) find() (fuse.Status, bool) {
	all, _ := fuse.Mounts()
	for _, st := range all {
		if st.MountPoint == m.Dir {
			return st, true
		}
	}
	return fuse.Status{}, false
}

// status returns the status of the mount, which must be served.
func (m *mounted) status(t *testing.T) fuse.Status {
	t.Helper()
	st, ok := m.find()
	for end := time.Now().Add(time.Minute); ok && st.State == "silent" && time.Now().Before(end); { // a busy machine
		st, ok = m.find()
	}
	if !ok || st.State != "serving" || st.BrokerPID != m.broker.Process.Pid {
		t.Fatalf("status %+v, %v; the broker is %d", st, ok, m.broker.Process.Pid)
	}
	return st
}

// program is a running reader or writer.
type program struct {
	*exec.Cmd
	name string
	in   io.Closer
	out  bytes.Buffer
}

func (m *mounted) program(t *testing.T, part, dir string, seed uint64) *program {
	p := &program{Cmd: command(part, settings{Dir: filepath.Join(m.Dir, dir), Seed: seed}), name: fmt.Sprint(part, seed)}
	p.Stdout = &p.out
	in, err := p.StdinPipe()
	must(t, err)
	p.in = in
	must(t, p.Start())
	return p
}

// finish ends the program and returns what it reports.
func (p *program) finish(t *testing.T) (o outcome) {
	t.Helper()
	p.in.Close()
	if err := p.Wait(); err != nil {
		t.Errorf("%s: %v", p.name, err)
	}
	if err := json.Unmarshal(p.out.Bytes(), &o); err != nil {
		t.Errorf("%s: %v: %s", p.name, err, p.out.Bytes())
	}
	for _, e := range o.Errors {
		t.Errorf("%s: operation %s", p.name, e)
	}
	return o
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// seed makes a store with the files of the readers.
func seed(t *testing.T) string {
	dir := t.TempDir()
	for i := range seeded {
		must(t, os.WriteFile(fmt.Sprintf("%s/seed%d", dir, i), pfstest.Pattern(uint64(i), seedSize), 0o644))
	}
	return dir
}

// anybody lets everybody in as one user.
type anybody struct{ pfsd.Authenticator }

func (anybody) Verify(context.Context, string) (auth.Identity, error) {
	return auth.Identity{Name: "alice"}, nil
}

// service serves the directory dir.
func service(t *testing.T, dir string) string {
	store, err := localfs.New(dir, localfs.Options{NoSync: true})
	must(t, err)
	s := pfsd.New(pfsd.Config{Auth: anybody{}, View: func(auth.Identity, string) pfs.FileSystem { return store }})
	h := httptest.NewServer(s)
	t.Cleanup(func() { h.Close(); s.Close(); store.Close() })
	return h.URL
}

// TestKills kills the server again and again while programs read and write.
func TestKills(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(t *testing.T, dir string) settings{
		"file":                    func(_ *testing.T, dir string) settings { return settings{Store: dir} },
		"store files":             func(_ *testing.T, dir string) settings { return settings{Store: dir, StoreFiles: true} },
		"service":                 func(t *testing.T, dir string) settings { return settings{Store: service(t, dir)} },
		"file, written behind":    func(t *testing.T, dir string) settings { return settings{Store: dir, Behind: t.TempDir()} },
		"service, written behind": func(t *testing.T, dir string) settings { return settings{Store: service(t, dir), Behind: t.TempDir()} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := seed(t)
			underLoad(t, dir, of(t, dir), 5, kill)
		})
	}
}

// TestManyKills is the long form.
func TestManyKills(t *testing.T) {
	testbed.Long(t)
	dir := seed(t)
	underLoad(t, dir, settings{Store: dir, StoreFiles: true}, 200, kill)
}

// TestUpgrade replaces the server by another one while programs read and write.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]settings{"store files": {StoreFiles: true}, "written behind": {Behind: t.TempDir()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := seed(t)
			opts.Store = dir
			underLoad(t, dir, opts, 3, func(t *testing.T, m *mounted) {
				must(t, m.broker.Process.Signal(syscall.SIGHUP))
				if line := <-m.said; line != "upgrade: <nil>" {
					t.Fatal(line)
				}
			})
		})
	}
}

// TestBehindFails: the error of what could not be written behind is not lost with the server. No other test may start a process
// meanwhile: that closes copies of the file, which waits for the store.
func TestBehindFails(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, m *mounted){
		"kill": func(t *testing.T, m *mounted) {
			_, err := os.Stat(m.Dir + "/f") // which waits for the writes
			must(t, err)
			kill(t, m)
		},
		"upgrade": func(t *testing.T, m *mounted) {
			must(t, m.broker.Process.Signal(syscall.SIGHUP))
			if line := <-m.said; line != "upgrade: <nil>" {
				t.Fatal(line)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			fault := filepath.Join(t.TempDir(), "fault")
			m := mount(t, settings{Store: t.TempDir(), Behind: t.TempDir(), Fault: fault})
			f, err := os.Create(m.Dir + "/f")
			must(t, err)
			defer f.Close()
			_, err = f.Write([]byte("x"))
			must(t, err)
			must(t, os.WriteFile(fault, []byte("wait"), 0o644))
			_, err = f.Write(make([]byte, 5<<20))
			must(t, err)
			must(t, os.WriteFile(fault+".new", []byte("full"), 0o644))
			must(t, os.Rename(fault+".new", fault))
			replace(t, m)
			must(t, os.Remove(fault))
			if err := f.Sync(); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%v, want ENOSPC", err)
			}
			must(t, f.Sync())
			kill(t, m)
			if err := f.Sync(); err != nil {
				t.Errorf("the error comes again: %v", err)
			}
		})
	}
}

// TestWriterAndServerKilled: the next server sends what a killed program has written behind, also if that program was
// killed first.
func TestWriterAndServerKilled(t *testing.T) {
	store, fault := t.TempDir(), filepath.Join(t.TempDir(), "fault")
	m := mount(t, settings{Store: store, Behind: t.TempDir(), Fault: fault})
	writer := command("sleeper", settings{})
	f, err := os.Create(m.Dir + "/f")
	must(t, err)
	defer f.Close()
	writer.ExtraFiles = []*os.File{f}
	in, err := writer.StdinPipe()
	must(t, err)
	out, err := writer.StdoutPipe()
	must(t, err)
	must(t, writer.Start())
	_, err = f.Write([]byte("x"))
	must(t, errors.Join(err, f.Close()))
	must(t, os.WriteFile(fault, nil, 0o644))
	_, err = in.Write([]byte("\n"))
	must(t, err)
	_, err = out.Read(make([]byte, 1))
	must(t, err)
	must(t, writer.Process.Kill())
	_ = writer.Wait()
	time.Sleep(100 * time.Millisecond) // until the server has the end of the file
	must(t, os.Mkdir(m.Dir+"/another", 0o755))
	kill(t, m)
	must(t, os.Remove(fault))
	if info, err := os.Stat(m.Dir + "/f"); err != nil || info.Size() != 5<<20+1 {
		t.Errorf("%v, %v", info, err)
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if info, err := os.Stat(store + "/f"); err == nil && info.Size() == 5<<20+1 {
			return
		}
	}
	t.Error("the store has not got all")
}

// TestRemovedWhileOpen uses files that were removed and replaced while they were open, after the server has died. Twice,
// since the file is left to each server.
func TestRemovedWhileOpen(t *testing.T) {
	t.Parallel()
	m := mount(t, settings{Store: seed(t), StoreFiles: true})
	name, want := filepath.Join(m.Dir, "f"), pfstest.Pattern(5, 100_000)
	must(t, os.WriteFile(name, want, 0o644))
	r, err := os.Open(name)
	must(t, err)
	defer r.Close()
	w, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	must(t, err)
	defer w.Close()
	must(t, os.Remove(name))
	must(t, os.WriteFile(name, []byte("second"), 0o644))
	second, err := os.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	defer second.Close()
	must(t, os.WriteFile(name+".new", []byte("third"), 0o644))
	must(t, os.Rename(name+".new", name))
	for range 2 {
		kill(t, m)
		_, err := w.Write([]byte("more"))
		must(t, errors.Join(err, w.Sync(), w.Chmod(0o600), second.Sync()))
		want = append(want, "more"...)
		for _, f := range []*os.File{r, w} {
			got := make([]byte, len(want)+1)
			if n, err := f.ReadAt(got, 0); err != io.EOF || !bytes.Equal(got[:n], want) {
				t.Errorf("%d bytes, %v", n, err)
			}
			if info, err := f.Stat(); err != nil || info.Size() != int64(len(want)) || info.Mode() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
		}
		if info, err := second.Stat(); err != nil || info.Size() != 6 {
			t.Errorf("%v, %v", info, err)
		}
		if got, err := os.ReadFile(name); string(got) != "third" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	must(t, errors.Join(r.Close(), w.Close(), second.Close()))
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) { // the kernel tells of a close later
		left := 0
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", m.broker.Process.Pid))
		must(t, err)
		for _, fd := range fds {
			if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", m.broker.Process.Pid, fd.Name())); strings.HasSuffix(to, "/f (deleted)") {
				left++
			}
		}
		if left == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the broker still keeps %d files", left)
		}
	}
}

// TestUnprivileged serves a mount without privileges. The kernel reads cached files itself, also while the
// server is replaced.
func TestUnprivileged(t *testing.T) {
	t.Parallel()
	m, name, read := unprivileged(t)
	first := m.status(t)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", first.ServerPID))
	must(t, err)
	for _, line := range []string{"Uid:\t65534\t65534\t65534\t65534", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000"} {
		if !strings.Contains(string(status), line) {
			t.Errorf("the server has not %q", line)
		}
	}
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	kill(t, m)
	read(f)
	if st := m.status(t); st.OpenMode != fuse.Passthrough || st.ServerPID == first.ServerPID {
		t.Errorf("status %+v", st)
	}
	read(nil)
	_ = fadviseDontNeed(f)
	read(f)
	if c := m.status(t).Cache.(map[string]any); c["hit_bytes"] != nil && c["hit_bytes"] != 0.0 || c["missed_bytes"] != nil && c["missed_bytes"] != 0.0 {
		t.Errorf("the kernel asked the new server: %v", c)
	}
}

// TestStoppedBroker reads on a mount whose broker is stopped, which the server needs for opens.
func TestStoppedBroker(t *testing.T) {
	t.Parallel()
	m, _, read := unprivileged(t)
	must(t, m.broker.Process.Signal(syscall.SIGSTOP))
	start := time.Now()
	read(nil)
	if took := time.Since(start); took > 2*callWait {
		t.Errorf("the first file took %v", took)
	}
	start = time.Now()
	read(nil)
	if took := time.Since(start); took > callWait/2 {
		t.Errorf("the next file took %v", took)
	}
	must(t, m.broker.Process.Signal(syscall.SIGCONT))
	kill(t, m)
	read(nil)
}

// unprivileged mounts without privileges a file that is cached whole, and returns its name, and what reads it: f, or a new
// open file if f is nil.
func unprivileged(t *testing.T) (m *mounted, name string, read func(f *os.File)) {
	store, cache := t.TempDir(), t.TempDir()
	for dir := store; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	for dir := filepath.Dir(cache); dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	must(t, os.Chown(cache, Nobody, Nobody))
	want := pfstest.Pattern(1, 9<<20)
	must(t, os.WriteFile(store+"/f", want, 0o644))
	m = mount(t, settings{Store: service(t, store), Cache: cache, Nobody: true})
	name = m.Dir + "/f"
	read = func(f *os.File) {
		t.Helper()
		if f == nil {
			var err error
			f, err = os.Open(name)
			must(t, err)
			defer f.Close()
		}
		got := make([]byte, len(want))
		if n, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
	read(nil)
	time.Sleep(300 * time.Millisecond) // until it is on the disk
	return m, name, read
}

// TestWatchdog checks that a server that does not answer is replaced, and that a mount ends whose servers never
// do.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	dir := seed(t)
	m := mount(t, settings{Store: dir, Patience: 300 * time.Millisecond, Stuck: filepath.Join(t.TempDir(), "stuck")})
	first := m.status(t).ServerPID
	must(t, m.broker.Process.Signal(syscall.SIGSTOP)) // which says nothing about the server
	time.Sleep(2 * m.Patience)
	must(t, m.broker.Process.Signal(syscall.SIGCONT))
	time.Sleep(m.Patience)
	if now := m.status(t).ServerPID; now != first {
		t.Errorf("server %d was replaced because the broker was stopped", first)
		first = now
	}
	must(t, syscall.Kill(first, syscall.SIGSTOP))
	if _, err := os.ReadFile(m.Dir + "/seed0"); err != nil { // waits for the replacement
		t.Error(err)
	}
	if second := m.status(t).ServerPID; second == first {
		t.Error("it was not replaced")
	}
	must(t, os.WriteFile(m.Stuck, nil, 0o600))
	must(t, syscall.Kill(m.status(t).ServerPID, syscall.SIGKILL))
	select {
	case <-m.ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the mount goes on")
	}
	if _, ok := m.find(); ok || m.broker.ProcessState.Success() {
		t.Errorf("still mounted: %v; %v", ok, m.broker.ProcessState)
	}
}

// TestSlowStart checks that a replacement that does not begin to serve in time is replaced, also more often than servers may
// be silent, and that one that takes less is not.
func TestSlowStart(t *testing.T) {
	t.Parallel()
	m := mount(t, settings{Store: seed(t), Patience: 300 * time.Millisecond, Start: time.Second, Hang: filepath.Join(t.TempDir(), "hang")})
	for _, tt := range []struct {
		hang        string
		until       time.Duration
		least, most int // replacements
	}{{"700ms", 0, 1, 1}, {"1h", (mostSilent + 2) * m.Start, 2 + mostSilent, 10}} {
		must(t, os.WriteFile(m.Hang, []byte(tt.hang), 0o600))
		kill(t, m)
		time.Sleep(tt.until)
		if tt.until > 0 {
			must(t, os.Remove(m.Hang))
		}
		if _, err := os.ReadFile(m.Dir + "/seed0"); err != nil {
			t.Error(err)
		}
		if st := m.status(t); st.Replacements < tt.least || st.Replacements > tt.most {
			t.Errorf("start %s: %+v", tt.hang, st)
		}
	}
}

// TestStuckServer checks that a mount ends whose server was killed but is stuck in the kernel.
func TestStuckServer(t *testing.T) {
	t.Parallel()
	m := mount(t, settings{Store: seed(t), Patience: 300 * time.Millisecond, Trap: true})
	select {
	case <-m.ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the broker waits for the server")
	}
	if _, ok := m.find(); ok || m.broker.ProcessState.Success() {
		t.Errorf("still mounted: %v; %v", ok, m.broker.ProcessState)
	}
}

// TestLazyUnmount takes the mount from its place while a program reads. The program goes on, also when the server is
// replaced, and the processes of the mount end when it has closed the file.
func TestLazyUnmount(t *testing.T) {
	t.Parallel()
	m := mount(t, settings{Store: seed(t)})
	f, err := os.Open(m.Dir + "/seed0")
	must(t, err)
	server := m.status(t).ServerPID
	must(t, syscall.Unmount(m.Dir, syscall.MNT_DETACH))
	got, want := make([]byte, seedSize), pfstest.Pattern(0, seedSize)
	for range 2 {
		_ = fadviseDontNeed(f)
		if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
			t.Errorf("read: %v", err)
		}
		_ = syscall.Kill(server, syscall.SIGKILL) // the second read is answered by the next server
	}
	must(t, f.Close())
	select {
	case <-m.ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the broker goes on")
	}
	if !m.broker.ProcessState.Success() {
		t.Error(m.broker.ProcessState)
	}
}

// TestUpgradeFails checks that the status of a mount has the reason why another server could not take over.
func TestUpgradeFails(t *testing.T) {
	t.Parallel()
	dir := seed(t)
	m := mount(t, settings{Store: dir})
	first := m.status(t)
	must(t, os.Rename(dir, dir+".away"))
	must(t, m.broker.Process.Signal(syscall.SIGHUP))
	if line := <-m.said; !strings.HasPrefix(line, "upgrade: failed: the new server has ended") {
		t.Error(line)
	}
	must(t, os.Rename(dir+".away", dir))
	m.refuses(t, first, "the new server has ended")
}

// refuses checks that the status of the mount says why it is served as before.
func (m *mounted) refuses(t *testing.T, before fuse.Status, reason string) {
	t.Helper()
	var st fuse.Status
	for range 1000 {
		if st = m.status(t); st.Refused != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if st.ServerPID != before.ServerPID || st.Refused == nil || st.Refused.Upgrades != 1 || !strings.Contains(st.Refused.Reason, reason) {
		t.Errorf("%+v, %+v", st, st.Refused)
	}
}

// TestOtherFormat installs a program that cannot read the journal of the mount. No server of it takes over: neither in an
// upgrade, nor after a death, nor when the program cannot be run at all.
func TestOtherFormat(t *testing.T) {
	t.Parallel()
	m := mount(t, settings{Store: seed(t), Program: filepath.Join(t.TempDir(), "program")})
	f, err := os.Open(m.Dir + "/seed0")
	must(t, err)
	defer f.Close()
	reads := func() {
		t.Helper()
		got := make([]byte, seedSize)
		_ = fadviseDontNeed(f)
		if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, pfstest.Pattern(0, seedSize)) {
			t.Errorf("read: %v", err)
		}
	}
	first := m.status(t)
	exe, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(m.Program, exe, 0o755))
	must(t, m.broker.Process.Signal(syscall.SIGHUP))
	want := fmt.Sprintf("the old one goes on: the journal of the mount at %s has format %d, and the program that is installed now reads format %d: end the mount",
		m.Dir, fuse.JournalFormat, fuse.JournalFormat+1)
	if line := <-m.said; !strings.Contains(line, want) {
		t.Errorf("%s\nwant %s", line, want)
	}
	m.refuses(t, first, want)
	reads()
	kill(t, m)
	reads()
	must(t, os.WriteFile(m.Program, []byte("no program"), 0o755))
	kill(t, m)
	reads()
	must(t, os.Remove(m.Program))
	time.Sleep(300 * time.Millisecond) // the server may have answered before it could be asked to end
	start := time.Now()
	must(t, m.broker.Process.Signal(syscall.SIGHUP))
	if line := <-m.said; line != "upgrade: <nil>" || time.Since(start) >= drainWait {
		t.Errorf("%s after %v", line, time.Since(start))
	}
	reads()
}

// TestBrokerDies kills the broker. The server continues, and SIGTERM to the server ends the mount.
func TestBrokerDies(t *testing.T) {
	t.Parallel()
	m := mount(t, settings{Store: seed(t)})
	st := m.status(t)
	must(t, m.broker.Process.Kill())
	<-m.ended
	if _, err := os.ReadFile(m.Dir + "/seed0"); err != nil {
		t.Error(err)
	}
	if now, ok := m.find(); !ok || now.State != "serving" || now.BrokerPID != 0 || now.ServerPID != st.ServerPID {
		t.Errorf("status %+v, %v", now, ok)
	}
	must(t, syscall.Kill(st.ServerPID, syscall.SIGTERM))
	for range 1000 {
		if _, ok := m.find(); !ok {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("still mounted")
}

// TestEnd checks that SIGTERM to the broker ends the mount and the server.
func TestEnd(t *testing.T) {
	t.Parallel()
	m := mount(t, settings{Store: seed(t)})
	st := m.status(t)
	must(t, m.broker.Process.Signal(syscall.SIGTERM))
	<-m.ended
	if _, ok := m.find(); ok || !m.broker.ProcessState.Success() || syscall.Kill(st.ServerPID, 0) == nil {
		t.Errorf("still mounted: %v; the broker: %v", ok, m.broker.ProcessState)
	}
}

// TestEndWithoutAnswer checks that a server ends in time if the broker does not answer it.
func TestEndWithoutAnswer(t *testing.T) {
	t.Parallel()
	m := mount(t, settings{Store: seed(t), Stopped: true})
	server := m.status(t).ServerPID
	must(t, syscall.Kill(server, syscall.SIGTERM))
	serves := func() bool { // it is a zombie of the broker afterwards
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", server))
		return len(text) > 0
	}
	for end := time.Now().Add(2 * endTime); serves() && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if serves() {
		t.Error("the server waits for the broker")
	}
	must(t, m.broker.Process.Signal(syscall.SIGTERM))
	must(t, m.broker.Process.Signal(syscall.SIGCONT))
	<-m.ended
}

// kill kills the server, and waits for its end: until then it may answer.
func kill(t *testing.T, m *mounted) {
	pid := m.status(t).ServerPID
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	for end := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// underLoad replaces the server n times, and checks that no program has an error.
func underLoad(t *testing.T, store string, s settings, n int, replace func(t *testing.T, m *mounted)) {
	m := mount(t, s)
	programs := []*program{
		m.program(t, "reader", "", 1), m.program(t, "reader", "", 2), m.program(t, "writer", "w3", 3), m.program(t, "writer", "w4", 4),
	}
	time.Sleep(300 * time.Millisecond)
	for range n {
		before := m.status(t).ServerPID
		replace(t, m)
		if after := m.status(t).ServerPID; after == before {
			t.Errorf("process %d serves as before", after)
		}
		time.Sleep(time.Duration(300+rand.IntN(300)) * time.Millisecond) // else it is a quick death
	}
	if got := m.status(t).Replacements; got < n {
		t.Errorf("the status has %d replacements of %d", got, n)
	}
	var all outcome
	for _, p := range programs {
		o := p.finish(t)
		all.Operations += o.Operations
		all.Longest = max(all.Longest, o.Longest)
		if !strings.HasPrefix(p.name, "writer") {
			continue
		}
		log, err := os.ReadFile(filepath.Join(store, "w"+strings.TrimPrefix(p.name, "writer"), "log"))
		must(t, err)
		var want strings.Builder
		for i := range o.Appended {
			fmt.Fprintf(&want, "line %d\n", i)
		}
		if string(log) != want.String() {
			t.Errorf("%s: the log has %d bytes and should have %d", p.name, len(log), want.Len())
		}
	}
	t.Logf("%d replacements, %d operations, the longest took %v", n, all.Operations, all.Longest)
}
