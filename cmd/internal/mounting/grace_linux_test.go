package mounting

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/stagefs"
)

// TestGrace ends a mount whose store does not answer and that has something to upload.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memfs.New(memfs.Options{Without: pfs.CanWriteRandom})
		var silent, down atomic.Bool
		store := pfs.NewLayer(func(ctx context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
			if silent.Load() {
				<-ctx.Done()
				return pfs.CheckContext(ctx, "test", name)
			}
			if down.Load() {
				return pfs.Errorf("test", name, pfs.Unavailable, "down")
			}
			return call(mem, name)
		})
		var log bytes.Buffer
		o := options{cacheDirs: []string{t.TempDir()}}
		o.grace.Duration = 100 * time.Second
		stuck := make(chan struct{})
		below := tree{FileSystem: store, close: func(context.Context) error { <-stuck; return nil }}
		s, _, err := o.staged(below, fuse.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, "alice", "/m")
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
		down.Store(true)
		if err := h.Close(t.Context()); err == nil {
			t.Error("a file is closed that is not on the store")
		}
		silent.Store(true)
		start := time.Now()
		if err := o.end(nil, s); err == nil || !strings.Contains(err.Error(), "--grace") || time.Since(start) != o.grace.Duration {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if text := log.String(); !strings.Contains(text, "path=/f state=pending bytes=101 ") {
			t.Errorf("the log does not say what is left:\n%s", text)
		}
		silent.Store(false)
		down.Store(false)
		close(stuck)
		synctest.Wait()
		next, _, err := o.staged(below, fuse.Options{Logger: slog.New(slog.DiscardHandler)}, "alice", "/m")
		if err != nil {
			t.Fatal(err)
		}
		defer next.close(t.Context())
		if err := next.FileSystem.(*stagefs.FS).Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if info, err := mem.Stat(t.Context(), "/f"); err != nil || info.Size != 101 {
			t.Errorf("the next mount has uploaded %+v, %v", info, err)
		}
	})
}
