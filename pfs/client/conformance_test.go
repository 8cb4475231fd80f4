package client_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestConformance runs the suite over HTTP and TLS. Another client of the same service
// is the other instance of the store.
func TestConformance(t *testing.T) {
	t.Run("memfs", func(t *testing.T) {
		services := map[pfs.FileSystem]*service{}
		pfstest.Run(t, pfstest.Options{
			New: func(t *testing.T) pfs.FileSystem {
				s := serve(t, memfs.New(memfs.Options{}))
				c := s.connect(t, s.URL)
				services[c] = s
				return c
			},
			Reopen: func(t *testing.T, fsys pfs.FileSystem) pfs.FileSystem {
				s := services[fsys]
				return s.connect(t, s.URL)
			},
			Names: 20_000,
		})
	})
	t.Run("localfs", func(t *testing.T) {
		testbed.Long(t)
		services := map[pfs.FileSystem]*service{}
		pfstest.Run(t, pfstest.Options{
			New: func(t *testing.T) pfs.FileSystem {
				store, err := localfs.New(t.TempDir(), localfs.Options{NoSync: true})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { store.Close() })
				s := serve(t, store)
				c := s.connect(t, s.URL)
				services[c] = s
				return c
			},
			Reopen: func(t *testing.T, fsys pfs.FileSystem) pfs.FileSystem {
				s := services[fsys]
				return s.connect(t, s.URL)
			},
			Gaps:  pfstest.NoBlockLocations | pfstest.NoConcat | pfstest.NoReplication,
			Names: 5_000,
		})
	})
}

// TestUploadsLeaveNothingOpen counts the descriptors of a service after many uploads,
// committed, discarded and refused.
func TestUploadsLeaveNothingOpen(t *testing.T) {
	const fds = "/proc/self/fd"
	if _, err := os.ReadDir(fds); err != nil {
		t.Skip("open descriptors cannot be counted here: ", err)
	}
	store, err := localfs.New(t.TempDir(), localfs.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := serve(t, store)
	c := s.connect(t, s.URL)
	ctx := t.Context()
	count := func() int {
		entries, err := os.ReadDir(fds)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	round := func(i int) {
		if err := upload(ctx, c, pfs.Path(fmt.Sprintf("/f%d", i)), []byte("content")); err != nil {
			t.Fatal(err)
		}
		w, err := c.Create(ctx, "/discarded", pfs.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(ctx, pfs.CommitOptions{Size: 1}); !errors.Is(err, pfs.Integrity) {
			t.Fatalf("commit of nothing: %v", err)
		}
		if err := w.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	round(0) // the connections
	before := count()
	for i := range 50 {
		round(i)
	}
	if after := count(); after > before+10 {
		t.Errorf("%d descriptors before, %d after 50 uploads", before, after)
	}
}
