package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

const readWrite = uint8(pfs.OpenRead | pfs.OpenWrite | pfs.OpenCreate)

// post does a call as a user.
func post(t *testing.T, s *Server, user, method string, request, reply any) error {
	t.Helper()
	w := do(s, "POST", wire.PathCall+method, wire.Encode(request), "Authorization", "Bearer "+user)
	return answered(t, w, reply)
}

// answered returns the error of an answer, or decodes it.
func answered(t *testing.T, w *httptest.ResponseRecorder, reply any) error {
	t.Helper()
	if w.Code >= 400 {
		var e wire.Error
		if err := wire.Decode(w.Body.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		return e.Err()
	}
	if reply == nil {
		return nil
	}
	return wire.Decode(w.Body.Bytes(), reply)
}

// open opens path and returns its handle.
func open(t *testing.T, s *Server, user, path string, flags uint8) (wire.Handle, error) {
	t.Helper()
	h := wire.Handle{ID: pfs.NewID(), Path: path, Flags: flags}
	var reply wire.OpenReply
	err := post(t, s, user, wire.CallOpen, wire.OpenRequest{Handle: h, Mode: 0o644}, &reply)
	h.File = reply.Info.ID
	return h, err
}

func mustOpen(t *testing.T, s *Server, path string, flags uint8) wire.Handle {
	t.Helper()
	h, err := open(t, s, "alice", path, flags)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// write writes text to a handle under a request ID.
func write(t *testing.T, s *Server, h wire.Handle, text, id, more string) error {
	t.Helper()
	target := fmt.Sprintf("%s?path=%s&handle=%s&flags=%d&file=%d%s", wire.PathWrite, h.Path, h.ID, h.Flags, h.File, more)
	return answered(t, do(s, "PUT", target, onWire([]byte(text)), wire.HeaderRequest, id), nil)
}

// content returns the content of a file.
func content(t *testing.T, fsys pfs.FileSystem, name pfs.Path) string {
	t.Helper()
	f, err := fsys.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, f.Info().Size)
	if err := pfs.ReadFull(t.Context(), f, b, 0); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func wantKind(t *testing.T, err error, want pfs.Kind) {
	t.Helper()
	if pfs.KindOf(err) != want || err == nil {
		t.Errorf("%v, want %v", err, want)
	}
}

func stat(t *testing.T, s *Server, user string, h wire.Handle) error {
	t.Helper()
	return post(t, s, user, wire.CallHandleStat, wire.HandleRequest{Handle: h}, nil)
}

// TestHandleLease closes a handle whose lease ends, and opens it again when it is used, unless its
// name leads to another file by then.
func TestHandleLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := memfs.New(memfs.Options{})
		s, _ := newServer(t, fsys, nil)
		h := mustOpen(t, s, "/f", readWrite)
		for range 10 {
			time.Sleep(lease / 2)
			var reply wire.RenewReply
			if err := post(t, s, "alice", wire.CallRenew, wire.RenewRequest{IDs: []string{"elsewhere", h.ID}}, &reply); err != nil || len(reply.Gone) != 1 || reply.Gone[0] != 0 {
				t.Fatalf("renew: %v, %v", reply.Gone, err)
			}
		}
		if n := s.handles.count(); n != 1 {
			t.Fatalf("%d handles while it was renewed", n)
		}
		time.Sleep(lease * 5 / 4)
		if synctest.Wait(); s.handles.count() != 0 || s.handles.taken != 0 {
			t.Fatalf("%d handles, %d places after the lease", s.handles.count(), s.handles.taken)
		}
		if err := stat(t, s, "alice", h); err != nil || s.handles.count() != 1 {
			t.Fatalf("the handle is not opened again: %v", err)
		}
		time.Sleep(lease * 5 / 4)
		if err := fsys.Remove(t.Context(), "/f"); err != nil {
			t.Fatal(err)
		}
		wantKind(t, stat(t, s, "alice", h), pfs.Stale)
		mustOpen(t, s, "/f", readWrite) // another file
		wantKind(t, stat(t, s, "alice", h), pfs.Stale)
		h.File = 0
		wantKind(t, stat(t, s, "alice", h), pfs.Stale)
	})
}

