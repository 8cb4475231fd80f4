package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"path/filepath"
)

// maxHostKey bounds the file of the host key, in bytes. A key of another type may take its place.
const maxHostKey = 64 << 10

// LoadOrMakeHostKey returns the private key, in PEM, by which SSH clients know the service. It is in the file ssh_host_key
// in dir. If there is none it makes one, which replicas share.
func LoadOrMakeHostKey(ctx context.Context, dir string) ([]byte, error) {
	const op = "auth.LoadOrMakeHostKey"
	path := filepath.Join(dir, "ssh_host_key")
	key, _, err := readSecret(op, path, maxHostKey)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	err = withLock(ctx, op, path, func() error {
		if key, _, err = readSecret(op, path, maxHostKey); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return err
		}
		der, err := x509.MarshalPKCS8PrivateKey(private)
		if err != nil {
			return err
		}
		key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
		return fileError(op, writeFile(path, key))
	})
	return key, err
}
