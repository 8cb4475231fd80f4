package mounting

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// TestGrace ends a mount whose store does not answer and that has something to upload.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memfs.New(memfs.Options{Without: pfs.CanWriteRandom})
		var silent atomic.Bool
		store := pfs.NewLayer(func(ctx context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
			if silent.Load() {
				<-ctx.Done()
				return pfs.CheckContext(ctx, "test", name)
			}
			return call(mem, name)
		})
		o := options{cacheDirs: []string{t.TempDir()}}
		o.grace.Duration = 90 * time.Second
		s, _, err := o.staged(backends.Store{FileSystem: store}, fuse.Options{Logger: slog.New(slog.DiscardHandler)}, "alice", "/m")
		if err != nil {
			t.Fatal(err)
		}
		h, err := pfs.OpenHandle(t.Context(), s.FileSystem, "/f", pfs.OpenRead|pfs.OpenWrite|pfs.OpenCreate, 0o644)
		if err == nil {
			_, err = h.WriteAt(t.Context(), []byte("x"), 100) // is staged
		}
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		silent.Store(true)
		start := time.Now()
		if err := s.Close(); err == nil || time.Since(start) != o.grace.Duration {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
