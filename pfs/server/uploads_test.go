package server

import (
	"context"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
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
			put(t, s, "/b/f", "late") // begins anew
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
