package auth

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

// All who start at the same time get the same key.
func TestKeyIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token.key")
	keys := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			key, err := loadOrMakeKey(context.Background(), path)
			if err != nil {
				t.Error(err)
			}
			keys[i] = key
		})
	}
	wg.Wait()
	for _, key := range keys {
		if len(key) != keySize || !bytes.Equal(key, keys[0]) {
			t.Errorf("keys differ, or have not %d bytes: %d and %d", keySize, len(key), len(keys[0]))
		}
	}
}

func TestBadKey(t *testing.T) {
	for name, data := range map[string][]byte{"empty": {}, "short": make([]byte, 31), "long": make([]byte, 33)} {
		path := filepath.Join(t.TempDir(), "token.key")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadOrMakeKey(context.Background(), path); err == nil || pfs.KindOf(err) != pfs.Invalid {
			t.Errorf("%s key: %v, want Invalid", name, err)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, data) {
			t.Errorf("%s key was replaced", name)
		}
	}
}

func TestLockWaitsNoLongerThanItsCaller(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	ctx, cancel := context.WithCancel(context.Background())
	err := withLock(context.Background(), "test", path, func() error {
		cancel()
		return withLock(ctx, "test", path, func() error {
			t.Error("the lock was taken twice")
			return nil
		})
	})
	wantKind(t, err, pfs.Canceled)
}
