package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/internal/relay"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// spoiled returns a relay to s.
func spoiled(t *testing.T, s *service, spoil relay.Spoil) *relay.Relay {
	return relay.New(t, s.Listener.Addr().String, spoil)
}

func randomBytes(n int) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(p)
	return p
}

// upload writes content as name and returns how Commit ended.
func upload(ctx context.Context, fsys pfs.FileSystem, name pfs.Path, content []byte) error {
	w, err := fsys.Create(ctx, name, pfs.CreateOptions{Size: int64(len(content))})
	if err != nil {
		return err
	}
	defer w.Close(ctx)
	if _, err := w.WriteAt(ctx, content, 0); err != nil {
		return err
	}
	_, err = w.Commit(ctx, pfs.CommitOptions{Size: int64(len(content)), Digest: digest.Bytes(content)})
	return err
}

func download(ctx context.Context, fsys pfs.FileSystem, name pfs.Path) ([]byte, error) {
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(pfs.NewReader(ctx, f))
}

// roundTrip uploads and downloads content through c and checks both.
func roundTrip(t *testing.T, c pfs.FileSystem, content []byte) {
	t.Helper()
	if err := upload(t.Context(), c, "/file", content); err != nil {
		t.Fatalf("upload: %v", err)
	}
	got, err := download(t.Context(), c, "/file")
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("download: %d bytes, right: %v, %v", len(got), bytes.Equal(got, content), err)
	}
}

func TestConnectionsCutEveryTenMiB(t *testing.T) {
	s := serve(t, memfs.New(memfs.Options{}))
	var mu sync.Mutex
	passed := map[int]int{}
	r := spoiled(t, s, func(conn int, p []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		passed[conn] += len(p)
		return passed[conn] < 10<<20
	})
	roundTrip(t, s.connect(t, "https://"+r.Address()), randomBytes(45<<20+12345))
	if n := r.Connections(); n < 8 {
		t.Errorf("only %d connections: the test cut nothing", n)
	}
}

func TestBitsFlippedOnTheWire(t *testing.T) {
	// Without TLS, which would detect the flip itself: this test is about the checksum of a chunk.
	// Only bytes deep in a body are flipped; a damaged header or message is another kind of
	// request.
	s := start(t, memfs.New(memfs.Options{}), false, nil)
	var flips, seen atomic.Int64
	r := spoiled(t, s, func(_ int, p []byte) bool {
		before := seen.Add(int64(len(p))) - int64(len(p))
		if len(p) >= 16<<10 && before/(6<<20) != seen.Load()/(6<<20) {
			p[len(p)/2] ^= 0x04
			flips.Add(1)
		}
		return true
	})
	roundTrip(t, s.connect(t, "http://"+r.Address()), randomBytes(64<<20))
	if flips.Load() < 10 {
		t.Errorf("only %d bits were flipped", flips.Load())
	}
}

func TestBatchOfLongPaths(t *testing.T) {
	s := serve(t, memfs.New(memfs.Options{}))
	c := s.connect(t, s.URL)
	deep := pfs.Path("/missing") + pfs.Path(strings.Repeat("/"+strings.Repeat("d", 250), 15))
	entries := make([]pfs.BatchEntry, 2*wire.MaxBatchEntries)
	for i := range entries {
		entries[i] = pfs.BatchEntry{Path: pfs.Path(fmt.Sprintf("%s/%d", deep, i)), Data: []byte("x")}
	}
	for i, err := range c.WriteBatch(t.Context(), entries) {
		var e *pfs.Error
		if !errors.Is(err, pfs.NotExist) || !errors.As(err, &e) || !entries[i].Path.Within(e.Path) {
			t.Fatalf("entry %d: %v, want that there is no /missing", i, err)
		}
	}
	copies := make([]pfs.BatchCopy, len(entries))
	for i := range copies {
		copies[i] = pfs.BatchCopy{Source: entries[i].Path, Target: "/x", Size: 1}
	}
	for i, err := range c.CopyBatch(t.Context(), copies) {
		var e *pfs.Error
		if !errors.Is(err, pfs.NotExist) || !errors.As(err, &e) || e.Path != copies[i].Source {
			t.Fatalf("copy %d: %v, want that there is no %s", i, err, copies[i].Source)
		}
	}
}