// TestHandleIsBoundToItsFile, not to its name.
func TestHandleIsBoundToItsFile(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	s, _ := newServer(t, fsys, nil)
	h := mustOpen(t, s, "/f", readWrite)
	if err := fsys.Rename(t.Context(), "/f", "/g"); err != nil {
		t.Fatal(err)
	}
	if err := write(t, s, h, "content", "", ""); err != nil {
		t.Fatal(err)
	}
	if got := content(t, fsys, "/g"); got != "content" {
		t.Errorf("the file holds %q", got)
	}
	w := do(s, "GET", wire.PathData+"?path=/f&off=3&len=100&handle="+h.ID, nil)
	if !bytes.Equal(w.Body.Bytes(), onWire([]byte("tent"))) {
		t.Errorf("HTTP %d: %q", w.Code, w.Body)
	}
	if err := post(t, s, "alice", wire.CallHandleClose, wire.HandleRequest{Handle: h}, nil); err != nil || s.handles.taken != 0 {
		t.Errorf("close: %v, %d places are taken", err, s.handles.taken)
	}
	if err := post(t, s, "alice", wire.CallHandleClose, wire.HandleRequest{Handle: h}, nil); err != nil {
		t.Errorf("a second close: %v", err)
	}
}

// TestHandleLimit refuses a user who has a quarter of all handles, and no other user.
func TestHandleLimit(t *testing.T) {
	s, _ := newServer(t, memfs.New(memfs.Options{}), func(c *Config) { c.MaxHandles = 8 })
	first := mustOpen(t, s, "/f", readWrite)
	mustOpen(t, s, "/f", readWrite)
	_, err := open(t, s, "alice", "/f", readWrite)
	wantKind(t, err, pfs.Limit)
	if !errors.Is(err, wire.ErrHeld) {
		t.Errorf("%v: want an error that waiting does not cure", err)
	}
	for _, user := range []string{"bob", "carol", "dave"} {
		for range 2 {
			if _, err := open(t, s, user, "/f", readWrite); err != nil {
				t.Errorf("%s: %v", user, err)
			}
		}
	}
	_, err = open(t, s, "erin", "/f", readWrite)
	wantKind(t, err, pfs.Limit)
	if errors.Is(err, wire.ErrHeld) {
		t.Errorf("%v: want an error that waiting cures", err)
	}
	if err := post(t, s, "alice", wire.CallHandleClose, wire.HandleRequest{Handle: first}, nil); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, s, "/f", readWrite)
	if _, err := open(t, s, "alice", "/none", uint8(pfs.OpenRead)); pfs.KindOf(err) != pfs.Limit {
		t.Errorf("%v", err)
	}
}

// TestForgedHandle gives nothing that an open would not give.
func TestForgedHandle(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	closed := pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, _ func(pfs.FileSystem, pfs.Path) error) error {
		return pfs.E("test", name, pfs.Permission, nil)
	})
	s, _ := newServer(t, fsys, func(c *Config) {
		c.View = func(id auth.Identity, _ string) pfs.FileSystem {
			if id.Name == "alice" {
				return fsys
			}
			return closed
		}
	})
	h := mustOpen(t, s, "/f", readWrite)
	wantKind(t, stat(t, s, "mallory", h), pfs.Permission)
	var reply wire.RenewReply
	if err := post(t, s, "mallory", wire.CallRenew, wire.RenewRequest{IDs: []string{h.ID}}, &reply); err != nil || len(reply.Gone) != 1 {
		t.Errorf("another user's lease is renewed: %v", err)
	}
	if err := post(t, s, "mallory", wire.CallHandleClose, wire.HandleRequest{Handle: h}, nil); err != nil || s.handles.count() != 1 {
		t.Errorf("another user's handle is closed: %v", err)
	}
	forged := h
	forged.ID, forged.File = pfs.NewID(), h.File+1
	wantKind(t, stat(t, s, "alice", forged), pfs.Stale)
	forged.ID, forged.File = "../etc", h.File
	wantKind(t, stat(t, s, "alice", forged), pfs.Stale) // Invalid as a reason
	forged = h
	forged.ID, forged.Path = pfs.NewID(), "/../f"
	wantKind(t, stat(t, s, "alice", forged), pfs.Stale)
	if s.handles.taken != 1 {
		t.Errorf("%d places are taken", s.handles.taken)
	}
}

