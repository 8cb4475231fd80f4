package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// TestChunksWithoutBytesTakeNoMemory checks chunks without bytes, and chunks that the store
// refuses.
func TestChunksWithoutBytesTakeNoMemory(t *testing.T) {
	s, _ := newServer(t, memfs.New(memfs.Options{Capacity: 1 << 10}), nil)
	create(t, s, "/f")
	put(t, s, "/f", "content")
	for _, c := range []struct {
		data []byte
		code int
	}{{nil, 204}, {make([]byte, 2<<10), wire.StatusOf(pfs.NoSpace)}} {
		for n := range 10 {
			off := int64(n) * 1000 * pfs.ChunkSize
			if w := do(s, "PUT", fmt.Sprintf("/v1/data?path=/f&id=12345678&off=%d", off), onWire(c.data)); w.Code != c.code {
				t.Errorf("%d bytes at %d: HTTP %d, want %d", len(c.data), off, w.Code, c.code)
			}
		}
		for _, u := range s.uploads.open {
			if len(u.chunks) > 1 {
				t.Errorf("after chunks of %d bytes %d are remembered", len(c.data), len(u.chunks))
			}
		}
	}
	if code := commit(s, "/f", "content"); code != 200 {
		t.Errorf("commit: HTTP %d", code)
	}
}

// lateStore is a store whose uploads buffer all bytes until they are suspended or committed. Its
// first upload then cannot store them.
type lateStore struct {
	*memfs.FS
	handles int
}

type lateStaged struct {
	pfs.Staged
	loses bool
	later []func() error
}

func (l *lateStore) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := l.FS.Create(ctx, name, opts)
	l.handles++
	return &lateStaged{Staged: w, loses: l.handles == 1}, err
}

func (w *lateStaged) Identity() any { return pfs.IdentityOf(w.Staged) }

func (w *lateStaged) WriteAt(_ context.Context, p []byte, off int64) (int, error) {
	p = bytes.Clone(p)
	if w.loses {
		p = make([]byte, len(p))
	}
	w.later = append(w.later, func() error {
		_, err := w.Staged.WriteAt(context.Background(), p, off)
		return err
	})
	return len(p), nil
}

func (w *lateStaged) flush() error {
	for _, write := range w.later {
		if err := write(); err != nil {
			return err
		}
	}
	w.later = nil
	if w.loses {
		return pfs.E("test.flush", "/f", pfs.Unavailable, nil)
	}
	return nil
}

func (w *lateStaged) Suspend(ctx context.Context) error {
	return errors.Join(w.flush(), w.Staged.Suspend(ctx))
}

func (w *lateStaged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	if err := w.flush(); err != nil {
		return pfs.Info{}, err
	}
	return w.Staged.Commit(ctx, opts)
}

// TestWhatAnotherHandleTookIsReadBack checks that bytes received through another handle are read
// back, because that handle may have lost them.
func TestWhatAnotherHandleTookIsReadBack(t *testing.T) {
	for name, again := range map[string]func(t *testing.T, s *Server){
		"the same name": func(t *testing.T, s *Server) {
			put(t, s, "/a/f", "content")
			create(t, s, "/a/f")
		},
		"another name": func(t *testing.T, s *Server) {
			put(t, s, "/a/f", "content")
			create(t, s, "/b/f")
			s.uploads.suspendBelow("/a")
			create(t, s, "/a/f")
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := &lateStore{FS: memfs.New(memfs.Options{})}
			view := pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
				return call(store, pfs.Root.Join(name.Base()))
			})
			s, _ := newServer(t, store, func(c *Config) {
				c.View = func(auth.Identity, string) pfs.FileSystem { return view }
			})
			create(t, s, "/a/f")
			again(t, s)
			if code := commit(s, "/a/f", "content"); code != 422 {
				t.Errorf("commit of what was lost: HTTP %d", code)
			}
			put(t, s, "/a/f", "content")
			if code := commit(s, "/a/f", "content"); code != 200 {
				t.Errorf("commit of what was sent again: HTTP %d", code)
			}
		})
	}
}
