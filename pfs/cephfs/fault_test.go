//go:build ceph

package cephfs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// wantSoon fails unless do returns an error of the Kind within a few timeouts.
func wantSoon(t *testing.T, timeout time.Duration, kind pfs.Kind, do func() error) {
	t.Helper()
	start := time.Now()
	err := do()
	if took := time.Since(start); took > 4*timeout {
		t.Errorf("the answer took %v, with a timeout of %v", took, timeout)
	}
	pfstest.WantKind(t, err, kind)
}

func TestOpenRefuses(t *testing.T) {
	c := testbed.Ceph(t)
	const timeout = 2 * time.Second
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := free.Addr().String()
	free.Close()
	there := openStore(t, optionsOf(c))
	dir := newDir(t, there)
	file, link := dir.Join("file"), dir.Join("link")
	pfstest.WriteFile(t, there, file, nil)
	pfstest.MustLink(t, there, "/", link)
	for _, tt := range []struct {
		name   string
		change func(o *Options)
		want   pfs.Kind
	}{
		{"no monitors", func(o *Options) { o.Monitors = nil }, pfs.Invalid},
		{"nobody listens", func(o *Options) { o.Monitors = []string{nobody} }, pfs.Unavailable},
		{"a listener that never answers", func(o *Options) { o.Monitors = []string{silent.Addr().String()} }, pfs.Unavailable},
		{"no such host", func(o *Options) { o.Monitors = []string{"no-such-host.invalid"} }, pfs.Unavailable},
		{"no such keyring", func(o *Options) { o.Keyring = filepath.Join(t.TempDir(), "none") }, pfs.Invalid},
		{"the key of another cluster", func(o *Options) { o.Keyring = wrongKey(t) }, pfs.Unavailable},
		{"a user without a key", func(o *Options) { o.User = "nobody" }, pfs.Invalid},
		{"an invalid key", func(o *Options) { o.Keyring = keyring(t, "\tkey = AQBAAAAAAAAAABAAY2V\n") }, pfs.Invalid},
		{"a user of the keyring without a key", func(o *Options) { o.Keyring = keyring(t, "\tcaps mon = \"allow *\"\n") }, pfs.Invalid},
		{"no such file system", func(o *Options) { o.FileSystem = "none" }, pfs.Invalid},
		{"no such root", func(o *Options) { o.Root = "/none" }, pfs.Invalid},
		{"a file for a root", func(o *Options) { o.Root = string(file) }, pfs.Invalid},
		{"a link for a root", func(o *Options) { o.Root = string(link) }, pfs.Invalid},
		{"no such ceph.conf", func(o *Options) { o.Config = "/none/ceph.conf" }, pfs.Invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts := optionsOf(c)
			if tt.want == pfs.Unavailable { // the others get the time that an overloaded machine needs
				opts.Timeout = timeout
			}
			tt.change(&opts)
			wantSoon(t, cmp.Or(opts.Timeout, defaultTimeout), tt.want, func() error {
				s, err := Open(t.Context(), opts)
				if err == nil {
					s.Close()
				}
				t.Log(err)
				return err
			})
		})
	}
}

// TestOpenSaysNothing checks that libcephfs does not write to the program's standard error.
func TestOpenSaysNothing(t *testing.T) {
	opts := optionsOf(testbed.Ceph(t))
	opts.Timeout = time.Second
	otherKey, otherHost := opts, opts
	otherKey.Keyring, otherHost.Monitors = wrongKey(t), []string{"no-such-host.invalid"}
	for _, tt := range []struct {
		name string
		opts Options
		want pfs.Kind
	}{
		{"the key of another cluster", otherKey, pfs.Unavailable},
		{"no such host", otherHost, pfs.Unavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said := stderrOf(t, func() {
				_, err := Open(t.Context(), tt.opts)
				pfstest.WantKind(t, err, tt.want)
			})
			if said != "" {
				t.Errorf("standard error has %q", said)
			}
		})
	}
}

