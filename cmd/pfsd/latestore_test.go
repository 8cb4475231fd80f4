package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

var (
	nobody = pfs.Owner{Name: "nobody", UID: 1, GID: 1}
	itself = pfs.Owner{Name: "service", UID: 2, GID: 2}
)

// owned is a store with users: each has a separate tree, which shows as whom a file was created.
// The service's tree is the store itself.
type owned struct {
	*memfs.FS
	of map[pfs.Owner]*memfs.FS
}

func newOwned() *owned {
	return &owned{memfs.New(memfs.Options{}), map[pfs.Owner]*memfs.FS{nobody: memfs.New(memfs.Options{})}}
}

func (o *owned) WithOwner(owner pfs.Owner) (pfs.FileSystem, error) {
	if owner == itself {
		return o, nil
	}
	return o.of[owner], nil
}

func (o *owned) Impersonate(owner pfs.Owner) (pfs.FileSystem, error) {
	if owner == itself {
		return nil, pfs.E("test.Impersonate", "", pfs.Permission, nil)
	}
	return o.WithOwner(owner)
}

// opensAfter returns a store and how it is opened: not before each of the errors was met.
func opensAfter(fsys pfs.FileSystem, errs ...error) (open openStore, closed *bool) {
	closed = new(bool)
	return func(context.Context) (backends.Store, error) {
		if len(errs) > 0 {
			err := errs[0]
			errs = errs[1:]
			return backends.Store{}, err
		}
		return backends.Store{FileSystem: fsys, Close: func() error { *closed = true; return nil }}, nil
	}, closed
}

func mustGive(t *testing.T, choose func(pfs.Owner) (pfs.FileSystem, error), owner pfs.Owner) pfs.FileSystem {
	t.Helper()
	fsys, err := choose(owner)
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

func TestLateStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newOwned()
		var log strings.Builder
		open, closed := opensAfter(store,
			pfs.Errorf("test", "", pfs.Unavailable, "away"), pfs.Errorf("test", "", pfs.NotExist, "no root"))
		late := newLateStore("dc7", open, slog.New(slog.NewTextHandler(&log, nil)))
		given, as := mustGive(t, late.WithOwner, nobody), mustGive(t, late.Impersonate, nobody)
		for _, fsys := range []pfs.FileSystem{late, given, as} {
			err := fsys.Mkdir(t.Context(), "/d", 0o755)
			if !errors.Is(err, pfs.Unavailable) || !strings.Contains(err.Error(), "/d: ") || !strings.Contains(err.Error(), "dc7") {
				t.Errorf("before it is open: %v", err)
			}
		}
		if mustGive(t, late.WithOwner, nobody) != given || given == as {
			t.Error("the tree of an owner is another one each time, or the same as him")
		}

		time.Sleep(time.Hour)
		synctest.Wait()
		for _, want := range []string{"level=WARN", "away", "level=ERROR", "no root", "the store answers"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, &log)
			}
		}
		for i, tt := range []struct{ through, in pfs.FileSystem }{{late, store}, {given, store.of[nobody]}, {mustGive(t, late.WithOwner, itself), store}} {
			name := pfs.Root.Join(string(rune('a' + i)))
			if err := tt.through.Mkdir(t.Context(), name, 0o755); err != nil {
				t.Errorf("%d: %v", i, err)
			}
			if _, err := tt.in.Stat(t.Context(), name); err != nil {
				t.Errorf("%d: it is not where it belongs: %v", i, err)
			}
		}
		err := mustGive(t, late.Impersonate, itself).Mkdir(t.Context(), "/e", 0o755)
		if !errors.Is(err, pfs.Permission) {
			t.Errorf("as the service itself: %v, want %v", err, pfs.Permission)
		}
		if err := late.Close(); err != nil || !*closed {
			t.Errorf("closed: %v, %v", *closed, err)
		}
	})
}

// TestLateStoreWithoutUsers opens a store without users late: new files belong to the service, and
// nobody can act as himself.
func TestLateStoreWithoutUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := struct{ pfs.FileSystem }{memfs.New(memfs.Options{})}
		open, _ := opensAfter(store)
		late := newLateStore("dc", open, slog.New(slog.DiscardHandler))
		defer late.Close()
		time.Sleep(firstTry)
		synctest.Wait()
		if err := mustGive(t, late.WithOwner, nobody).Mkdir(t.Context(), "/d", 0o755); err != nil {
			t.Error(err)
		}
		if err := mustGive(t, late.Impersonate, nobody).Mkdir(t.Context(), "/e", 0o755); !errors.Is(err, pfs.Unsupported) {
			t.Errorf("as a user: %v, want %v", err, pfs.Unsupported)
		}
	})
}

// TestLateStoreIsTriedLessAndLess holds how often a store that stays away is tried, and that the
// end of the service ends it.
func TestLateStoreIsTriedLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		late := newLateStore("dc", func(context.Context) (backends.Store, error) {
			tries++
			return backends.Store{}, pfs.E("test", "", pfs.Unavailable, io.EOF)
		}, slog.New(slog.DiscardHandler))
		time.Sleep(time.Hour)
		synctest.Wait()
		if tries < 60 || tries > 66 {
			t.Errorf("%d tries in an hour", tries)
		}
		if err := late.Close(); err != nil {
			t.Error(err)
		}
	})
}

// noHDFS is the URL of an HDFS that does not exist.
const noHDFS = "hdfs://127.0.0.1:1/?user=pfs&timeout=1s"

// TestServeWithoutAStore starts a service with one store down: the other can be used, and messages
// name the one that is down.
func TestServeWithoutAStore(t *testing.T) {
	s := start(t, dataFor(t), "--no-tls", "--datacenter", "here=mem:", "--datacenter", "away="+noHDFS)
	if !strings.Contains(s.said, "NO ANSWER") {
		t.Errorf("it does not say that a store is away:\n%s", s.said)
	}
	if code, body := status(t, s.endpoint+"/readyz"); code != http.StatusOK || !strings.Contains(body, "without: away") {
		t.Errorf("/readyz: %d %s", code, body)
	}
	c, _ := s.login(t, "ann")
	if err := put(t, c, "/pfs/here/home/ann/f", "content"); err != nil {
		t.Error(err)
	}
	for _, name := range []pfs.Path{"/pfs/away", "/pfs/away/home/ann", "/pfs/away/home/ann/f", "/pfs/away/public"} {
		_, err := c.List(t.Context(), name, pfs.ListOptions{})
		if name == "/pfs/away" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.Is(err, pfs.Unavailable) || !strings.Contains(err.Error(), "datacenter away") {
			t.Errorf("%s: %v, want %v", name, err, pfs.Unavailable)
		}
	}
	if code, stderr := s.stop(); code != 0 {
		t.Errorf("it ended with %d:\n%s", code, stderr)
	}
}

// TestServeWithoutAnyStore starts a service with all stores down, and checks the message.
func TestServeWithoutAnyStore(t *testing.T) {
	s := start(t, dataFor(t), "--no-tls", "--datacenter", "away="+noHDFS)
	if !strings.Contains(s.said, "level=ERROR") || !strings.Contains(s.said, "no store answers") {
		t.Errorf("it does not say that it can do nothing:\n%s", s.said)
	}
	if code, body := status(t, s.endpoint+"/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "away") {
		t.Errorf("/readyz: %d %s", code, body)
	}
}
