package mounting

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestRetryTime: lookups and reads of a store that does not answer wait as long as the option says.
func TestRetryTime(t *testing.T) {
	for name, tt := range map[string]struct {
		limit, outage, want time.Duration // want is how long a call waits at least
		fails               bool
	}{
		"shorter than the limit": {limit: time.Minute, outage: 40 * time.Second, want: 40 * time.Second},
		"longer than the limit":  {limit: time.Minute, outage: time.Hour, want: 50 * time.Second, fails: true},
		"without a limit":        {outage: 48 * time.Hour, want: 48 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memfs.New(memfs.Options{})
				pfstest.WriteFile(t, mem, "/f", []byte("content"))
				var down atomic.Bool
				ctx := patient(t.Context(), tt.limit, nil)
				store := repeatReads(outage{mem, &down})
				f, err := store.Open(ctx, "/f")
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				for what, call := range map[string]func() error{
					"stat": func() error { _, err := store.Stat(ctx, "/f"); return err },
					"read": func() error { _, err := f.ReadAt(ctx, make([]byte, 7), 0); return err },
				} {
					down.Store(true)
					began := time.Now()
					timer := time.AfterFunc(tt.outage, func() { down.Store(false) })
					err := call()
					if took := time.Since(began); errors.Is(err, pfs.Unavailable) != tt.fails || !tt.fails && err != nil || took < tt.want || took > tt.want+time.Minute {
						t.Errorf("%s: %v after %s", what, err, took)
					}
					timer.Stop()
					down.Store(false)
					if err := call(); err != nil {
						t.Errorf("%s afterwards: %v", what, err)
					}
				}
				down.Store(true)
				if err := store.Remove(ctx, "/f"); !errors.Is(err, pfs.Unavailable) {
					t.Errorf("remove: %v, want that it is not repeated", err)
				}
			})
		})
	}
}

// outage is a store that does not answer while down is set.
type outage struct {
	pfs.FileSystem
	down *atomic.Bool
}

func (o outage) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	if o.down.Load() {
		return pfs.Info{}, pfs.E("test", name, pfs.Unavailable, nil)
	}
	return o.FileSystem.Stat(ctx, name)
}

func (o outage) Remove(ctx context.Context, name pfs.Path) error {
	return pfs.E("test", name, pfs.Unavailable, nil)
}

func (o outage) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	f, err := o.FileSystem.Open(ctx, name)
	return outageFile{f, o.down}, err
}

type outageFile struct {
	pfs.File
	down *atomic.Bool
}

func (f outageFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if f.down.Load() {
		return 0, pfs.E("test", "/f", pfs.Unavailable, nil)
	}
	return f.File.ReadAt(ctx, p, off)
}
