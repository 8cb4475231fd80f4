package mounting

import (
	"context"
	"math"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// patient returns a context in which a call is repeated for d after temporary errors, or without end if d is 0.
func patient(ctx context.Context, d time.Duration, told func(time.Duration, error)) context.Context {
	if d == 0 {
		d = math.MaxInt64
	}
	return retry.With(ctx, retry.New(retry.Policy{Total: d}, told))
}

// repeatReads returns store with lookups and reads that are repeated within the retry.Budget of their context. The
// client of a service does that itself. Changes are not repeated: one that seems to have failed may have been made.
func repeatReads(store pfs.FileSystem) pfs.FileSystem {
	return pfs.NewLayerWith(func(ctx context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if a.Changes() {
			return call(store, name)
		}
		return repeat(ctx, func() error { return call(store, name) })
	}, pfs.Hooks{
		Open: func(ctx context.Context, fsys pfs.FileSystem, name pfs.Path) (pfs.File, error) {
			f, err := fsys.Open(ctx, name)
			if err != nil {
				return nil, err
			}
			return patientFile{f}, nil
		},
	})
}

type patientFile struct{ pfs.File }

func (f patientFile) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	err = repeat(ctx, func() error {
		n, err = f.File.ReadAt(ctx, p, off)
		return err
	})
	return n, err
}

func repeat(ctx context.Context, do func() error) error {
	budget := retry.From(ctx)
	if budget == nil {
		return do()
	}
	return budget.Do(ctx, retry.Op{}, func(context.Context) error {
		err := do()
		if !pfs.KindOf(err).Temporary() {
			budget.Answered()
		}
		return err
	})
}
