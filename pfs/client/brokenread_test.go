package client_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// damaged is a store whose files cannot be read from bad on.
type damaged struct {
	*memfs.FS
	bad   int64
	kind  pfs.Kind
	tries atomic.Int64 // reads that failed
}

func (d *damaged) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	f, err := d.FS.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return &damagedFile{f, d, name}, nil
}

type damagedFile struct {
	pfs.File
	d    *damaged
	name pfs.Path
}

func (f *damagedFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if off+int64(len(p)) <= f.d.bad {
		return f.File.ReadAt(ctx, p, off)
	}
	f.d.tries.Add(1)
	n, _ := f.File.ReadAt(ctx, p[:max(0, f.d.bad-off)], off)
	return n, pfs.Errorf("test.ReadAt", f.name, f.d.kind, "byte %d of block 7 on d1, d2 and d3", f.d.bad)
}

// TestErrorInTheMiddleOfAChunk reads a file whose store fails in the middle of an answer: the
// reader gets the Kind and the text of the store's error.
func TestErrorInTheMiddleOfAChunk(t *testing.T) {
	for _, kind := range pfs.Kinds() {
		t.Run(kind.Error(), func(t *testing.T) {
			t.Parallel()
			store := &damaged{FS: memfs.New(memfs.Options{}), bad: 1 << 20, kind: kind}
			if err := upload(t.Context(), store, "/f", randomBytes(2<<20)); err != nil {
				t.Fatal(err)
			}
			s := serve(t, store)
			c, err := client.New(client.Options{
				Endpoint: s.URL, Fingerprint: mustFingerprint(t, s), Retry: retry.Never,
				Token: func(context.Context, string) (string, error) { return "token-a", nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, err = download(t.Context(), c, "/f")
			want := pfs.Errorf("", "/f", kind, "byte %d of block 7 on d1, d2 and d3", store.bad)
			var e *pfs.Error
			if !errors.As(err, &e) || e.Kind != kind || e.Error() != want.Error() {
				t.Errorf("got %v, want %v", err, want)
			}
			most := int64(1)
			if kind == pfs.Unauthenticated {
				most = 2 // with another token
			}
			if n := store.tries.Load(); n > most {
				t.Errorf("what failed was asked for %d times", n)
			}
		})
	}
}
