package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/server"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// replicas are services over one store. Each request goes to the selected one.
type replicas struct {
	*service
	servers [2]*server.Server
	at      atomic.Int64
	cut     atomic.Int64 // the answer to this request for a write is lost; counts down
	leave   atomic.Bool  // with it the replica is lost
}

func serveReplicas(t *testing.T, fsys pfs.FileSystem) *replicas {
	r := &replicas{}
	a := &tokens{}
	for i := range r.servers {
		s := server.New(server.Config{
			Auth: a, View: func(auth.Identity, string) pfs.FileSystem { return fsys }, Datacenters: []string{"dc"}, Current: "dc",
		})
		t.Cleanup(s.Close)
		r.servers[i] = s
	}
	r.service = start(t, fsys, false, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			s := r.servers[r.at.Load()]
			if req.URL.Path == wire.PathWrite && r.cut.Add(-1) == 0 {
				s.ServeHTTP(&deaf{header: http.Header{}}, req)
				if r.leave.Load() {
					r.at.Store(1)
				}
				panic(http.ErrAbortHandler)
			}
			s.ServeHTTP(w, req)
		})
	})
	return r
}

// deaf discards an answer.
type deaf struct{ header http.Header }

func (d *deaf) Header() http.Header         { return d.header }
func (d *deaf) Write(p []byte) (int, error) { return len(p), nil }
func (d *deaf) WriteHeader(int)             {}

