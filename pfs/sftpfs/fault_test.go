package sftpfs

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/relay"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/sys/unix"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// faulty is a host behind a relay.
type faulty struct {
	cut    atomic.Int64                  // connections up to this number are cut
	silent atomic.Pointer[chan struct{}] // bytes wait until it is closed
	relay  *relay.Relay
}

// openFaulty opens the directory dir through a relay that can cut connections and withhold bytes.
func openFaulty(t *testing.T, dir string, timeout time.Duration) (*store, *faulty) {
	t.Helper()
	server := testbed.NewSSHServer(t)
	f := &faulty{}
	f.relay = relay.New(t, func() string { return server.Address }, func(conn int, _ []byte) bool {
		if wait := f.silent.Load(); wait != nil {
			<-*wait
		}
		return int64(conn) > f.cut.Load()
	})
	o := options(server, dir, timeout)
	o.Address = f.relay.Address()
	o.KnownHosts = filepath.Join(t.TempDir(), "known_hosts")
	key, err := os.ReadFile(server.KnownHosts)
	must(t, err)
	_, port, _ := net.SplitHostPort(o.Address)
	must(t, os.WriteFile(o.KnownHosts, append([]byte("[127.0.0.1]:"+port), key[bytes.IndexByte(key, ' '):]...), 0o600))
	fsys, err := Open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { fsys.Close() })
	return fsys.(*store), f
}

// TestLostConnection checks what continues on a new connection: reading, uploads and listings, but
// neither handles nor a file that was replaced.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	s, faults := openFaulty(t, dir, 0)
	cut := func() {
		t.Helper()
		faults.cut.Store(int64(faults.relay.Connections()))
		// The store notices the cut by the next bytes.
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if _, err := s.Stat(ctx, "/"); err == nil {
				return
			} else if pfs.KindOf(err) != pfs.Unavailable || time.Now().After(end) {
				t.Fatal(err)
			}
		}
	}
	data := pfstest.Pattern(1, 3<<20)
	for _, name := range []pfs.Path{"/kept", "/replaced", "/changed"} {
		pfstest.WriteFile(t, s, name, data)
	}
	open := func(name pfs.Path) pfs.File {
		f, err := s.Open(ctx, name)
		must(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	kept, replaced := open("/kept"), open("/replaced")
	h, err := s.OpenHandle(ctx, "/changed", pfs.OpenRead|pfs.OpenWrite, 0)
	must(t, err)
	w, err := s.Create(ctx, "/uploaded", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(ctx)
	_, err = w.WriteAt(ctx, data[:1<<20], 0)
	must(t, err)
	page, err := s.List(ctx, "/", pfs.ListOptions{Limit: 1})
	must(t, err)

	cut()
	pfstest.WriteFile(t, s, "/replaced", data[1:])
	p := make([]byte, len(data))
	if _, err := kept.ReadAt(ctx, p, 0); err != nil || !bytes.Equal(p, data) {
		t.Errorf("after the connection was lost: %v", err)
	}
	_, err = replaced.ReadAt(ctx, p[:10], 0)
	pfstest.WantKind(t, err, pfs.Conflict)
	_, err = h.WriteAt(ctx, p[:10], 0)
	pfstest.WantKind(t, err, pfs.Stale)
	must(t, h.Close(ctx))
	_, err = w.WriteAt(ctx, data[1<<20:], 1<<20)
	must(t, err)
	_, err = w.Commit(ctx, pfs.CommitOptions{Size: int64(len(data))})
	must(t, err)
	pfstest.WantFile(t, s, "/uploaded", data)
	seen := map[string]int{page.Entries[0].Name: 1}
	for token := page.Next; token != ""; {
		page, err := s.List(ctx, "/", pfs.ListOptions{Token: token, Limit: 1})
		must(t, err)
		for _, e := range page.Entries {
			seen[e.Name]++
		}
		token = page.Next
	}
	for _, name := range []string{"kept", "changed"} { // that exist the whole time
		if seen[name] != 1 {
			t.Errorf("%s was listed %d times", name, seen[name])
		}
	}
}

// TestSilentHost checks that operations on a host that sends nothing end, and that the store works when
// it answers again.
func TestSilentHost(t *testing.T) {
	t.Parallel()
	const timeout = 500 * time.Millisecond
	ctx := t.Context()
	s, faults := openFaulty(t, t.TempDir(), timeout)
	pfstest.WriteFile(t, s, "/f", []byte("content"))
	f, err := s.Open(ctx, "/f")
	must(t, err)
	defer f.Close()
	answer := make(chan struct{})
	faults.silent.Store(&answer)
	for _, do := range []func() error{
		func() error { _, err := s.Stat(ctx, "/f"); return err },
		func() error { _, err := f.ReadAt(ctx, make([]byte, 7), 0); return err },
		func() error { _, err := s.List(ctx, "/", pfs.ListOptions{}); return err },
		func() error { return s.Mkdir(ctx, "/dir", 0o755) },
	} {
		began := time.Now()
		pfstest.WantKind(t, do(), pfs.Unavailable)
		if took := time.Since(began); took > 40*timeout {
			t.Errorf("the answer came after %v", took)
		}
	}
	faults.silent.Store(nil)
	close(answer)
	pfstest.WantFile(t, s, "/f", []byte("content"))
}

// TestFullDisk checks that a full disk has a Kind of its own, although SFTP has no code for it.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	s := open(t, testbed.NewSSHServer(t), dir, 0)
	w, err := s.Create(t.Context(), "/f", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(t.Context())
	_, err = w.WriteAt(t.Context(), make([]byte, 4<<20), 0)
	pfstest.WantKind(t, err, pfs.NoSpace)
}

// TestTimes checks that a time that SFTP cannot carry is refused, and changes nothing.
func TestTimes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := open(t, testbed.NewSSHServer(t), t.TempDir(), 0)
	pfstest.WriteFile(t, s, "/f", nil)
	before := pfstest.MustStat(t, s, "/f").ModTime
	for _, at := range []time.Time{time.Unix(-1, 0), time.Unix(1<<32, 0)} {
		pfstest.WantKind(t, s.SetAttr(ctx, "/f", pfs.AttrModTime, pfs.Attrs{ModTime: at}), pfs.Invalid)
		w, err := s.Create(ctx, "/f", pfs.CreateOptions{})
		must(t, err)
		_, err = w.Commit(ctx, pfs.CommitOptions{ModTime: at})
		pfstest.WantKind(t, err, pfs.Invalid)
		must(t, w.Close(ctx))
	}
	if after := pfstest.MustStat(t, s, "/f").ModTime; !after.Equal(before) {
		t.Errorf("the time is %v, was %v", after, before)
	}
}

// TestMalformedPackets checks answers that no server should send to the reader of directories.
func TestMalformedPackets(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		"", "\x00", "\x00\x00\x00\x00\x68", "\xff\xff\xff\xff\x68", // lengths
		"\x00\x00\x00\x05\x68\x00\x00\x00\x02",                 // the ID of another request
		"\x00\x00\x00\x05\x69\x00\x00\x00\x01",                 // another type
		"\x00\x00\x00\x09\x68\x00\x00\x00\x01\xff\xff\xff\xff", // too many entries
		"\x00\x00\x00\x09\x65\x00\x00\x00\x01\x00\x00\x00\x04", // a failure
	} {
		d := &directories{in: &bytes.Buffer{}, out: bytes.NewBufferString(answer)}
		if all, err := d.next("handle"); err == nil || len(all) > 0 {
			t.Errorf("%q gives %v, %v", answer, all, err)
		}
	}
}