// accounts is an Authenticator whose accounts can change.
type accounts struct {
	names
	role map[string]auth.Role
}

func (a accounts) Verify(_ context.Context, access string) (auth.Identity, error) {
	role, ok := a.role[access]
	if !ok {
		return auth.Identity{}, pfs.E("test", "", pfs.Unauthenticated, nil)
	}
	return auth.Identity{Name: access, Role: role}, nil
}

// TestHandlesOfChangedAccounts checks that permission is checked again after an account changed.
func TestHandlesOfChangedAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := memfs.New(memfs.Options{})
		a := accounts{role: map[string]auth.Role{"alice": auth.Publisher}}
		s, _ := newServer(t, fsys, func(c *Config) {
			c.Auth = a
			c.View = func(id auth.Identity, _ string) pfs.FileSystem {
				return pfs.NewLayer(func(_ context.Context, access pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
					if access.Changes() && id.Role != auth.Publisher {
						return pfs.E("test", name, pfs.Permission, nil)
					}
					return call(fsys, name)
				})
			}
		})
		h := mustOpen(t, s, "/f", readWrite)
		a.role["alice"] = auth.User
		wantKind(t, write(t, s, h, "x", "", ""), pfs.Permission)
		delete(a.role, "alice")
		wantKind(t, write(t, s, h, "x", "", ""), pfs.Unauthenticated)
		time.Sleep(lease * 5 / 4)
		if synctest.Wait(); s.handles.taken != 0 {
			t.Errorf("%d places are taken by an account that was removed", s.handles.taken)
		}
	})
}

// TestAppendIsNotRepeated: a request that was answered, or one of which another server
// cannot know whether it was.
func TestAppendIsNotRepeated(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	s, _ := newServer(t, fsys, nil)
	h := mustOpen(t, s, "/f", readWrite|uint8(pfs.OpenAppend))
	for range 3 {
		if err := write(t, s, h, "once,", "request1", ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(t, s, h, "once,", "request1", "&again=1"); err != nil {
		t.Fatal(err)
	}
	if err := write(t, s, h, "twice", "request2", ""); err != nil {
		t.Fatal(err)
	}
	if got := content(t, fsys, "/f"); got != "once,twice" {
		t.Errorf("the file holds %q", got)
	}
	replica, _ := newServer(t, fsys, nil)
	wantKind(t, write(t, replica, h, "twice", "request2", "&again=1"), pfs.Stale)
	if err := write(t, replica, h, "!", "request3", ""); err != nil {
		t.Errorf("a first append to a handle that another replica opened: %v", err)
	}
	if got := content(t, fsys, "/f"); got != "once,twice!" {
		t.Errorf("the file holds %q", got)
	}
}

// slowWriter is a store whose first write waits.
type slowWriter struct {
	pfs.FileSystem
	began, goOn chan struct{}
}

type slowHandle struct {
	pfs.Handle
	s slowWriter
}

func (s slowWriter) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (pfs.Handle, error) {
	h, err := pfs.OpenHandle(ctx, s.FileSystem, name, flags, perm)
	return slowHandle{h, s}, err
}

func (h slowHandle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	if string(p) == "old" {
		select {
		case h.s.began <- struct{}{}:
			<-h.s.goOn
		default:
		}
	}
	return h.Handle.WriteAt(context.WithoutCancel(ctx), p, off)
}

// TestRepeatedWriteWaits checks that a repeated write waits for the first one, so that this does
// not overwrite later writes.
func TestRepeatedWriteWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := slowWriter{memfs.New(memfs.Options{}), make(chan struct{}), make(chan struct{})}
		s, _ := newServer(t, fsys, nil)
		h := mustOpen(t, s, "/f", readWrite)
		go write(t, s, h, "old", "request1", "")
		<-fsys.began
		done := make(chan error)
		go func() { done <- write(t, s, h, "old", "request1", "&again=1") }()
		if synctest.Wait(); len(done) > 0 {
			t.Fatal("the repetition does not wait")
		}
		close(fsys.goOn)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := write(t, s, h, "new", "request2", ""); err != nil {
			t.Fatal(err)
		}
		if synctest.Wait(); content(t, fsys, "/f") != "new" {
			t.Errorf("the file holds %q", content(t, fsys, "/f"))
		}
	})
}

