package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
)

// keySize is the length of the key that signs access tokens, in bytes.
const keySize = 32

// loadOrMakeKey returns the key in the file path. If there is none it makes one, which processes
// that start at the same time share.
func loadOrMakeKey(ctx context.Context, path string) ([]byte, error) {
	const op = "auth.loadOrMakeKey"
	key, err := loadKey(op, path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	err = withLock(ctx, op, path, func() error {
		if key, err = loadKey(op, path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		key = make([]byte, keySize)
		rand.Read(key)
		return fileError(op, writeFile(path, key))
	})
	return key, err
}

func loadKey(op, path string) ([]byte, error) {
	key, _, err := readSecret(op, path, keySize)
	if err == nil && len(key) != keySize {
		err = pfs.Errorf(op, "", pfs.Invalid, "key %s has %d bytes, %d are needed: remove it and a new one is made (access tokens out there end)", path, len(key), keySize)
	}
	return key, err
}