// stderrOf returns what the program, including C code, writes to standard error during do.
func stderrOf(t *testing.T, do func()) string {
	t.Helper()
	said, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	before, err := syscall.Dup(2)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(before)
	if err := syscall.Dup3(int(said.Fd()), 2, 0); err != nil {
		t.Fatal(err)
	}
	do()
	if err := syscall.Dup3(before, 2, 0); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(said.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// wrongKey makes a keyring with a key of another cluster.
func wrongKey(t *testing.T) string {
	t.Helper()
	return keyring(t, "\tkey = AQBAAAAAAAAAABAAY2VwaCBrZXkgdGhhdCBpcw==\n")
}

// keyring makes a keyring with these lines for client.admin.
func keyring(t *testing.T, lines string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "keyring")
	must(t, os.WriteFile(name, []byte("[client.admin]\n"+lines), 0o600))
	return name
}

// TestOpenDeadline opens a store that does not answer, with a deadline before the timeout of the
// options.
func TestOpenDeadline(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c := testbed.Ceph(t)
	opts := optionsOf(c)
	opts.Monitors, opts.Timeout = []string{silent.Addr().String()}, 3*time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err = Open(ctx, opts)
	pfstest.WantKind(t, err, pfs.Canceled)
	if took := time.Since(start); took > opts.Timeout/2 {
		t.Errorf("the answer took %v, with a deadline of 100ms", took)
	}
}

// faulty opens a fresh directory over a store with a short timeout.
func faulty(t *testing.T, c testbed.CephCluster) FS {
	t.Helper()
	opts := optionsOf(c)
	opts.Timeout = 3 * time.Second
	return openEmpty(t, opts)
}

// evict ends all sessions of clients with the MDS, and blocks them.
func evict(t *testing.T, c testbed.CephCluster) {
	t.Helper()
	var sessions []struct{ ID int64 }
	out := c.Command(t, "tell", "mds.a", "session", "ls", "--format=json")
	if err := json.Unmarshal([]byte(out[strings.Index(out, "["):]), &sessions); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	for _, s := range sessions {
		c.Command(t, "tell", "mds.a", "client", "evict", "id="+strconv.FormatInt(s.ID, 10))
	}
}

func TestEvicted(t *testing.T) {
	c := testbed.CephAlone(t)
	f := faulty(t, c)
	data := pfstest.Pattern(1, 3*pfs.ChunkSize+77)
	pfstest.WriteFile(t, f, "/old", data)
	r, err := f.Open(t.Context(), "/old")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := f.Create(t.Context(), "/new", pfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(t.Context())
	if _, err := w.WriteAt(t.Context(), data[:pfs.ChunkSize], 0); err != nil {
		t.Fatal(err)
	}

	evict(t, c)

	got := make([]byte, len(data))
	if err := again(func() error { return pfs.ReadFull(t.Context(), r, got, 0) }); err != nil || string(got) != string(data) {
		t.Fatalf("a file that was open reads wrong after an eviction: %v", err)
	}
	if err := again(func() error { _, err := w.WriteAt(t.Context(), data, 0); return err }); err != nil {
		t.Fatalf("an upload ends with an eviction: %v", err)
	}
	// Now the OSD has all bytes, and only the session knows the length.
	if err := again(func() error { return w.(*staged).behind.flush(t.Context(), "cephfs.Test") }); err != nil {
		t.Fatal(err)
	}
	evict(t, c)
	opts := pfs.CommitOptions{Size: int64(len(data))}
	if err := again(func() error { _, err := w.Commit(t.Context(), opts); return err }); err != nil {
		t.Fatalf("Commit after an eviction: %v", err)
	}
	pfstest.WantFile(t, f, "/new", data)
	pfstest.WantNames(t, f, pfs.Root, "new", "old")
}

// TestEvictedAfterCommit ends the session right after files were published with an old time: they
// keep that time, and so their digest.
func TestEvictedAfterCommit(t *testing.T) {
	testbed.Long(t)
	c := testbed.CephAlone(t)
	f := faulty(t, c)
	data := pfstest.Pattern(1, pfs.ChunkSize+77)
	when, sum := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), digest.Bytes(data)
	commit := func(name pfs.Path) pfs.Staged {
		w, err := f.Create(t.Context(), name, pfs.CreateOptions{})
		must(t, err)
		_, err = w.WriteAt(t.Context(), data, 0)
		must(t, err)
		_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data)), ModTime: when, Digest: sum})
		must(t, err)
		return w
	}
	defer commit("/open").Close(t.Context())
	must(t, commit("/closed").Close(t.Context()))
	var names []pfs.Path
	var entries []pfs.BatchEntry
	for i := range groupFew + 1 {
		names = append(names, pfs.Root.Join(fmt.Sprint("batch", i)))
		entries = append(entries, pfs.BatchEntry{Path: names[i], Data: data[:blockSize], ModTime: when, Digest: digest.Bytes(data[:blockSize])})
	}
	must(t, errors.Join(f.WriteBatch(t.Context(), entries)...))

	evict(t, c)

	for _, name := range append(names, "/open", "/closed") {
		must(t, again(func() error {
			st, err := f.Stat(t.Context(), name)
			if err == nil && (!st.ModTime.Equal(when) || st.Digest == "") {
				t.Errorf("%s has the time %v and the digest %q after an eviction", name, st.ModTime, st.Digest)
			}
			return err
		}))
	}
}