// steady is a store whose writes take a second.
type steady struct{ pfs.FileSystem }

type steadyHandle struct{ pfs.Handle }

func (s steady) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (pfs.Handle, error) {
	h, err := pfs.OpenHandle(ctx, s.FileSystem, name, flags, perm)
	return steadyHandle{h}, err
}

func (h steadyHandle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	time.Sleep(time.Second)
	return h.Handle.WriteAt(ctx, p, off)
}

// TestTinyWritesLeaveRoomForOthers: many writes of one user to many handles do not delay that of
// another one.
func TestTinyWritesLeaveRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, steady{memfs.New(memfs.Options{})}, nil)
		var all sync.WaitGroup
		for i := range 30 {
			h := mustOpen(t, s, fmt.Sprint("/alice", i), readWrite)
			all.Go(func() { _ = write(t, s, h, "x", "", "") })
		}
		synctest.Wait()
		defer all.Wait()
		h, err := open(t, s, "bob", "/bob", readWrite)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		target := fmt.Sprintf("%s?path=/bob&handle=%s&flags=%d", wire.PathWrite, h.ID, h.Flags)
		if err := answered(t, do(s, "PUT", target, onWire([]byte("x")), "Authorization", "Bearer bob"), nil); err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("the write of another user took %v: %v", time.Since(began), err)
		}
	})
}

// badClose is a store whose handles lose writes when they are closed.
type badClose struct {
	*memfs.FS
	wait time.Duration
}

type badHandle struct {
	pfs.Handle
	wait time.Duration
}

func (b badClose) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (pfs.Handle, error) {
	h, err := b.FS.OpenHandle(ctx, name, flags, perm)
	return badHandle{h, b.wait}, err
}

func (h badHandle) Close(ctx context.Context) error {
	time.Sleep(h.wait)
	_ = h.Handle.Close(ctx)
	return pfs.Errorf("test.Close", "/f", pfs.Integrity, "the bytes are gone")
}

// TestFailedClose checks that a failed close never succeeds later: after the lease, during it, or
// when handle-close is repeated.
func TestFailedClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, badClose{memfs.New(memfs.Options{}), time.Second / 2}, nil)
		closeIt := func(h wire.Handle) error {
			return post(t, s, "alice", wire.CallHandleClose, wire.HandleRequest{Handle: h}, nil)
		}
		syncIt := func(h wire.Handle) error {
			return post(t, s, "alice", wire.CallHandleSync, wire.HandleRequest{Handle: h}, nil)
		}
		h := mustOpen(t, s, "/f", readWrite)
		wantKind(t, closeIt(h), pfs.Integrity)
		wantKind(t, closeIt(h), pfs.Integrity)

		h = mustOpen(t, s, "/f", readWrite)
		for s.handles.count() > 0 {
			time.Sleep(time.Second / 10)
		}
		wantKind(t, syncIt(h), pfs.Stale) // closing still lasts
		wantKind(t, closeIt(h), pfs.Integrity)
		if n := s.handles.taken; n != 0 {
			t.Errorf("%d places are taken", n)
		}
		s.handles.most = 1
		wantKind(t, closeIt(mustOpen(t, s, "/f", readWrite)), pfs.Integrity)
		if n := len(s.handles.last); n > 2 || len(s.handles.failed) != n {
			t.Errorf("%d failures are kept", n)
		}
	})
}
