//go:build !linux

package mounting

import (
	"github.com/paddlecloud/pfs/fuse"
)

// cached returns store.
func (o options) cached(store tree, opts fuse.Options, _ string) (tree, fuse.Options, error) {
	return store, opts, nil
}

// staged returns store.
func (o options) staged(store tree, opts fuse.Options, _, _ string) (tree, fuse.Options, error) {
	return store, opts, nil
}

func boundMemory(func(string) string) {}
