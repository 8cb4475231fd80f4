package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

func makeTestCertificate(t *testing.T, hosts ...string) (c *Certificate, certFile, keyFile string) {
	t.Helper()
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	c, err := LoadOrMakeCertificate(context.Background(), certFile, keyFile, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return c, certFile, keyFile
}

func TestSelfSigned(t *testing.T) {
	c, certFile, keyFile := makeTestCertificate(t, "storage.example", "192.0.2.7", "::", "")
	leaf := c.Leaf()
	if key, ok := leaf.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		t.Errorf("key %T, want ECDSA P-256", leaf.PublicKey)
	}
	for _, host := range []string{"localhost", "127.0.0.1", "::1", "storage.example", "192.0.2.7"} {
		if err := leaf.VerifyHostname(host); err != nil {
			t.Errorf("not for %s: %v", host, err)
		}
	}
	if err := leaf.VerifyHostname("example.org"); err == nil {
		t.Error("for example.org too")
	}
	if left := time.Until(leaf.NotAfter); left < 9*365*24*time.Hour {
		t.Errorf("ends in %v", left)
	}
	again, err := LoadOrMakeCertificate(context.Background(), certFile, keyFile, nil)
	if err != nil || Fingerprint(again.Leaf()) != Fingerprint(leaf) {
		t.Errorf("the second start does not find the certificate of the first: %v", err)
	}
	if info, err := os.Stat(keyFile); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("key file: mode %v, %v; want 0600", info.Mode(), err)
	}
}

// A client that trusts the certificate alone can talk to the service.
func TestHandshake(t *testing.T) {
	c, _, _ := makeTestCertificate(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: c.GetCertificate})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			io.WriteString(conn, "hello")
			conn.Close()
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(c.Leaf())
	_, port, _ := net.SplitHostPort(l.Addr().String())
	conn, err := tls.Dial("tcp", net.JoinHostPort("localhost", port), &tls.Config{RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := io.ReadAll(conn); string(got) != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
	sum := sha256.Sum256(conn.ConnectionState().PeerCertificates[0].Raw)
	if got, want := Fingerprint(c.Leaf()), hex.EncodeToString(sum[:]); got != want {
		t.Errorf("Fingerprint = %s, want %s", got, want)
	}
}

func TestReload(t *testing.T) {
	c, certFile, keyFile := makeTestCertificate(t)
	before := Fingerprint(c.Leaf())
	if err := os.WriteFile(certFile, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantKind(t, c.Reload(), pfs.Invalid)
	if Fingerprint(c.Leaf()) != before {
		t.Error("a certificate that cannot be read took the place of a good one")
	}
	_, otherCert, otherKey := makeTestCertificate(t)
	for from, to := range map[string]string{otherCert: certFile, otherKey: keyFile} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Reload(); err != nil {
		t.Fatal(err)
	}
	if Fingerprint(c.Leaf()) == before {
		t.Error("Reload kept the old certificate")
	}
}

func TestHalfACertificate(t *testing.T) {
	ctx := context.Background()
	c, certFile, keyFile := makeTestCertificate(t)
	before := Fingerprint(c.Leaf())
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(keyFile); err != nil {
		t.Fatal(err)
	}
	_, err = LoadOrMakeCertificate(ctx, certFile, keyFile, nil)
	wantKind(t, err, pfs.NotExist)
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := LoadOrMakeCertificate(ctx, certFile, keyFile, nil); err != nil || Fingerprint(again.Leaf()) != before {
		t.Errorf("with the key back: %v", err)
	}
	// A crash between the two files leaves the key.
	if err := os.Remove(certFile); err != nil {
		t.Fatal(err)
	}
	if again, err := LoadOrMakeCertificate(ctx, certFile, keyFile, nil); err != nil || Fingerprint(again.Leaf()) == before {
		t.Errorf("key without certificate: %v", err)
	}
}

func TestCertificateFiles(t *testing.T) {
	_, certFile, keyFile := makeTestCertificate(t)
	_, _, otherKey := makeTestCertificate(t)
	tests := []struct {
		why       string
		cert, key string
		want      pfs.Kind
	}{
		{"no certificate", certFile + ".no", keyFile, pfs.NotExist},
		{"no key", certFile, keyFile + ".no", pfs.NotExist},
		{"key of another", certFile, otherKey, pfs.Invalid},
		{"the wrong way round", keyFile, certFile, pfs.Invalid},
	}
	for _, tt := range tests {
		if _, err := LoadCertificate(tt.cert, tt.key); err == nil || pfs.KindOf(err) != tt.want {
			t.Errorf("%s: %v, want Kind %v", tt.why, err, tt.want)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(keyFile, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := LoadCertificate(certFile, keyFile)
	wantKind(t, err, pfs.Permission)
}
