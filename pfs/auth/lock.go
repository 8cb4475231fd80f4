package auth

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// lockPoll is the interval between attempts to get a held lock, which is held for the time of
// writing one file.
const lockPoll = 10 * time.Millisecond

// withLock runs f while no other process, on any replica, is in withLock for the same path. The
// lock is a permanent file beside it.
func withLock(ctx context.Context, op, path string, f func() error) error {
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fileError(op, err)
	}
	defer lock.Close()
	if err := giveToOwner(lock, filepath.Dir(path)); err != nil {
		return fileError(op, err)
	}
	for {
		got, err := tryLock(lock)
		if err != nil {
			return fileError(op, err)
		}
		if got {
			return f()
		}
		select {
		case <-ctx.Done():
			return pfs.Errorf(op, "", pfs.Canceled, "waiting for %s: %w", lock.Name(), ctx.Err())
		case <-time.After(lockPoll):
		}
	}
}
