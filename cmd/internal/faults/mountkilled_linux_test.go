package faults

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

var kills = flag.Int("kills", 20, "how often TestMountKilled kills the server of each mount")

// load is what programs do to a mount until more returns false.
type load struct {
	name  string
	needs func(v view) bool // nil for all
	run   func(dir string, more func() bool) error
}

// loads are the programs of TestMountKilled. An error, or a byte that was not written, fails the test.
var loads = []load{
	{"save", nil, func(dir string, more func() bool) error {
		for i := 0; more(); i++ {
			name, want := filepath.Join(dir, fmt.Sprint("saved", i%5)), pfstest.Pattern(uint64(i), 300_000)
			if err := save(name, want); err != nil {
				return err
			}
			if err := wantContent(name, want); err != nil {
				return err
			}
		}
		return nil
	}},
	{"stream", nil, func(dir string, more func() bool) error { // never synced, and read by its name now and then
		name := filepath.Join(dir, "stream")
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		defer f.Close()
		var want []byte
		for i := 0; more(); i++ {
			part := pfstest.Pattern(uint64(i), 10_000)
			if _, err := f.Write(part); err != nil {
				return err
			}
			if want = append(want, part...); i%1000 == 999 {
				if err := wantContent(name, want); err != nil {
					return err
				}
			}
			time.Sleep(time.Millisecond)
		}
		return errors.Join(f.Close(), wantContent(name, want))
	}},
	{"log", nil, func(dir string, more func() bool) error {
		name := filepath.Join(dir, "log")
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		var want bytes.Buffer
		for i := 0; more(); i++ {
			line := fmt.Sprintf("line %d\n", i)
			if _, err := io.WriteString(f, line); err != nil {
				return err
			}
			if want.WriteString(line); i%50 == 49 {
				if err := f.Sync(); err != nil {
					return err
				}
			}
			time.Sleep(time.Millisecond)
		}
		return errors.Join(f.Close(), wantContent(name, want.Bytes()))
	}},
	{"database", nil, func(dir string, more func() bool) error {
		name, want := filepath.Join(dir, "database"), make([]byte, 1<<20)
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Truncate(int64(len(want))); err != nil {
			return err
		}
		for i := 0; more(); i++ {
			part, at := pfstest.Pattern(uint64(i), 1+rand.IntN(8000)), rand.IntN(1<<20-8000)
			if _, err := f.WriteAt(part, int64(at)); err != nil {
				return err
			}
			if copy(want[at:], part); i%100 == 99 {
				if err := f.Sync(); err != nil {
					return err
				}
				if err := wantContent(name, want); err != nil {
					return err
				}
			}
			time.Sleep(time.Millisecond)
		}
		return errors.Join(f.Close(), wantContent(name, want))
	}},
	{"removed", func(v view) bool { return v.name == "home" || v.name == "HDFS" }, func(dir string, more func() bool) error {
		for more() { // a file that was removed while it is open
			name := filepath.Join(dir, "removed")
			f, err := os.Create(name)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := os.Remove(name); err != nil {
				return err
			}
			var want []byte
			for i := 0; i < 300 && more(); i++ {
				part := pfstest.Pattern(uint64(i), 5000)
				if _, err := f.Write(part); err != nil {
					return err
				}
				want = append(want, part...)
				got := make([]byte, len(want))
				if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
					return fmt.Errorf("%d bytes of a removed file: %w", len(want), errors.Join(err, errWrong))
				}
				time.Sleep(10 * time.Millisecond)
			}
			if err := f.Close(); err != nil {
				return err
			}
		}
		return nil
	}},
	{"read", nil, func(dir string, more func() bool) error { // through one descriptor and by name
		name, want := filepath.Join(dir, "read"), pfstest.Pattern(1, 20<<20)
		if err := os.WriteFile(name, want, 0o644); err != nil {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		for i := 0; more(); i++ {
			got, at := make([]byte, 1+rand.IntN(300_000)), rand.IntN(19<<20)
			if _, err := f.ReadAt(got, int64(at)); err != nil || !bytes.Equal(got, want[at:at+len(got)]) {
				return fmt.Errorf("%d bytes at %d: %w", len(got), at, errors.Join(err, errWrong))
			}
			if i%50 == 0 {
				if err := dropPages(f); err != nil {
					return err
				}
				if err := wantContent(name, want); err != nil {
					return err
				}
			}
			time.Sleep(time.Millisecond)
		}
		return nil
	}},
}