func openHandle(t *testing.T, c *client.Client, name pfs.Path, flags pfs.OpenFlags) pfs.Handle {
	t.Helper()
	h, err := c.OpenHandle(t.Context(), name, flags, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

func writeAt(t *testing.T, h pfs.Handle, text string, off int64) {
	t.Helper()
	if n, err := h.WriteAt(t.Context(), []byte(text), off); n != len(text) || err != nil {
		t.Fatalf("WriteAt: %d, %v", n, err)
	}
}

// readAll returns the content of a handle.
func readAll(t *testing.T, h pfs.Handle) string {
	t.Helper()
	b := make([]byte, 1<<20)
	n, err := h.ReadAt(t.Context(), b, 0)
	if err != io.EOF {
		t.Fatalf("ReadAt: %d, %v", n, err)
	}
	return string(b[:n])
}

// eachStore runs a test over stores that have handles.
func eachStore(t *testing.T, test func(t *testing.T, fsys pfs.FileSystem)) {
	t.Run("memfs", func(t *testing.T) { test(t, memfs.New(memfs.Options{})) })
	t.Run("localfs", func(t *testing.T) {
		store, err := localfs.New(t.TempDir(), localfs.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		if _, ok := any(store).(pfs.HandleOpener); !ok {
			t.Skip("the store has no handles")
		}
		test(t, store)
	})
}

const readWrite = pfs.OpenRead | pfs.OpenWrite | pfs.OpenCreate

// TestHandleGoesOnAfterARestart uses a handle after a restart, and on another replica, which is the
// same. Synced bytes exist. Sync or Close reports other bytes as lost.
func TestHandleGoesOnAfterARestart(t *testing.T) {
	eachStore(t, func(t *testing.T, fsys pfs.FileSystem) {
		s := serveReplicas(t, fsys)
		c := s.connect(t, s.URL)
		ctx := t.Context()
		h := openHandle(t, c, "/f", readWrite|pfs.OpenExclusive|pfs.OpenTruncate)
		writeAt(t, h, "synced", 0)
		if err := h.Sync(ctx); err != nil {
			t.Fatal(err)
		}
		s.at.Store(1)
		if got := readAll(t, h); got != "synced" {
			t.Errorf("after the restart the file holds %q", got)
		}
		writeAt(t, h, "SYN", 0)
		if err := h.Sync(ctx); err != nil {
			t.Errorf("Sync of what the second replica took: %v", err)
		}
		writeAt(t, h, "lost?", 0)
		s.at.Store(0)
		pfstest.WantKind(t, h.Sync(ctx), pfs.Stale)
		if err := h.Sync(ctx); err != nil {
			t.Errorf("Stale is told twice: %v", err)
		}
		writeAt(t, h, "a", 0)
		s.at.Store(1)
		writeAt(t, h, "b", 1)
		pfstest.WantKind(t, h.Close(ctx), pfs.Stale)
		pfstest.WantKind(t, h.Sync(ctx), pfs.Closed)

		s.at.Store(0)
		gone := openHandle(t, c, "/f", readWrite)
		if err := c.Remove(ctx, "/f"); err != nil {
			t.Fatal(err)
		}
		writeAt(t, gone, "of no name", 0)
		if got := readAll(t, gone); got != "of no name" {
			t.Errorf("the removed file holds %q", got)
		}
		s.at.Store(1)
		_, err := gone.Stat(ctx)
		pfstest.WantKind(t, err, pfs.Stale)
	})
}

// TestLostAnswers repeats writes at offsets and appends of which the answer was lost.
func TestLostAnswers(t *testing.T) {
	eachStore(t, func(t *testing.T, fsys pfs.FileSystem) {
		s := serveReplicas(t, fsys)
		c := s.connect(t, s.URL)
		h := openHandle(t, c, "/f", readWrite)
		log := openHandle(t, c, "/log", readWrite|pfs.OpenAppend)
		for range 3 {
			s.cut.Store(1)
			writeAt(t, h, "offset", 3)
			s.cut.Store(1)
			writeAt(t, log, "line,", 0)
		}
		if got := readAll(t, h); got != "\x00\x00\x00offset" {
			t.Errorf("the file holds %q", got)
		}
		if got := readAll(t, log); got != strings.Repeat("line,", 3) {
			t.Errorf("the log holds %q", got)
		}
	})
}

// TestAppendThatMayHaveBeenWritten answers Stale when the replica that knows has gone.
func TestAppendThatMayHaveBeenWritten(t *testing.T) {
	s := serveReplicas(t, memfs.New(memfs.Options{}))
	c := s.connect(t, s.URL)
	log := openHandle(t, c, "/log", readWrite|pfs.OpenAppend)
	writeAt(t, log, "line,", 0)
	s.tokens.newest.Add(1) // a refused token is not a lost answer
	writeAt(t, log, "line,", 0)
	s.cut.Store(1)
	s.leave.Store(true)
	_, err := log.WriteAt(t.Context(), []byte("line,"), 0)
	pfstest.WantKind(t, err, pfs.Stale)
	if got := readAll(t, log); got != strings.Repeat("line,", 3) {
		t.Errorf("the log holds %q", got)
	}
}

// TestLargeHandleReadsAndWrites move several chunks.
func TestLargeHandleReadsAndWrites(t *testing.T) {
	eachStore(t, func(t *testing.T, fsys pfs.FileSystem) {
		s := serve(t, fsys)
		h := openHandle(t, s.connect(t, s.URL), "/f", readWrite)
		want := pfstest.Pattern(1, 2*pfs.ChunkSize+12345)
		if n, err := h.WriteAt(t.Context(), want, 7); n != len(want) || err != nil {
			t.Fatal(n, err)
		}
		got := make([]byte, len(want)+1)
		n, err := h.ReadAt(t.Context(), got, 7)
		if n != len(want) || err != io.EOF || string(got[:n]) != string(want) {
			t.Errorf("%d of %d bytes are read: %v", n, len(want), err)
		}
		if err := h.Truncate(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		if info, err := h.Stat(t.Context()); err != nil || info.Size != 3 || info.Name != "f" {
			t.Errorf("%+v, %v", info, err)
		}
		if _, err := h.ReadAt(t.Context(), got, 3); !errors.Is(err, io.EOF) {
			t.Errorf("behind the end: %v", err)
		}
	})
}

// TestOpened: the service describes a file when it opens it, as Stat does.
func TestOpened(t *testing.T) {
	eachStore(t, func(t *testing.T, fsys pfs.FileSystem) {
		s := serveReplicas(t, fsys)
		c := s.connect(t, s.URL)
		for _, flags := range []pfs.OpenFlags{readWrite, readWrite | pfs.OpenTruncate} {
			var opened pfs.Info
			ctx := pfs.WithHandleID(t.Context(), pfs.HandleID{ID: pfs.NewID(), Opened: &opened})
			h, err := c.OpenHandle(ctx, "/f", flags, 0o640)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := h.Stat(ctx); err != nil || !reflect.DeepEqual(info, opened) || info.Name != "f" {
				t.Errorf("opened %+v, Stat %+v, %v", opened, info, err)
			}
			writeAt(t, h, "content", 0)
			if err := h.Close(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}
