package client_test

import (
	"testing"

	"github.com/paddlecloud/pfs/pfs"
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
}