var errWrong = errors.New("not what was written")

// save writes a file as careful programs do.
func save(name string, p []byte) error {
	f, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	for part := range slices.Chunk(p, 50_000) {
		if _, err = f.Write(part); err != nil {
			break
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

func wantContent(name string, want []byte) error {
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		return fmt.Errorf("%s is read as %d bytes of %d: %w", name, len(got), len(want), errors.Join(err, errWrong))
	}
	return nil
}

// dropPages removes what the kernel has of f in memory.
func dropPages(f *os.File) error {
	const dontNeed = 4
	if _, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// TestMountKilled kills and upgrades the server of a mount in turn, again and again under a mixed load. No program has an
// error, reads a wrong byte, or loses one that it has written.
func TestMountKilled(t *testing.T) {
	needMount(t)
	if testing.Short() {
		*kills = 2
	}
	eachView(t, func(t *testing.T, v view) {
		m := v.mount(t)
		strikes := 0
		m.underLoad(v, *kills, func() {
			if strikes++; strikes%2 == 0 {
				m.upgrade()
			} else if pid := m.status().ServerPID; pid > 0 {
				must(t, syscall.Kill(pid, syscall.SIGKILL))
			}
		})
	})
}

// upgrade replaces the server by another process, as pfs-agent upgrade does.
func (m *mounted) upgrade() {
	m.Helper()
	before := m.status()
	must(m.T, syscall.Kill(before.BrokerPID, syscall.SIGUSR2))
	for end := time.Now().Add(30 * time.Second); m.status().ServerPID == before.ServerPID; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			m.Errorf("process %d still serves", before.ServerPID)
			return
		}
	}
}

// TestServiceKilledUnderMount kills the service of a mount of a home on HDFS. It has bytes that are not on HDFS yet, and
// HDFS believes that it is writing.
func TestServiceKilledUnderMount(t *testing.T) {
	testbed.Long(t)
	needMount(t)
	c := testbed.HDFS(t)
	config := filepath.Join(t.TempDir(), "pfsd.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `
datacenters:
  hdfs:
    store: hdfs://%s
    options: {conf-dir: %s, block-size: 1M, user: %s}
`, c.Scratch(t), c.ConfDir, c.Superuser), 0o600))
	s := newScene(t, "--config", config)
	m := s.mount("--root", "/pfs/hdfs/home/alice")
	// A process that is started while this one has files open would close them, which waits for the service.
	const times = 5
	var next []func()
	for range times {
		c := exec.Command("bash", append([]string{"-c", `read; exec "$0" "$@"`, filepath.Join(s.bin, "pfsd"), "serve", "--data", s.data, "--listen", s.listen}, s.serve...)...)
		in, err := c.StdinPipe()
		must(t, err)
		must(t, c.Start())
		t.Cleanup(func() { in.Close() })
		next = append(next, func() {
			s.server = c
			in.Close()
		})
	}
	m.underLoad(view{name: "HDFS"}, times, func() {
		s.killServer()
		next[0]()
		next = next[1:]
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(poll) {
			if c, err := net.Dial("tcp", s.listen); err == nil {
				c.Close()
				return
			}
		}
	})
}

// underLoad strikes so many times while all programs run.
func (m *mounted) underLoad(v view, times int, strike func()) {
	m.Helper()
	var stop atomic.Bool
	var running sync.WaitGroup
	var longest, rounds atomic.Int64
	for _, l := range loads {
		if l.needs != nil && !l.needs(v) {
			continue
		}
		running.Go(func() {
			last := time.Now()
			err := l.run(m.dir, func() bool {
				if took := time.Since(last); int64(took) > longest.Load() {
					longest.Store(int64(took))
				}
				last = time.Now()
				rounds.Add(1)
				return !stop.Load()
			})
			if err != nil {
				m.Errorf("%s, after %d rounds of all: %v", l.name, rounds.Load(), err)
			}
		})
	}
	struck := 0
	for ; struck < times && !m.Failed(); struck++ {
		time.Sleep(time.Duration(500+rand.IntN(1000)) * time.Millisecond)
		strike()
	}
	time.Sleep(time.Second)
	stop.Store(true)
	running.Wait()
	m.Logf("%d kills, %d rounds, the longest took %v", struck, rounds.Load(), time.Duration(longest.Load()).Round(time.Millisecond))
	if rounds.Load() < int64(5*struck) {
		m.Error("too little was done")
	}
}
