package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"slices"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// selfSignedLife is long because clients pin the certificate: all of them need to be told about a
// new one.
const selfSignedLife = 10 * 365 * 24 * time.Hour

// makeCertificate writes a self-signed certificate for the hosts. It writes the certificate last.
// So a certificate without a key means that the key was lost, and a new key is not made silently,
// because clients pin the certificate.
func makeCertificate(op, certFile, keyFile string, hosts []string) error {
	if _, err := os.Stat(certFile); err == nil {
		return pfs.Errorf(op, "", pfs.NotExist, "certificate %s has no key %s: bring the key back, or remove the certificate and a new pair is made", certFile, keyFile)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	template, err := selfSigned(hosts)
	if err != nil {
		return err
	}
	certDER, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	if err := writeFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})); err != nil {
		return err
	}
	return writeFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certDER}))
}

// selfSigned returns the certificate template. It is valid from an hour ago, for clients whose
// clock is slow.
func selfSigned(hosts []string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "pfsd"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(selfSignedLife),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	all := append([]string{"localhost", "127.0.0.1", "::1"}, hosts...)
	if name, err := os.Hostname(); err == nil {
		all = append(all, name)
	}
	slices.Sort(all)
	for _, host := range slices.Compact(all) {
		if ip := net.ParseIP(host); ip == nil && host != "" {
			c.DNSNames = append(c.DNSNames, host)
		} else if ip != nil && !ip.IsUnspecified() {
			c.IPAddresses = append(c.IPAddresses, ip)
		}
	}
	return c, nil
}