func TestTokenExpiresInTheMiddle(t *testing.T) {
	s := serve(t, memfs.New(memfs.Options{}))
	c := s.connect(t, s.URL)
	ctx := t.Context()
	content := randomBytes(24 << 20)
	w, err := c.Create(ctx, "/file", pfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for off := 0; off < len(content); off += pfs.ChunkSize {
		s.tokens.newest.Add(1) // the one before is refused from now on
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				p := content[off+i<<20 : off+(i+1)<<20]
				if _, err := w.WriteAt(ctx, p, int64(off+i<<20)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	if _, err := w.Commit(ctx, pfs.CommitOptions{Size: int64(len(content)), Digest: digest.Bytes(content)}); err != nil {
		t.Fatal(err)
	}
}

// TestTokensExpireWhileTheServiceIsAway: a request that is repeated for longer than a token is valid gets another one.
func TestTokensExpireWhileTheServiceIsAway(t *testing.T) {
	var s *service
	var requests atomic.Int64
	s = start(t, memfs.New(memfs.Options{}), true, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, wire.PathCall) && requests.Add(1) == 2 { // with the second token
				s.tokens.newest.Add(1)
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
	})
	c := s.connect(t, s.URL)
	if _, err := c.Usage(t.Context(), "/"); err != nil { // the first token
		t.Fatal(err)
	}
	requests.Store(0)
	s.tokens.newest.Add(1)
	if _, err := c.Stat(t.Context(), "/"); err != nil {
		t.Errorf("the second token expired after a lost answer: %v", err)
	}
}

func TestRefusedTokenIsNotAskedForEver(t *testing.T) {
	s := serve(t, memfs.New(memfs.Options{}))
	c, err := client.New(client.Options{
		Endpoint: s.URL, Fingerprint: mustFingerprint(t, s),
		Token: func(context.Context, string) (string, error) { return "stale", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stat(t.Context(), "/"); !errors.Is(err, pfs.Unauthenticated) {
		t.Errorf("got %v, want Unauthenticated", err)
	}
	if n := s.tokens.checked.Load(); n > 2 {
		t.Errorf("the same refused token was sent %d times", n)
	}
}

func mustFingerprint(t *testing.T, s *service) string {
	t.Helper()
	f, _, err := client.Fingerprint(t.Context(), s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestReplyLostAfterChange(t *testing.T) {
	// Each first answer to a change is lost; the change must not be done twice.
	var mu sync.Mutex
	lost := map[string]bool{}
	s := start(t, memfs.New(memfs.Options{}), true, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := r.Header.Get(wire.HeaderRequest)
			mu.Lock()
			first := id != "" && !lost[id]
			lost[id] = true
			mu.Unlock()
			if !first {
				h.ServeHTTP(w, r)
				return
			}
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			panic(http.ErrAbortHandler)
		})
	})
	c := s.connect(t, s.URL)
	ctx := t.Context()
	if err := c.Mkdir(ctx, "/d", 0o755); err != nil {
		t.Errorf("Mkdir: %v", err)
	}
	if err := upload(ctx, c, "/d/a", []byte("x")); err != nil {
		t.Errorf("Commit: %v", err)
	}
	if err := c.RenameExclusive(ctx, "/d/a", "/d/b"); err != nil {
		t.Errorf("RenameExclusive: %v", err)
	}
	if err := c.Symlink(ctx, "b", "/d/l"); err != nil {
		t.Errorf("Symlink: %v", err)
	}
	if err := c.Remove(ctx, "/d/l"); err != nil {
		t.Errorf("Remove: %v", err)
	}
	for i, err := range c.WriteBatch(ctx, []pfs.BatchEntry{{Path: "/d/n", Data: []byte("n"), NoReplace: true}}) {
		if err != nil {
			t.Errorf("WriteBatch entry %d: %v", i, err)
		}
	}
	for i, err := range c.CopyBatch(ctx, []pfs.BatchCopy{{Source: "/d/n", Target: "/d/copy", Size: 1, NoReplace: true}}) {
		if err != nil {
			t.Errorf("CopyBatch entry %d: %v", i, err)
		}
	}
	if err := c.Remove(ctx, "/d/gone"); !errors.Is(err, pfs.NotExist) {
		t.Errorf("Remove of what was never there: %v", err)
	}
}

// halfBatch writes the first half of the first batch; then the client disconnects.
type halfBatch struct {
	*memfs.FS
	batches atomic.Int64
	gone    context.CancelFunc
}

func (h *halfBatch) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	if h.batches.Add(1) > 1 {
		return h.FS.WriteBatch(ctx, entries)
	}
	half := len(entries) / 2
	errs := h.FS.WriteBatch(ctx, entries[:half])
	h.gone()
	return append(errs, h.FS.WriteBatch(ctx, entries[half:])...)
}

// TestConnectionLostInABatch checks that a repeated batch completes the entries that the service
// did not reach when its client disconnected, and repeats no others.
func TestConnectionLostInABatch(t *testing.T) {
	store := &halfBatch{FS: memfs.New(memfs.Options{})}
	s := start(t, store, true, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != wire.PathBatch || store.gone != nil {
				h.ServeHTTP(w, r)
				return
			}
			var ctx context.Context
			ctx, store.gone = context.WithCancel(r.Context())
			h.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
			panic(http.ErrAbortHandler)
		})
	})
	c := s.connect(t, s.URL)
	entries := make([]pfs.BatchEntry, wire.MaxBatchEntries)
	for i := range entries {
		entries[i] = pfs.BatchEntry{Path: pfs.Path(fmt.Sprintf("/f%d", i)), Data: []byte("content"), NoReplace: true}
	}
	entries[3].Path = "/f2" // exists by then
	for i, err := range c.WriteBatch(t.Context(), entries) {
		if i == 3 && errors.Is(err, pfs.Exist) {
			continue
		}
		if err != nil {
			t.Fatalf("entry %d of %d: %v", i, len(entries), err)
		}
		if got, err := download(t.Context(), store, entries[i].Path); err != nil || string(got) != "content" {
			t.Fatalf("%s: %q, %v", entries[i].Path, got, err)
		}
	}
	if n := store.batches.Load(); n != 2 {
		t.Errorf("the store was given %d batches", n)
	}
}

