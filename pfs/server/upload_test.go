package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/permfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// twoNames returns a server that shows the files of the store under /a and /b.
func twoNames(t *testing.T) (*Server, pfs.FileSystem) {
	store := memfs.New(memfs.Options{})
	view := pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		return call(store, pfs.Root.Join(name.Base()))
	})
	s, _ := newServer(t, store, func(c *Config) {
		c.View = func(auth.Identity, string) pfs.FileSystem { return view }
	})
	return s, store
}

func put(t *testing.T, s *Server, path, data string) {
	t.Helper()
	if w := do(s, "PUT", "/v1/data?path="+path+"&id=12345678", onWire([]byte(data))); w.Code != 204 {
		t.Fatalf("PUT %s: HTTP %d", path, w.Code)
	}
}

func create(t *testing.T, s *Server, path string) {
	t.Helper()
	if w := do(s, "POST", "/v1/call/create", wire.Encode(wire.CreateRequest{Path: path, ID: "12345678"})); w.Code != 200 {
		t.Fatalf("create %s: HTTP %d", path, w.Code)
	}
}

func commit(s *Server, path, data string) int {
	return do(s, "POST", "/v1/call/commit", wire.Encode(wire.CommitRequest{
		Path: path, ID: "12345678", Size: int64(len(data)), Digest: digest.Bytes([]byte(data)),
	})).Code
}

func TestAStagedWriteWithTwoNames(t *testing.T) {
	const mine, others = "the bytes that were sent", "written by another name!"
	tests := []struct {
		name   string
		before func(t *testing.T, s *Server)
	}{
		{"written by the other name after", func(t *testing.T, s *Server) {
			create(t, s, "/a/f")
			put(t, s, "/a/f", mine)
			create(t, s, "/b/f")
			put(t, s, "/b/f", others)
		}},
		{"both open before", func(t *testing.T, s *Server) {
			create(t, s, "/b/f")
			create(t, s, "/a/f")
			put(t, s, "/a/f", mine)
			put(t, s, "/b/f", others)
		}},
		{"opened by a chunk", func(t *testing.T, s *Server) {
			create(t, s, "/a/f")
			put(t, s, "/a/f", mine)
			put(t, s, "/b/f", others)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, store := twoNames(t)
			tt.before(t, s)
			if code := commit(s, "/a/f", mine); code != 422 {
				t.Errorf("commit of bytes that are not there: HTTP %d", code)
			}
			if code := commit(s, "/a/f", others); code != 200 {
				t.Errorf("commit of the bytes that are there: HTTP %d", code)
			}
			if n := s.uploads.count(); n != 0 {
				t.Errorf("%d uploads are open after the commit", n)
			}
			put(t, s, "/b/f", "late") // a new upload
			f, err := store.Open(t.Context(), "/f")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			got := make([]byte, len(others))
			if err := pfs.ReadFull(t.Context(), f, got, 0); err != nil || string(got) != others {
				t.Errorf("published %q, %v", got, err)
			}
			if got := f.Info().Digest; got != digest.Bytes([]byte(others)) {
				t.Errorf("published with digest %q", got)
			}
		})
	}
}

func TestTwoStagedWritesOfOneID(t *testing.T) {
	s, store := twoNames(t)
	create(t, s, "/a/f")
	create(t, s, "/a/g")
	put(t, s, "/a/f", "first")
	if code := commit(s, "/a/f", "first"); code != 200 {
		t.Fatalf("commit of the first: HTTP %d", code)
	}
	put(t, s, "/a/g", "second")
	if code := commit(s, "/a/g", "second"); code != 200 {
		t.Fatalf("commit of the second: HTTP %d", code)
	}
	for name, want := range map[pfs.Path]string{"/f": "first", "/g": "second"} {
		if info, err := store.Stat(t.Context(), name); err != nil || info.Digest != digest.Bytes([]byte(want)) {
			t.Errorf("%s: %q, %v", name, info.Digest, err)
		}
	}
}

// later sends a request as alice in the background and returns its answer.
func later(s *Server, method, target string, body io.Reader, length int) <-chan *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, body)
	r.ContentLength = int64(length)
	r.Header.Set("Authorization", "Bearer alice")
	done := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		done <- w
	}()
	return done
}

func TestACommitBetweenTwoChunksDoesNotLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, memfs.New(memfs.Options{}), nil)
		create(t, s, "/f")
		chunk := onWire(make([]byte, pfs.ChunkSize))
		half, rest := io.Pipe()
		first := later(s, "PUT", fmt.Sprintf("/v1/data?path=/f&id=12345678&off=%d", pfs.ChunkSize), half, len(chunk))
		go rest.Write(chunk[:1000])
		synctest.Wait()
		message := wire.Encode(wire.CommitRequest{Path: "/f", ID: "12345678", Size: 2 * pfs.ChunkSize})
		publish := later(s, "POST", "/v1/call/commit", bytes.NewReader(message), len(message))
		synctest.Wait()
		second := later(s, "PUT", "/v1/data?path=/f&id=12345678&off=0", bytes.NewReader(chunk), len(chunk))
		synctest.Wait()
		rest.Close()
		for i, answer := range []<-chan *httptest.ResponseRecorder{first, publish, second} {
			select {
			case <-answer:
			case <-time.After(time.Minute):
				t.Fatalf("request %d is still at work", i+1)
			}
		}
	})
}

func TestWhoeverWaitsForACommitCanGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, memfs.New(memfs.Options{}), nil)
		create(t, s, "/f")
		half, rest := io.Pipe()
		first := later(s, "PUT", "/v1/data?path=/f&id=12345678", half, 1000)
		synctest.Wait()
		message := wire.Encode(wire.CommitRequest{Path: "/f", ID: "12345678", Size: 4})
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequest("POST", "/v1/call/commit", bytes.NewReader(message)).WithContext(ctx)
		r.Header.Set("Authorization", "Bearer alice")
		go s.ServeHTTP(httptest.NewRecorder(), r)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if n := s.requests.taken(); n != 1 {
			t.Errorf("%d requests are at work after the client of the commit has gone, want the chunk's alone", n)
		}
		rest.Close()
		<-first
	})
}

// TestACommitOfWhatIsGonePublishesNothing sends chunks while commits of an ID without staged bytes
// check whether they were done before.
func TestACommitOfWhatIsGonePublishesNothing(t *testing.T) {
	s, store := twoNames(t)
	const mine, others = "the digest of these", "but these are there"
	stop := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				do(s, "POST", "/v1/call/create", wire.Encode(wire.CreateRequest{Path: "/b/f", ID: "12345678"}))
				do(s, "PUT", "/v1/data?path=/b/f&id=12345678", onWire([]byte(others)))
				do(s, "POST", "/v1/call/discard", wire.Encode(wire.StagedRequest{Path: "/b/f", ID: "12345678"}))
			}
		}
	})
	for range 500 {
		commit(s, "/a/f", mine)
	}
	close(stop)
	sending.Wait()
	if info, err := store.Stat(t.Context(), "/f"); err == nil {
		t.Errorf("published %+v, which was never sent", info)
	}
}

// awayStore is a store that reopens nothing that was published, and is away for one kind of
// call.
type awayStore struct {
	*memfs.FS
	published bool
	from      string // the call: "begin", "commit", "stat", or none
}

func (a *awayStore) is(call string, name pfs.Path) error {
	if a.from == call {
		return pfs.E("test."+call, name, pfs.Unavailable, nil)
	}
	return nil
}

func (a *awayStore) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	if opts.Reopen && a.published {
		return nil, pfs.E("test.Create", name, pfs.Conflict, nil)
	}
	if err := a.is("begin", name); err != nil {
		return nil, err
	}
	w, err := a.FS.Create(ctx, name, opts)
	return &awayStaged{w, a, name}, err
}

func (a *awayStore) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	if err := a.is("stat", name); err != nil {
		return pfs.Info{}, err
	}
	return a.FS.Stat(ctx, name)
}

type awayStaged struct {
	pfs.Staged
	a    *awayStore
	name pfs.Path
}

func (w *awayStaged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	if err := w.a.is("commit", w.name); err != nil {
		return pfs.Info{}, err
	}
	w.a.published = true
	return w.Staged.Commit(ctx, opts)
}

// TestACommitAskedForAgainOfAStoreThatIsAway: a commit whose reply was lost is not said to be
// gone because the store does not answer now whether it was done.
func TestACommitAskedForAgainOfAStoreThatIsAway(t *testing.T) {
	for _, c := range []struct{ from, data string }{{"begin", "content"}, {"commit", "content"}, {"stat", ""}} {
		store := &awayStore{FS: memfs.New(memfs.Options{})}
		s, _ := newServer(t, store, nil)
		create(t, s, "/f")
		put(t, s, "/f", c.data)
		if code := commit(s, "/f", c.data); code != 200 {
			t.Fatalf("%s: commit: HTTP %d", c.from, code)
		}
		store.from = c.from
		if code := commit(s, "/f", c.data); code != wire.StatusOf(pfs.Unavailable) {
			t.Errorf("%s: HTTP %d while the store is away", c.from, code)
		}
		store.from = ""
		if code := commit(s, "/f", c.data); code != 200 {
			t.Errorf("%s: HTTP %d when the store is back", c.from, code)
		}
		if n := s.uploads.count(); n != 0 {
			t.Errorf("%s: %d uploads are left", c.from, n)
		}
	}
}

