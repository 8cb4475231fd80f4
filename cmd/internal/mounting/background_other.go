//go:build !linux

package mounting

import (
	"context"
	"os"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/fuse"
)

// readyFile returns nil: this process is not in the background.
func readyFile(*app.App) *os.File { return nil }

// inBackground answers Unsupported.
func inBackground(ctx context.Context, _ *app.App) error {
	_, err := fuse.Mount(ctx, nil, "", fuse.Options{})
	return err
}

func detach(*app.App, string, *os.File) error { return nil }

func allowOpenFiles() {}
