//go:build ceph

package cephfs

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// wantSoon fails unless do answers with an error of the Kind, within a few timeouts.
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
	wrong := filepath.Join(t.TempDir(), "keyring")
	key := "[client.admin]\n\tkey = AQBAAAAAAAAAABAAY2VwaCBrZXkgdGhhdCBpcw==\n"
	if err := os.WriteFile(wrong, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change func(o *Options)
		want   pfs.Kind
	}{
		{"no monitors", func(o *Options) { o.Monitors = nil }, pfs.Invalid},
		{"nobody listens", func(o *Options) { o.Monitors = []string{nobody} }, pfs.Unavailable},
		{"a listener that never answers", func(o *Options) { o.Monitors = []string{silent.Addr().String()} }, pfs.Unavailable},
		{"no such host", func(o *Options) { o.Monitors = []string{"no-such-host.invalid"} }, pfs.Invalid},
		{"no such keyring", func(o *Options) { o.Keyring = filepath.Join(t.TempDir(), "none") }, pfs.Invalid},
		{"the key of another cluster", func(o *Options) { o.Keyring = wrong }, pfs.Unavailable},
		{"a user without a key", func(o *Options) { o.User = "nobody" }, pfs.Invalid},
		{"no such file system", func(o *Options) { o.FileSystem = "none" }, pfs.Invalid},
		{"no such root", func(o *Options) { o.Root = "/none" }, pfs.Invalid},
		{"no such ceph.conf", func(o *Options) { o.Config = "/none/ceph.conf" }, pfs.Invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts := optionsOf(c)
			opts.Timeout = timeout
			tt.change(&opts)
			wantSoon(t, timeout, tt.want, func() error {
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

// TestOpenDeadline opens a store that does not answer, with less patience than the options have.
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
	pfstest.WantKind(t, err, pfs.Unavailable)
	if took := time.Since(start); took > opts.Timeout/2 {
		t.Errorf("the answer took %v, with a deadline of 100ms", took)
	}
}

// faulty opens a directory of its own over a store that is not waited for long.
func faulty(t *testing.T, c testbed.CephCluster) *FS {
	t.Helper()
	opts := optionsOf(c)
	opts.Timeout = 3 * time.Second
	one := openStore(t, opts)
	return one.Below(newDir(t, one)).(*FS)
}

// evict ends all sessions of clients with the MDS, and keeps them out.
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
	defer w.Close()
	if _, err := w.WriteAt(t.Context(), data[:pfs.ChunkSize], 0); err != nil {
		t.Fatal(err)
	}

	evict(t, c)

	got := make([]byte, len(data))
	if err := again(func() error { return pfs.ReadFull(t.Context(), r, got, 0) }); err != nil || string(got) != string(data) {
		t.Fatalf("a file that was open reads wrong after an eviction: %v", err)
	}
	if err := again(func() error { _, err := w.WriteAt(t.Context(), data, 0); return err }); err != nil {
		t.Fatalf("a staged write ends with an eviction: %v", err)
	}
	evict(t, c)
	opts := pfs.CommitOptions{Size: int64(len(data))}
	if err := again(func() error { _, err := w.Commit(t.Context(), opts); return err }); err != nil {
		t.Fatalf("Commit after an eviction: %v", err)
	}
	pfstest.WantFile(t, f, "/new", data)
	pfstest.WantNames(t, f, pfs.Root, "new", "old")
}

// again does what a caller does whose call answers Unavailable: it tries some more times.
func again(do func() error) (err error) {
	for range 20 {
		if err = do(); err == nil || !pfs.KindOf(err).Temporary() {
			return err
		}
	}
	return err
}

// TestDaemonKilled kills each daemon in the middle of a write, and starts it again.
func TestDaemonKilled(t *testing.T) {
	for _, daemon := range []string{"osd", "mds", "mon"} {
		t.Run(daemon, func(t *testing.T) {
			c := testbed.CephAlone(t)
			f := faulty(t, c)
			data := pfstest.Pattern(1, 6*pfs.ChunkSize+77)
			w, err := f.Create(t.Context(), "/f", pfs.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			half := 3 * pfs.ChunkSize
			if _, err := w.WriteAt(t.Context(), data[:half], 0); err != nil {
				t.Fatal(err)
			}

			c.Kill(t, daemon)
			if daemon != "mon" { // without one the others go on
				wantSoon(t, f.store.opts.Timeout, pfs.Unavailable, func() error {
					_, err := w.WriteAt(t.Context(), data[half:], int64(half))
					if err == nil {
						_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
					}
					return err
				})
			}
			if _, err := f.Stat(t.Context(), "/f"); err == nil {
				t.Fatal("a file is there that was not committed")
			} else if kind := pfs.KindOf(err); daemon == "mds" && kind != pfs.Unavailable && kind != pfs.NotExist {
				t.Errorf("Stat while the %s is away: %v", daemon, err)
			}
			c.Start(t, daemon)

			if err := again(func() error { _, err := w.WriteAt(t.Context(), data[half:], int64(half)); return err }); err != nil {
				t.Fatalf("WriteAt when the %s is back: %v", daemon, err)
			}
			opts := pfs.CommitOptions{Size: int64(len(data))}
			if err := again(func() error { _, err := w.Commit(t.Context(), opts); return err }); err != nil {
				t.Fatalf("Commit when the %s is back: %v", daemon, err)
			}
			pfstest.WantFile(t, f, "/f", data)
			pfstest.WantNames(t, f, pfs.Root, "f")
		})
	}
}

// TestSilentMDS gives up so many calls to an MDS that does not answer that the mount is given up.
func TestSilentMDS(t *testing.T) {
	c := testbed.CephAlone(t)
	f := faulty(t, c)
	pfstest.WriteFile(t, f, "/f", []byte("content"))
	m := f.store.cur

	c.Pause(t, "mds")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for i := range maxAbandoned + 8 {
		wg.Go(func() {
			err := f.Mkdir(ctx, pfs.Root.Join("dir"+strconv.Itoa(i)), 0o755)
			if kind := pfs.KindOf(err); err == nil || kind != pfs.Unavailable {
				t.Errorf("Mkdir while the MDS is silent: %v", err)
			}
		})
	}
	wg.Wait()
	c.Resume(t, "mds")

	if err := again(func() error { return f.Mkdir(t.Context(), "/after", 0o755) }); err != nil {
		t.Fatalf("Mkdir when the MDS answers again: %v", err)
	}
	pfstest.WantFile(t, f, "/f", []byte("content"))
	select {
	case <-m.left:
	case <-time.After(20 * time.Second):
		t.Error("calls of the mount that was given up have not ended")
	}
}