// A copy whose client sends no ID gets one that nobody can compute from visible data.
func TestCopyWithoutAnIDHasOneOfItsOwn(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	pfstest.WriteFile(t, fsys, "/f", []byte("x"))
	r := &request{Request: httptest.NewRequest("GET", "/", nil), tree: fsys}
	one, err := newCopy(r, "", "/f", "/g").versionID(t.Context(), fsys, "/f")
	if err != nil {
		t.Fatal(err)
	}
	two, err := newCopy(r, "", "/f", "/g").versionID(t.Context(), fsys, "/f")
	if err != nil || one == two || !strings.HasPrefix(one, copyPrefix) {
		t.Errorf("got %q and %q, %v", one, two, err)
	}
}

// Users who write in one directory cannot access each other's uploads.
func TestStagedWritesArePrivate(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	first, _ := newServer(t, fsys, nil)
	create(t, first, "/f")
	put(t, first, "/f", "content")
	attackStaged(t, first, "bob", "/f", "12345678")
	second, _ := newServer(t, fsys, nil) // another replica
	first.Close()
	attackStaged(t, second, "bob", "/f", "12345678")
	if w := do(second, "GET", "/v1/data?path=/f&id=12345678&len=7", nil); w.Code != 200 || !strings.HasPrefix(w.Body.String(), "content") {
		t.Errorf("alice reads HTTP %d, %q", w.Code, w.Body)
	}
	if code := commit(second, "/f", "content"); code != 200 {
		t.Errorf("alice's commit at another replica: HTTP %d", code)
	}
}

// attackStaged tries, as the user, everything that is possible with the path and ID of an upload.
// It fails the test if an answer depends on other bytes than the user's own.
func attackStaged(t *testing.T, s *Server, user, path, id string) {
	t.Helper()
	target := "/v1/data?path=" + path + "&id=" + id
	steps := []struct {
		method, url string
		body        []byte
		want        int
	}{
		{"GET", target + "&len=7", nil, wire.StatusOf(pfs.Conflict)},
		{"POST", "/v1/call/leaves", wire.Encode(wire.LeavesRequest{Path: path, ID: id, Size: 7, Count: 1}), wire.StatusOf(pfs.Conflict)},
		{"POST", "/v1/call/sync", wire.Encode(wire.StagedRequest{Path: path, ID: id}), wire.StatusOf(pfs.Conflict)},
		{"POST", "/v1/call/commit", wire.Encode(wire.CommitRequest{Path: path, ID: id, Size: 7}), wire.StatusOf(pfs.Conflict)},
		{"PUT", target, onWire([]byte("forged!")), wire.StatusOf(pfs.Conflict)},
		{"POST", "/v1/call/discard", wire.Encode(wire.StagedRequest{Path: path, ID: id}), 200},
		{"POST", "/v1/call/create", wire.Encode(wire.CreateRequest{Path: path, ID: id, Reopen: true}), wire.StatusOf(pfs.Conflict)},
		{"POST", "/v1/call/create", wire.Encode(wire.CreateRequest{Path: path, ID: id}), 200},
		{"PUT", target, onWire([]byte("forged!")), 204},
		{"POST", "/v1/call/discard", wire.Encode(wire.StagedRequest{Path: path, ID: id}), 200},
	}
	for _, r := range steps {
		w := as(s, user, r.method, r.url, r.body)
		if w.Code != r.want || strings.Contains(w.Body.String(), "cont") {
			t.Errorf("%s %s as %s: HTTP %d, %q; want %d", r.method, r.url, user, w.Code, w.Body, r.want)
		}
	}
}

// stagedFile reads an upload as a file.
type stagedFile struct{ pfs.Staged }

func (stagedFile) Info() pfs.Info { return pfs.Info{} }
func (stagedFile) Close() error   { return nil }

func TestNobodyWritesToACopyOnItsWay(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	s, _ := newServer(t, fsys, nil)
	create(t, s, "/f")
	put(t, s, "/f", "content")
	if code := commit(s, "/f", "content"); code != 200 {
		t.Fatalf("commit: HTTP %d", code)
	}
	r := &request{id: auth.Identity{Name: "alice"}}
	id, err := newCopy(r, "12345678", "/f", "/g").versionID(t.Context(), fsys, "/f")
	if err != nil {
		t.Fatal(err)
	}
	half, err := fsys.Create(t.Context(), "/g", pfs.CreateOptions{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := half.WriteAt(t.Context(), []byte("cont"), 0); err != nil {
		t.Fatal(err)
	}
	attackStaged(t, s, "alice", "/g", id)
	if got := make([]byte, 4); pfs.ReadFull(t.Context(), stagedFile{half}, got, 0) != nil || string(got) != "cont" {
		t.Errorf("of the copy %q is staged", got)
	}
	if err := half.Suspend(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := do(s, "POST", "/v1/call/copy", wire.Encode(wire.CopyRequest{Source: "/f", Target: "/g", ID: "12345678"}))
	if info, err := fsys.Stat(t.Context(), "/g"); w.Code != 200 || err != nil || info.Digest != digest.Bytes([]byte("content")) {
		t.Errorf("copy: HTTP %d, %q, %v", w.Code, info.Digest, err)
	}
}

func TestUsersDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, memfs.New(memfs.Options{}), nil)
		create(t, s, "/mine")
		put(t, s, "/mine", "mine")
		create(t, s, "/others") // of the same ID
		half, rest := io.Pipe()
		other := later(s, "PUT", "/v1/data?path=/others&id=12345678", half, 1000)
		synctest.Wait()
		began := time.Now()
		if code := commit(s, "/mine", "mine"); code != 200 || time.Since(began) > 0 {
			t.Errorf("commit while another file of the same ID is written: HTTP %d after %v", code, time.Since(began))
		}
		rest.Close()
		<-other
	})
}