func TestStrangersAreNotBelieved(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		kind   pfs.Kind
		says   string
	}{
		{"a web server's 404 is not NotExist", http.NotFound, pfs.Other, "not as a pfs service"},
		{"a login page is not an answer", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<html>")
		}, pfs.Other, "not as a pfs service"},
		{"a proxy's 502 is Unavailable", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "bad gateway", http.StatusBadGateway)
		}, pfs.Unavailable, "502"},
		{"another protocol version", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(wire.HeaderProtocol, "2")
			w.Header().Set("Content-Type", wire.TypeMessage)
		}, pfs.Unsupported, "protocol"},
		{"a redirect is not followed", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, pfs.Other, "not as a pfs service"},
		{"an error of garbage", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(wire.HeaderProtocol, "1")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write(bytes.Repeat([]byte{0xdd, 0xff}, 100))
		}, pfs.Other, "404"},
		{"a reply of garbage", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(wire.HeaderProtocol, "1")
			w.Header().Set("Content-Type", wire.TypeMessage)
			_, _ = w.Write([]byte{0xdd, 0xff, 0xff, 0xff, 0xff})
		}, pfs.Invalid, "malformed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ts := httptest.NewServer(tt.answer)
			defer ts.Close()
			c, err := client.New(client.Options{Endpoint: ts.URL, Retry: retry.Never, Token: func(context.Context, string) (string, error) { return "t", nil }})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Stat(t.Context(), "/a")
			if pfs.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v (%v), want %v and %q", err, pfs.KindOf(err), tt.kind, tt.says)
			}
		})
	}
}

func TestUnreachableIsNotNotExist(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	c, err := client.New(client.Options{Endpoint: "http://" + address, Retry: retry.Never, Token: func(context.Context, string) (string, error) { return "t", nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stat(t.Context(), "/a"); !errors.Is(err, pfs.Unavailable) {
		t.Errorf("got %v, want Unavailable", err)
	}
}

func TestPinnedCertificate(t *testing.T) {
	s := serve(t, memfs.New(memfs.Options{}))
	get := func(fingerprint string) error {
		c, err := client.New(client.Options{Endpoint: s.URL, Fingerprint: fingerprint, Retry: retry.Never})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Service(t.Context())
		return err
	}
	right := mustFingerprint(t, s)
	if err := get("SHA256:" + strings.ToUpper(right)); err != nil {
		t.Errorf("right pin: %v", err)
	}
	wrong := strings.Repeat("ab", 32)
	err := get(wrong)
	var pinned *client.PinError
	if !errors.As(err, &pinned) || pinned.Shown != right || pinned.Pinned != wrong || !errors.Is(err, pfs.Unauthenticated) {
		t.Errorf("wrong pin: %v", err)
	}
	if err := get(""); !errors.Is(err, pfs.Unauthenticated) {
		t.Errorf("self-signed without a pin: %v", err)
	}
}

func TestEndpoints(t *testing.T) {
	for _, endpoint := range []string{"", "host:80", "ftp://h", "https://", "https://user:secret@h", "https://h?x=1", "http://[::1"} {
		_, err := client.New(client.Options{Endpoint: endpoint})
		if !errors.Is(err, pfs.Invalid) {
			t.Errorf("%q: %v, want Invalid", endpoint, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error tells the password: %v", endpoint, err)
		}
	}
	if _, err := client.New(client.Options{Endpoint: "https://h:8730/behind/a/proxy/"}); err != nil {
		t.Error(err)
	}
}

// TestLostBeforeItWasPublished copies into a service whose store loses all received bytes: they are
// sent again, in the same copy.
func TestLostBeforeItWasPublished(t *testing.T) {
	content := randomBytes(pfs.ChunkSize + 5)
	source, store := memfs.New(memfs.Options{}), &pfstest.Forgetful{FileSystem: memfs.New(memfs.Options{})}
	if err := upload(t.Context(), source, "/f", content); err != nil {
		t.Fatal(err)
	}
	s := serve(t, store)
	c := s.connect(t, s.URL)
	job, err := transfer.New(transfer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = job.Copy(t.Context(), transfer.End{FS: source, Path: "/f"}, transfer.End{FS: c, Path: "/f"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := download(t.Context(), store, "/f"); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes were published, %v", len(got), err)
	}
}
