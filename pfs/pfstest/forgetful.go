package pfstest

import (
	"context"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

// Forgetful is a store that once loses staged bytes, just before they are published, as HDFS does
// when the DataNodes that are being written to die. It has no optional capabilities.
type Forgetful struct {
	pfs.FileSystem
	lost atomic.Bool
}

// Create begins an upload. The first Commit of any upload loses its bytes.
func (f *Forgetful) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := f.FileSystem.Create(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	return &forgetfulStaged{w, f, name}, nil
}

type forgetfulStaged struct {
	pfs.Staged
	f    *Forgetful
	name pfs.Path
}

func (w *forgetfulStaged) Identity() any { return pfs.IdentityOf(w.Staged) }

func (w *forgetfulStaged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	if w.f.lost.Swap(true) {
		return w.Staged.Commit(ctx, opts)
	}
	if _, err := w.WriteAt(ctx, make([]byte, opts.Size), 0); err != nil {
		return pfs.Info{}, err
	}
	return pfs.Info{}, pfs.Errorf("pfstest.Commit", w.name, pfs.Integrity, "0 of %d bytes were staged", opts.Size)
}
