package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// names is an Authenticator whose access tokens are the users' names.
type names struct{}

func (names) Login(_ context.Context, user, password, _ string) (auth.Tokens, error) {
	if password != "right" {
		return auth.Tokens{}, pfs.Errorf("test.Login", "", pfs.Unauthenticated, "wrong")
	}
	return auth.Tokens{User: user, Access: user, Refresh: "r"}, nil
}
func (names) Refresh(context.Context, string, string) (auth.Tokens, error) {
	return auth.Tokens{}, &pfs.Error{Kind: pfs.Limit, Err: &auth.RetryAfter{Wait: 90 * time.Second}}
}
func (names) Logout(context.Context, string) (string, error) { return "alice", nil }
func (names) Verify(_ context.Context, access string) (auth.Identity, error) {
	if access == "" {
		return auth.Identity{}, pfs.Errorf("test.Verify", "", pfs.Unauthenticated, "no such token")
	}
	return auth.Identity{Name: access}, nil
}

// newServer returns a server of fsys and its log.
func newServer(t *testing.T, fsys pfs.FileSystem, change func(*Config)) (*Server, *lockedBuffer) {
	t.Helper()
	log := &lockedBuffer{}
	cfg := Config{
		Auth: names{}, View: func(auth.Identity, string) pfs.FileSystem { return fsys },
		Datacenters: []string{"dc"}, Current: "dc", Logger: slog.New(slog.NewTextHandler(log, nil)),
	}
	if change != nil {
		change(&cfg)
	}
	s := New(cfg)
	t.Cleanup(s.Close)
	return s, log
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// do sends a request as alice.
func do(s *Server, method, target string, body []byte, header ...string) *httptest.ResponseRecorder {
	return doWith(context.Background(), s, method, target, body, header...)
}

func doWith(ctx context.Context, s *Server, method, target string, body []byte, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer alice")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// kindOf returns the Kind of an error answer.
func kindOf(t *testing.T, w *httptest.ResponseRecorder) pfs.Kind {
	t.Helper()
	var e wire.Error
	if err := wire.Decode(w.Body.Bytes(), &e); err != nil {
		t.Fatalf("HTTP %d without an error message: %v", w.Code, err)
	}
	if got := w.Result().Header.Get(wire.HeaderProtocol); got != "1" {
		t.Errorf("header %s is %q", wire.HeaderProtocol, got)
	}
	return pfs.KindOf(e.Err())
}

func onWire(p []byte) []byte {
	b, _ := io.ReadAll(wire.NewChunkReader(p))
	return b
}

func TestNothingWithoutAToken(t *testing.T) {
	s, _ := newServer(t, memfs.New(memfs.Options{}), nil)
	targets := []string{"GET /v1/data?path=/", "PUT /v1/data?path=/f&id=12345678", "PUT /v1/write?path=/f", "POST /v1/batch", "POST /v1/read"}
	for method := range s.calls() {
		targets = append(targets, "POST "+wire.PathCall+method)
	}
	for _, target := range targets {
		for _, header := range []string{"", "Basic YTpi", "Bearer "} {
			method, url, _ := strings.Cut(target, " ")
			w := do(s, method, url, nil, "Authorization", header)
			if w.Code != http.StatusUnauthorized || kindOf(t, w) != pfs.Unauthenticated {
				t.Errorf("%s with %q: HTTP %d", target, header, w.Code)
			}
		}
	}
}

func TestBadRequests(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	s, _ := newServer(t, fsys, nil)
	create := wire.Encode(wire.CreateRequest{Path: "/f", ID: "12345678"})
	if w := do(s, "POST", "/v1/call/create", create); w.Code != 200 {
		t.Fatalf("create: HTTP %d", w.Code)
	}
	batch := func(m any, rest ...byte) []byte {
		var b bytes.Buffer
		_ = wire.WriteFrame(&b, m)
		return append(b.Bytes(), rest...)
	}
	tests := []struct {
		name, method, url string
		body              []byte
		want              pfs.Kind
	}{
		{"unknown path", "GET", "/v2/data", nil, pfs.Unsupported},
		{"unknown call", "POST", "/v1/call/format-disk", nil, pfs.Unsupported},
		{"no message", "POST", "/v1/call/stat", nil, pfs.Invalid},
		{"message of a hostile length", "POST", "/v1/call/list", []byte{0xdf, 0xff, 0xff, 0xff, 0xff}, pfs.Invalid},
		{"message too long", "POST", "/v1/call/stat", make([]byte, wire.MaxMessage+1), pfs.Invalid},
		{"path with ..", "POST", "/v1/call/stat", wire.Encode(wire.PathRequest{Path: "/a/../b"}), pfs.Invalid},
		{"reserved name", "GET", "/v1/data?path=/.pfs-quota", nil, pfs.Invalid},
		{"no path", "GET", "/v1/data", nil, pfs.Invalid},
		{"negative offset", "GET", "/v1/data?path=/f&off=-1", nil, pfs.Invalid},
		{"offset of words", "GET", "/v1/data?path=/f&off=x", nil, pfs.Invalid},
		{"chunk too long", "GET", fmt.Sprintf("/v1/data?path=/f&len=%d", pfs.ChunkSize+1), nil, pfs.Invalid},
		{"ID of another form", "PUT", "/v1/data?path=/f&id=../../x", onWire(nil), pfs.Invalid},
		{"chunk without its sum", "PUT", "/v1/data?path=/f&id=12345678", []byte("abc"), pfs.Invalid},
		{"chunk with a wrong sum", "PUT", "/v1/data?path=/f&id=12345678", append([]byte("data"), make([]byte, wire.SumSize)...), pfs.Integrity},
		{"upload that is not there", "PUT", "/v1/data?path=/f&id=87654321", onWire([]byte("x")), pfs.Conflict},
		{"negative size", "POST", "/v1/call/commit", wire.Encode(wire.CommitRequest{Path: "/f", ID: "12345678", Size: -1}), pfs.Invalid},
		{"commit of what was not sent", "POST", "/v1/call/commit", wire.Encode(wire.CommitRequest{Path: "/f", ID: "12345678", Size: 1 << 50}), pfs.Integrity},
		{"leaves of a negative number", "POST", "/v1/call/leaves", wire.Encode(wire.LeavesRequest{Path: "/f", ID: "12345678", First: -1}), pfs.Invalid},
		{"batch that breaks off", "POST", "/v1/batch", []byte{0, 0, 0, 9}, pfs.Unavailable},
		{"batch larger than allowed", "POST", "/v1/batch", batch(wire.BatchRequest{Entries: []wire.BatchEntry{{Path: "/a", Size: 1 << 40}}}), pfs.Invalid},
		{"batch of a negative size", "POST", "/v1/batch", batch(wire.BatchRequest{Entries: []wire.BatchEntry{{Path: "/a", Size: -1}}}), pfs.Invalid},
		{"batch with more behind", "POST", "/v1/batch", batch(wire.BatchRequest{}, 1), pfs.Invalid},
		{"batch of too many", "POST", "/v1/batch", batch(wire.BatchRequest{Entries: make([]wire.BatchEntry, wire.MaxBatchEntries+1)}), pfs.Invalid},
		{"read that breaks off", "POST", "/v1/read", []byte{0, 0, 0, 9}, pfs.Unavailable},
		{"read of more than allowed", "POST", "/v1/read", batch(wire.ReadRequest{Files: []wire.ReadFile{{Path: "/a", Size: wire.MaxBatchBytes}, {Path: "/b", Size: 1}}}), pfs.Invalid},
		{"read of a negative size", "POST", "/v1/read", batch(wire.ReadRequest{Files: []wire.ReadFile{{Path: "/a", Size: -1}}}), pfs.Invalid},
		{"read of a path with ..", "POST", "/v1/read", batch(wire.ReadRequest{Files: []wire.ReadFile{{Path: "/a/../b"}}}), pfs.Invalid},
		{"batch of copies that breaks off", "POST", "/v1/copy-batch", []byte{0, 0, 0, 9}, pfs.Unavailable},
		{"copies of more than allowed", "POST", "/v1/copy-batch", batch(wire.CopyBatchRequest{Files: []wire.CopyFile{{Source: "/a", Target: "/b", Size: wire.MaxBatchBytes + 1}}}), pfs.Invalid},
		{"copy of a negative size", "POST", "/v1/copy-batch", batch(wire.CopyBatchRequest{Files: []wire.CopyFile{{Source: "/a", Target: "/b", Size: -1}}}), pfs.Invalid},
		{"copy from a path with ..", "POST", "/v1/copy-batch", batch(wire.CopyBatchRequest{Files: []wire.CopyFile{{Source: "/a/../b", Target: "/b"}}}), pfs.Invalid},
		{"copy to a reserved name", "POST", "/v1/copy-batch", batch(wire.CopyBatchRequest{Files: []wire.CopyFile{{Source: "/a", Target: "/.pfs-quota"}}}), pfs.Invalid},
		{"copies of too many", "POST", "/v1/copy-batch", batch(wire.CopyBatchRequest{Files: make([]wire.CopyFile, wire.MaxBatchEntries+1)}), pfs.Invalid},
		{"read of too many", "POST", "/v1/read", batch(wire.ReadRequest{Files: make([]wire.ReadFile, wire.MaxBatchEntries+1)}), pfs.Invalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := do(s, tt.method, tt.url, tt.body)
			if got := kindOf(t, w); got != tt.want {
				t.Errorf("answered %v (HTTP %d), want %v", got, w.Code, tt.want)
			}
		})
	}
	if page, err := fsys.List(t.Context(), "/", pfs.ListOptions{}); err != nil || len(page.Entries) > 0 {
		t.Errorf("bad requests left %v, %v", page.Entries, err)
	}
	if w := do(s, "POST", "/v1/call/stat", wire.Encode(wire.PathRequest{Path: "/"}), wire.HeaderProtocol, "7"); kindOf(t, w) != pfs.Unsupported {
		t.Error("another protocol version is served")
	}
}

func TestStagedWritesBelongToTheirUser(t *testing.T) {
	s, _ := newServer(t, memfs.New(memfs.Options{}), func(c *Config) {
		shared := c.View
		c.View = func(id auth.Identity, alias string) pfs.FileSystem {
			if id.Name != "alice" {
				return pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, _ func(pfs.FileSystem, pfs.Path) error) error {
					return pfs.E("test", name, pfs.Permission, nil)
				})
			}
			return shared(id, alias)
		}
	})
	do(s, "POST", "/v1/call/create", wire.Encode(wire.CreateRequest{Path: "/f", ID: "12345678"}))
	do(s, "PUT", "/v1/data?path=/f&id=12345678", onWire([]byte("secret")))
	for _, r := range []struct {
		method, url string
		body        []byte
	}{
		{"GET", "/v1/data?path=/f&id=12345678&len=6", nil},
		{"PUT", "/v1/data?path=/f&id=12345678", onWire([]byte("forged"))},
		{"POST", "/v1/call/leaves", wire.Encode(wire.LeavesRequest{Path: "/f", ID: "12345678", Size: 6, Count: 1})},
		{"POST", "/v1/call/commit", wire.Encode(wire.CommitRequest{Path: "/f", ID: "12345678", Size: 6})},
		{"POST", "/v1/call/discard", wire.Encode(wire.StagedRequest{Path: "/f", ID: "12345678"})},
	} {
		if w := do(s, r.method, r.url, r.body, "Authorization", "Bearer mallory"); kindOf(t, w) != pfs.Permission {
			t.Errorf("%s %s of another user's upload: HTTP %d", r.method, r.url, w.Code)
		}
	}
}