func TestSweepEndsTheUseOfWhatItRemoves(t *testing.T) {
	store := memfs.New(memfs.Options{})
	s, _ := newServer(t, store, nil)
	create(t, s, "/f")
	put(t, s, "/f", "unfinished")
	w := do(s, "POST", "/v1/call/sweep", wire.Encode(wire.SweepRequest{Path: "/"}))
	var reply wire.SweepReply
	if err := wire.Decode(w.Body.Bytes(), &reply); err != nil || reply.Count != 1 || reply.Bytes != 10 {
		t.Errorf("HTTP %d, %+v, %v", w.Code, reply, err)
	}
	if n := s.uploads.count(); n != 0 {
		t.Errorf("%d uploads are held open", n)
	}
}

// TestASweepSuspendsWhatItIsOf: uploads elsewhere go on, and all if it is refused.
func TestASweepSuspendsWhatItIsOf(t *testing.T) {
	store := memfs.New(memfs.Options{})
	pfstest.MustMkdir(t, store, "/alice")
	pfstest.MustMkdir(t, store, "/bob")
	s, _ := newServer(t, store, func(c *Config) {
		c.View = func(auth.Identity, string) pfs.FileSystem {
			return permfs.New(store, func(a pfs.Access, name pfs.Path) error {
				if a == pfs.Discard && !name.Within("/alice") {
					return pfs.E("test.allow", name, pfs.Permission, nil)
				}
				return nil
			})
		}
	})
	create(t, s, "/alice/f")
	create(t, s, "/bob/f")
	for _, row := range []struct {
		dir  string
		kind pfs.Kind
		left int
	}{{"/", pfs.Permission, 2}, {"/bob", pfs.Permission, 2}, {"/alice", pfs.Other, 1}} {
		w := do(s, "POST", "/v1/call/sweep", wire.Encode(wire.SweepRequest{Path: row.dir, Seconds: 3600}))
		if row.kind != pfs.Other && kindOf(t, w) != row.kind || row.kind == pfs.Other && w.Code != 200 {
			t.Errorf("sweep of %s: HTTP %d", row.dir, w.Code)
		}
		if n := s.uploads.count(); n != row.left {
			t.Errorf("after the sweep of %s %d uploads are open, want %d", row.dir, n, row.left)
		}
	}
}

// TestWhatTheStoreLostIsNotKnown has a store lose staged bytes before the commit: the service no
// longer reports them.
func TestWhatTheStoreLostIsNotKnown(t *testing.T) {
	const data = "bytes that will be lost"
	s, _ := newServer(t, &pfstest.Forgetful{FileSystem: memfs.New(memfs.Options{})}, nil)
	leaves := func() (sum pfs.LeafDigest) {
		w := do(s, "POST", wire.PathCall+wire.CallLeaves, wire.Encode(wire.LeavesRequest{Path: "/f", ID: "12345678", Size: int64(len(data)), Count: 1}))
		var reply wire.LeavesReply
		if err := wire.Decode(w.Body.Bytes(), &reply); w.Code != 200 || err != nil {
			t.Fatalf("leaves: HTTP %d, %v", w.Code, err)
		}
		copy(sum[:], reply.Leaves)
		return sum
	}
	create(t, s, "/f")
	put(t, s, "/f", data)
	if got := leaves(); got != digest.Leaf([]byte(data)) {
		t.Errorf("staged is %x, want what arrived", got)
	}
	if code := commit(s, "/f", data); code != 422 {
		t.Fatalf("commit of what was lost: HTTP %d", code)
	}
	if got := leaves(); got != digest.Leaf(make([]byte, len(data))) {
		t.Errorf("after the loss staged is %x, want what the store has", got)
	}
	put(t, s, "/f", data)
	if code := commit(s, "/f", data); code != 200 {
		t.Errorf("commit of what was sent again: HTTP %d", code)
	}
}