// again retries calls that return Unavailable, as a caller does.
func again(do func() error) (err error) {
	for range 20 {
		if err = do(); err == nil || !pfs.KindOf(err).Temporary() {
			return err
		}
	}
	return err
}

// TestMountedAgain revokes the service's key or its rights, and then ends the mount. Callers cannot
// repair that, so the store is Unavailable until it is repaired.
func TestMountedAgain(t *testing.T) {
	c := testbed.Ceph(t)
	for _, tt := range []struct {
		name  string
		lose  func(o Options)
		fresh pfs.Kind // of a store that is opened then
		says  string
	}{
		{"no keyring", func(o Options) { must(t, os.Remove(o.Keyring)) }, pfs.Invalid, "does not exist"},
		{"no key", func(o Options) { must(t, os.WriteFile(o.Keyring, nil, 0o600)) }, pfs.Invalid, "has no key of client."},
		{"no rights", func(o Options) { c.Command(t, "auth", "caps", "client."+o.User, "mon", "allow r") }, pfs.Permission, "refuse client."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts := optionsOf(c)
			opts.User = "test" + pfs.NewID()
			t.Cleanup(func() { c.Command(t, "auth", "rm", "client."+opts.User) })
			caps := []string{"client." + opts.User, "mon", "allow r", "mds", "allow *", "osd", "allow *"}
			key := c.Command(t, append([]string{"auth", "get-or-create"}, caps...)...)
			opts.Keyring = filepath.Join(t.TempDir(), "keyring")
			must(t, os.WriteFile(opts.Keyring, []byte(key), 0o600))
			f := openStore(t, opts)
			stat := func() error { _, err := f.Stat(t.Context(), pfs.Root); return err }
			must(t, stat())

			tt.lose(opts)
			f.store.giveUp(f.store.cur, errGone)
			err := stat()
			pfstest.WantKind(t, err, pfs.Unavailable)
			if !strings.Contains(err.Error(), tt.says) || errors.Is(err, tt.fresh) {
				t.Errorf("the error is %q, want %q in it, and that it is nothing else", err, tt.says)
			}
			_, err = Open(t.Context(), opts)
			pfstest.WantKind(t, err, tt.fresh)

			must(t, os.WriteFile(opts.Keyring, []byte(key), 0o600))
			c.Command(t, append([]string{"auth", "caps"}, caps...)...)
			must(t, again(stat))
		})
	}
}