func TestOnlyTheServicesOwnDigestIsKept(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	s, _ := newServer(t, fsys, nil)
	do(s, "POST", "/v1/call/create", wire.Encode(wire.CreateRequest{Path: "/f", ID: "12345678"}))
	do(s, "PUT", "/v1/data?path=/f&id=12345678", onWire([]byte("data")))
	w := do(s, "POST", "/v1/call/commit", wire.Encode(wire.CommitRequest{Path: "/f", ID: "12345678", Size: 4, Digest: "blake3:00"}))
	info, err := fsys.Stat(t.Context(), "/f")
	if w.Code != 200 || err != nil || info.Digest != digest.Bytes([]byte("data")) {
		t.Errorf("HTTP %d, digest %q, %v", w.Code, info.Digest, err)
	}
}

// slow is a file system whose Usage takes a while.
type slow struct {
	pfs.FileSystem
	takes time.Duration
	err   error
}

func (s slow) Usage(ctx context.Context, _ pfs.Path) (pfs.Usage, error) {
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return pfs.Usage{}, ctx.Err()
	}
	return pfs.Usage{Files: 3}, s.err
}

func TestLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, broken := range []error{nil, pfs.Errorf("test", "/", pfs.Quota, "used up")} {
			s, _ := newServer(t, slow{memfs.New(memfs.Options{}), 7 * time.Second, broken}, nil)
			w := do(s, "POST", "/v1/call/usage", wire.Encode(wire.PathRequest{Path: "/"}))
			if got := w.Header().Get("Content-Type"); w.Code != 200 || got != wire.TypeFrames {
				t.Fatalf("HTTP %d, %s", w.Code, got)
			}
			frames := 0
			var f wire.Frame
			for !f.Done {
				if err := wire.ReadFrame(w.Body, &f); err != nil {
					t.Fatal(err)
				}
				frames++
			}
			if frames < 4 {
				t.Errorf("only %d frames in 7 seconds", frames)
			}
			var reply wire.UsageReply
			switch {
			case broken != nil && (f.Error == nil || !errors.Is(f.Error.Err(), pfs.Quota)):
				t.Errorf("the last frame's error is %v", f.Error)
			case broken == nil && (wire.Decode(f.Reply, &reply) != nil || reply.Files != 3):
				t.Errorf("the last frame's reply is %+v", reply)
			}
		}
	})
}

func TestIdleUploadsAreSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := memfs.New(memfs.Options{})
		s, _ := newServer(t, fsys, nil)
		do(s, "POST", "/v1/call/create", wire.Encode(wire.CreateRequest{Path: "/f", ID: "12345678"}))
		do(s, "PUT", "/v1/data?path=/f&id=12345678", onWire([]byte("data")))
		if n := s.uploads.count(); n != 1 {
			t.Fatalf("%d open uploads", n)
		}
		time.Sleep(2 * idleUpload)
		if n := s.uploads.count(); n != 0 {
			t.Errorf("%d uploads are open after %v", n, 2*idleUpload)
		}
		w := do(s, "POST", "/v1/call/commit", wire.Encode(wire.CommitRequest{Path: "/f", ID: "12345678", Size: 4}))
		if info, err := fsys.Stat(t.Context(), "/f"); w.Code != 200 || err != nil || info.Size != 4 {
			t.Errorf("commit after the pause: HTTP %d, %v", w.Code, err)
		}
	})
}

func TestAuditAndMetrics(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	s, log := newServer(t, fsys, func(c *Config) { c.Account = func(name string) bool { return name == "bob" } })
	do(s, "POST", "/v1/call/mkdir", wire.Encode(wire.ModeRequest{Path: "/made", Mode: 0o040755}))
	var batch bytes.Buffer
	_ = wire.WriteFrame(&batch, wire.BatchRequest{Entries: []wire.BatchEntry{
		{Path: "/made/one", Size: 3}, {Path: "/absent/two", Size: 3}, {Path: "/made/dir", Mode: 0o040755},
	}})
	batch.Write(onWire([]byte("one")))
	batch.Write(onWire([]byte("two")))
	do(s, "POST", "/v1/batch", batch.Bytes())
	var copies bytes.Buffer
	_ = wire.WriteFrame(&copies, wire.CopyBatchRequest{Files: []wire.CopyFile{{Source: "/made/one", Target: "/made/copy", Size: 3}}})
	do(s, "POST", "/v1/copy-batch", copies.Bytes())
	do(s, "POST", "/v1/copy-batch", framed(wire.CopyBatchRequest{Files: []wire.CopyFile{{Source: "/made/one", Target: "/made/two", Size: -1}}}))
	do(s, "POST", "/v1/login", wire.Encode(wire.Credentials{User: "bob", Password: "secret word"}))
	do(s, "POST", "/v1/call/remove", wire.Encode(wire.PathRequest{Path: "/absent"}))
	do(s, "POST", "/v1/call/stat", wire.Encode(wire.PathRequest{Path: "/looked-at"}))
	do(s, "POST", "/v1/login", wire.Encode(wire.Credentials{User: "hunter2", Password: "secret word"}))
	for _, want := range []string{
		"user=alice remote=192.0.2.1:1234 method=mkdir result=ok path=/made",
		`method=remove result="no such file or directory" path=/absent`,
		`user=(unknown) remote=192.0.2.1:1234 method=login result="not logged in"`,
		`user=bob remote=192.0.2.1:1234 method=login result="not logged in"`,
		"mode=0755",
		"method=batch-write result=ok path=/made/one bytes=3 digest=xxh3:",
		`method=batch-write result="no such file or directory" path=/absent/two`,
		"method=batch-mkdir result=ok path=/made/dir",
		`method=copy-batch result="invalid argument"`,
		"method=batch-copy result=ok path=/made/one to=/made/copy bytes=3 digest=xxh3:",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	for _, never := range []string{"looked-at", "secret word", "hunter2"} {
		if strings.Contains(log.String(), never) {
			t.Errorf("the log tells %q", never)
		}
	}
	w := httptest.NewRecorder()
	s.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{`pfs_requests_total{operation="mkdir",status="200"} 1`, `pfs_failures_total{kind="no such file or directory"} 3`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
	if got := do(s, "POST", "/v1/refresh", wire.Encode(wire.RefreshRequest{})).Header().Get("Retry-After"); got != "90" {
		t.Errorf("Retry-After is %q, want the limiter's 90 s", got)
	}
}

// Bytes that a request only announces do not count.
func TestReceivedBytes(t *testing.T) {
	s, _ := newServer(t, memfs.New(memfs.Options{}), nil)
	r := httptest.NewRequest("POST", "/v1/call/stat", strings.NewReader("few"))
	r.ContentLength = 1 << 62
	s.ServeHTTP(httptest.NewRecorder(), r)
	message := wire.Encode(wire.PathRequest{Path: "/"})
	do(s, "POST", "/v1/call/stat", message)
	w := httptest.NewRecorder()
	s.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if want := fmt.Sprintf("\npfs_received_bytes_total %d\n", len(message)); !strings.Contains(w.Body.String(), want) {
		t.Errorf("the metrics lack %q", want)
	}
}

func TestReadiness(t *testing.T) {
	for _, tt := range []struct {
		down []string
		code int
		says string
	}{
		{nil, 200, "ready\n"},
		{[]string{"b"}, 200, "ready, without: b\n"},
		{[]string{"a", "b"}, http.StatusServiceUnavailable, "not ready: a, b\n"},
	} {
		s, _ := newServer(t, memfs.New(memfs.Options{}), func(c *Config) {
			c.Datacenters = []string{"a", "b"}
			c.Down = func(context.Context) []string { return tt.down }
		})
		if w := do(s, "GET", "/readyz", nil); w.Code != tt.code || w.Body.String() != tt.says {
			t.Errorf("%v are down: HTTP %d, %q; want %d, %q", tt.down, w.Code, w.Body, tt.code, tt.says)
		}
	}
}

// Frequent checks query the stores once a second.
func TestReadinessIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		s, _ := newServer(t, memfs.New(memfs.Options{}), func(c *Config) {
			c.Down = func(ctx context.Context) []string {
				asked.Add(1)
				time.Sleep(readyWithin / 2)
				if ctx.Err() != nil {
					return []string{"dc"}
				}
				return nil
			}
		})
		for round := range int64(3) {
			for range 50 {
				go func() {
					r := httptest.NewRequest("GET", "/readyz", nil)
					ctx, leave := context.WithTimeout(r.Context(), time.Millisecond)
					defer leave()
					w := httptest.NewRecorder()
					if s.ServeHTTP(w, r.WithContext(ctx)); w.Code != 200 {
						t.Errorf("HTTP %d, %q", w.Code, w.Body)
					}
				}()
			}
			time.Sleep(readyWithin/2 + readyFor)
			if got := asked.Load(); got != round+1 {
				t.Errorf("the stores were asked %d times in round %d", got, round+1)
			}
		}
		s.Close()
	})
}

// badlyNamed has directories of entries that cannot be named.
type badlyNamed struct {
	pfs.FileSystem
	quoted string
}

func (b badlyNamed) List(_ context.Context, _ pfs.Path, opts pfs.ListOptions) (page pfs.Page, err error) {
	for range opts.Max() {
		page.Unnamed = append(page.Unnamed, b.quoted)
	}
	page.Next = "more"
	return page, nil
}

// TestListFitsIntoAMessage lists names that are, quoted, more than a message can have.
func TestListFitsIntoAMessage(t *testing.T) {
	s, _ := newServer(t, badlyNamed{memfs.New(memfs.Options{}), strings.Repeat(`\xff`, 1024)}, nil)
	w := do(s, "POST", wire.PathCall+wire.CallList, wire.Encode(wire.ListRequest{Path: "/"}))
	var reply wire.ListReply
	if err := wire.Decode(w.Body.Bytes(), &reply); err != nil || len(reply.Unnamed) == 0 {
		t.Errorf("HTTP %d with %d bytes and %d names: %v", w.Code, w.Body.Len(), len(reply.Unnamed), err)
	}
}
