//go:build !linux

package mounting

import (
	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/fuse"
)

// cached returns store.
func (o options) cached(store backends.Store, opts fuse.Options, _ string) (backends.Store, fuse.Options, error) {
	return store, opts, nil
}

// staged returns store.
func (o options) staged(store backends.Store, opts fuse.Options, _, _ string) (backends.Store, fuse.Options, error) {
	return store, opts, nil
}

func boundMemory(func(string) string) {}