// TestDaemonKilled kills each daemon in the middle of a write and of a read, and restarts it.
func TestDaemonKilled(t *testing.T) {
	for _, daemon := range []string{"osd", "mds", "mon"} {
		t.Run(daemon, func(t *testing.T) {
			if daemon != "osd" {
				testbed.Long(t)
			}
			c := testbed.CephAlone(t)
			f := faulty(t, c)
			data := pfstest.Pattern(1, 6*pfs.ChunkSize+77)
			pfstest.WriteFile(t, f, "/old", data)
			r, err := f.Open(t.Context(), "/old")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got := make([]byte, len(data))
			readFrom := func(off int) error { return pfs.ReadFull(t.Context(), r, got[off:], int64(off)) }
			if err := pfs.ReadFull(t.Context(), r, got[:1000], 0); err != nil {
				t.Fatal(err)
			}
			w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close(t.Context())
			half := 3 * pfs.ChunkSize
			if _, err := w.WriteAt(t.Context(), data[:half], 0); err != nil {
				t.Fatal(err)
			}

			c.Kill(t, daemon)
			if daemon != "mon" { // without a monitor the others continue
				wantSoon(t, f.store.opts.Timeout, pfs.Unavailable, func() error {
					_, err := w.WriteAt(t.Context(), data[half:], int64(half))
					if err == nil {
						_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
					}
					return err
				})
			}
			if daemon == "osd" {
				wantSoon(t, f.store.opts.Timeout, pfs.Unavailable, func() error { return readFrom(1000) })
			}
			if _, err := f.Stat(t.Context(), "/f"); err == nil {
				t.Fatal("a file is there that was not committed")
			} else if kind := pfs.KindOf(err); daemon == "mds" && kind != pfs.Unavailable && kind != pfs.NotExist {
				t.Errorf("Stat while the %s is away: %v", daemon, err)
			}
			c.Start(t, daemon)

			if err := again(func() error { return readFrom(1000) }); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("what was open when the %s was killed reads wrong: %v", daemon, err)
			}
			if err := again(func() error { _, err := w.WriteAt(t.Context(), data[half:], int64(half)); return err }); err != nil {
				t.Fatalf("WriteAt when the %s is back: %v", daemon, err)
			}
			opts := pfs.CommitOptions{Size: int64(len(data))}
			if err := again(func() error { _, err := w.Commit(t.Context(), opts); return err }); err != nil {
				t.Fatalf("Commit when the %s is back: %v", daemon, err)
			}
			pfstest.WantFile(t, f, "/f", data)
			pfstest.WantNames(t, f, pfs.Root, "f", "old")
		})
	}
}

// TestSilentMDS makes the MDS silent until the mount is given up, with callers that wait for the
// timeout and callers that go away before.
func TestSilentMDS(t *testing.T) {
	for _, tt := range []struct {
		name     string
		patience time.Duration
		want     pfs.Kind
	}{
		{"callers that wait", time.Minute, pfs.Unavailable},
		{"callers that go away", 200 * time.Millisecond, pfs.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == pfs.Canceled {
				testbed.Long(t)
			}
			c := testbed.CephAlone(t)
			f := faulty(t, c)
			pfstest.WriteFile(t, f, "/f", []byte("content"))
			m := f.store.cur

			c.Pause(t, "mds")
			makeMany(t, f, tt.patience, tt.want)
			for end := time.Now().Add(20 * time.Second); !m.isDead() && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
			c.Resume(t, "mds")

			if err := again(func() error { return f.Mkdir(t.Context(), "/after", 0o755) }); err != nil {
				t.Fatalf("Mkdir when the MDS answers again: %v", err)
			}
			pfstest.WantFile(t, f, "/f", []byte("content"))
			select {
			case <-m.left:
			case <-time.After(20 * time.Second):
				t.Error("the mount was not given up, or its calls have not ended")
			}
		})
	}
}

