package auth

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"io/fs"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

// maxPEM bounds a certificate chain or key, in bytes.
const maxPEM = 1 << 20

// Certificate is the certificate of a service, which can be replaced while the service runs. It is
// safe for concurrent use.
type Certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
}

// LoadCertificate loads the certificate chain and the key from two PEM files.
func LoadCertificate(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	if err := c.Reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// LoadOrMakeCertificate is LoadCertificate, but makes a self-signed certificate if there is none:
// ECDSA P-256, for ten years, for localhost, this machine's name and the given hosts. If several
// processes start at the same time, one of them makes it for all.
func LoadOrMakeCertificate(ctx context.Context, certFile, keyFile string, hosts []string) (*Certificate, error) {
	const op = "auth.LoadOrMakeCertificate"
	c, err := LoadCertificate(certFile, keyFile)
	if !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	err = withLock(ctx, op, certFile, func() error {
		if c, err = LoadCertificate(certFile, keyFile); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := makeCertificate(op, certFile, keyFile, hosts); err != nil {
			return fileError(op, err)
		}
		c, err = LoadCertificate(certFile, keyFile)
		return err
	})
	return c, err
}

// Reload reads the files again. On failure, the certificate stays unchanged.
func (c *Certificate) Reload() error {
	const op = "auth.Certificate.Reload"
	chain, _, err := readFile(op, c.certFile, maxPEM)
	if err != nil {
		return err
	}
	key, _, err := readSecret(op, c.keyFile, maxPEM)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return pfs.Errorf(op, "", pfs.Invalid, "certificate %s with key %s: %w", c.certFile, c.keyFile, err)
	}
	c.current.Store(&pair)
	return nil
}

// GetCertificate returns the current certificate, for tls.Config.
func (c *Certificate) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current.Load(), nil
}

// Leaf returns the service's own certificate, the first of the chain.
func (c *Certificate) Leaf() *x509.Certificate { return c.current.Load().Leaf }

// Fingerprint returns the SHA-256 of a certificate in DER form, in lower-case hex. Clients pin it.
func Fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.Raw)
	return hex.EncodeToString(sum[:])
}
