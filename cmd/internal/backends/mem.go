package backends

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

const memForm = "mem: (in memory, gone with the program)"

func prepareMem(r *request) (opener, error) {
	if r.url != "mem:" {
		return nil, pfs.Errorf("backends.Check", "", pfs.Invalid, "%q: a store in memory reads mem: and nothing more", r.url)
	}
	return func(context.Context, Caller) (Store, error) {
		return Store{FileSystem: memfs.New(memfs.Options{}), Close: func() error { return nil }}, nil
	}, nil
}