// TestManyCanceled cancels many callers at once, as when a client with running batches dies. Other
// callers must keep the mount.
func TestManyCanceled(t *testing.T) {
	testbed.Long(t)
	c := testbed.CephAlone(t)
	f := faulty(t, c)
	m := f.store.cur
	c.Pause(t, "mds")
	makeMany(t, f, 200*time.Millisecond, pfs.Canceled)
	c.Resume(t, "mds")
	if err := again(func() error { return f.Mkdir(t.Context(), "/after", 0o755) }); err != nil {
		t.Fatal(err)
	}
	time.Sleep(f.store.opts.Timeout)
	if m.isDead() {
		t.Error("the mount was given up")
	}
}

// makeMany makes more directories at once than a mount may have abandoned operations. The callers
// wait for patience, and must get an error of that Kind.
func makeMany(t *testing.T, f FS, patience time.Duration, want pfs.Kind) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var wg sync.WaitGroup
	for i := range maxAbandoned + 8 {
		wg.Go(func() {
			err := f.Mkdir(ctx, pfs.Root.Join("dir"+strconv.Itoa(i)), 0o755)
			if pfs.KindOf(err) != want {
				t.Errorf("Mkdir while the MDS is silent: %v", err)
			}
		})
	}
	wg.Wait()
}

// TestBatchSilent ends a batch of many files after a few timeouts of an MDS that does not answer.
func TestBatchSilent(t *testing.T) {
	testbed.Long(t)
	c := testbed.CephAlone(t)
	f := faulty(t, c)
	var entries []pfs.BatchEntry
	for i := range 1000 {
		entries = append(entries, pfs.BatchEntry{Path: pfs.Root.Join(fmt.Sprint("f", i)), Data: []byte("content")})
	}
	c.Pause(t, "mds")
	began := time.Now()
	for i, err := range f.WriteBatch(t.Context(), entries) {
		pfstest.WantKind(t, err, pfs.Unavailable)
		if e := err.(*pfs.Error); e.Path != entries[i].Path {
			t.Fatalf("the error of %s is of %s", entries[i].Path, e.Path)
		}
	}
	if took := time.Since(began); took > 6*f.store.opts.Timeout {
		t.Errorf("a batch: %v, the timeout is %v", took, f.store.opts.Timeout)
	}
	c.Resume(t, "mds")
	must(t, again(func() error { return errors.Join(f.WriteBatch(t.Context(), entries[:100])...) }))
}

// TestSuspendSilent ends uploads that wait for their lock while the MDS does not answer.
func TestSuspendSilent(t *testing.T) {
	testbed.Long(t)
	c := testbed.CephAlone(t)
	f := faulty(t, c)
	for _, end := range []func(w pfs.Staged, ctx context.Context) error{pfs.Staged.Suspend, pfs.Staged.Close} {
		w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
		must(t, err)
		_, err = w.WriteAt(t.Context(), []byte("content"), 0)
		must(t, err)
		must(t, w.(*staged).behind.flush(t.Context(), "cephfs.Test"))
		c.Pause(t, "mds")
		time.Sleep(lockLinger) // the lock is released
		_, err = w.WriteAt(t.Context(), make([]byte, blockSize), blockSize)
		must(t, err)
		ended := make(chan error, 1)
		go func() { ended <- end(w, t.Context()) }()
		select {
		case err := <-ended:
			pfstest.WantKind(t, err, pfs.Unavailable)
		case <-time.After(10 * f.store.opts.Timeout):
			t.Error("an upload has not ended")
		}
		c.Resume(t, "mds")
		must(t, again(func() error { return f.Mkdir(t.Context(), "/after", 0o755) }))
	}
}

