//go:build !linux

package mounting

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/fuse"
)

// run answers Unsupported.
func run(ctx context.Context, _ *app.App, _ options, _ string) error {
	_, err := fuse.Mount(ctx, nil, "", fuse.Options{})
	return err
}

// upgrade answers Unsupported.
func upgrade(ctx context.Context, a *app.App, dir string) error { return run(ctx, a, options{}, dir) }

func settle(*app.App) error { return nil }