// TestCloseSilent closes a store whose MDS does not answer, with a running call and without.
func TestCloseSilent(t *testing.T) {
	testbed.Long(t)
	for _, calls := range []int{0, 1} {
		t.Run(fmt.Sprint(calls, " calls on their way"), func(t *testing.T) {
			c := testbed.CephAlone(t)
			opts := optionsOf(c)
			opts.Root = string(newDir(t, openStore(t, opts)))
			opts.Timeout = 3 * time.Second
			f := openStore(t, opts)
			w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.WriteAt(t.Context(), []byte("content"), 0); err != nil {
				t.Fatal(err)
			}
			if err := w.(*staged).behind.flush(t.Context(), "cephfs.Test"); err != nil {
				t.Fatal(err)
			}
			c.Pause(t, "mds")
			defer c.Resume(t, "mds")
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			for range calls {
				pfstest.WantKind(t, f.Mkdir(ctx, "/dir", 0o755), pfs.Canceled)
			}
			start := time.Now()
			err = f.Close()
			if took := time.Since(start); took > 3*f.store.opts.Timeout {
				t.Errorf("Close took %v, with a timeout of %v", took, f.store.opts.Timeout)
			}
			pfstest.WantKind(t, err, pfs.Unavailable)
			pfstest.WantKind(t, f.Mkdir(t.Context(), "/dir", 0o755), pfs.Closed)
		})
	}
}

// TestGoneWhileRead removes and replaces files that another client reads, and then ends the session of the reader.
func TestGoneWhileRead(t *testing.T) {
	testbed.Long(t)
	c := testbed.CephAlone(t)
	reader, other := openStore(t, optionsOf(c)), openStore(t, optionsOf(c))
	dir := newDir(t, other)
	data := pfstest.Pattern(1, 6*pfs.ChunkSize)
	got := make([]byte, len(data))
	for _, how := range []struct {
		name string
		gone func(name pfs.Path) error
	}{
		{"removed", func(name pfs.Path) error { return other.Remove(t.Context(), name) }},
		{"replaced", func(name pfs.Path) error { pfstest.WriteFile(t, other, name, []byte("new")); return nil }},
	} {
		t.Run(how.name, func(t *testing.T) {
			name := dir.Join(how.name)
			pfstest.WriteFile(t, other, name, data)
			r, err := reader.Open(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if err := pfs.ReadFull(t.Context(), r, got[:1000], 0); err != nil {
				t.Fatal(err)
			}
			if err := how.gone(name); err != nil {
				t.Fatal(err)
			}
			if err := pfs.ReadFull(t.Context(), r, got[1000:], 1000); err != nil || !bytes.Equal(got, data) {
				t.Errorf("what is open reads wrong once it is %s: %v", how.name, err)
			}
			evict(t, c)
			err = again(func() error { return pfs.ReadFull(t.Context(), r, got, 0) })
			pfstest.WantKind(t, err, pfs.Conflict)
		})
	}
}

// setFull makes the OSD report "full", or "none", and waits until do returns that this is noticed.
func setFull(t *testing.T, c testbed.CephCluster, state string, do func() bool) {
	t.Helper()
	c.Command(t, "tell", "osd.0", "injectfull", state)
	for end := time.Now().Add(time.Minute); !do(); {
		if time.Now().After(end) {
			t.Fatalf("nobody has noticed within a minute that the OSD is full: %s", state)
		}
	}
}

// TestFull fills the store in the middle of a file, and frees space again.
func TestFull(t *testing.T) {
	c := testbed.CephAlone(t)
	f := faulty(t, c)
	data := pfstest.Pattern(1, 2*blockSize)
	w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(t.Context())
	write := func() error {
		_, err := w.WriteAt(t.Context(), data, 0)
		if err == nil {
			err = w.Sync(t.Context())
		}
		return err
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Command(t, "tell", "osd.0", "injectfull", "none") })
	setFull(t, c, "full", func() bool {
		if err = write(); err != nil && pfs.KindOf(err) != pfs.NoSpace {
			t.Fatalf("a write to a full store: %v, want NoSpace", err)
		}
		return err != nil
	})
	errs := f.WriteBatch(t.Context(), []pfs.BatchEntry{{Path: "/g", Data: data[:1000]}})
	pfstest.WantKind(t, errs[0], pfs.NoSpace)
	pfstest.WantNames(t, f, pfs.Root)
	setFull(t, c, "none", func() bool { return write() == nil })
	if _, err := w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))}); err != nil {
		t.Fatal(err)
	}
	pfstest.WantFile(t, f, "/f", data)
}
