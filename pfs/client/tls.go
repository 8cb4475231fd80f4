package client

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// PinError is the cause of the error when the service shows a certificate other than the pinned
// one.
type PinError struct {
	Pinned, Shown string // SHA-256 in hex
}

func (e *PinError) Error() string {
	return "the service shows a certificate with fingerprint " + e.Shown + ", not the known " + e.Pinned +
		": if its administrator confirms the new one, log in again with --fingerprint " + e.Shown
}

// pin returns a check that accepts one certificate only.
func pin(fingerprint string) (func(tls.ConnectionState) error, error) {
	want, err := ParseFingerprint(fingerprint)
	if err != nil {
		return nil, err
	}
	return func(state tls.ConnectionState) error {
		if got := fingerprintOf(state); got != want {
			return &PinError{Pinned: want, Shown: got}
		}
		return nil
	}, nil
}

// ParseFingerprint returns the canonical form of a SHA-256 fingerprint: 64 lower-case
// hex digits. Colons, spaces, upper case and a leading "SHA256:" are accepted.
func ParseFingerprint(s string) (string, error) {
	canonical := strings.ToLower(strings.NewReplacer(":", "", " ", "").Replace(s))
	canonical = strings.TrimPrefix(canonical, "sha256")
	if b, err := hex.DecodeString(canonical); err != nil || len(b) != sha256.Size {
		return "", pfs.Errorf("client.ParseFingerprint", "", pfs.Invalid, "fingerprint %.100q is not 64 hex digits", s)
	}
	return canonical, nil
}

func fingerprintOf(state tls.ConnectionState) string {
	if len(state.PeerCertificates) == 0 {
		return ""
	}
	sum := sha256.Sum256(state.PeerCertificates[0].Raw)
	return hex.EncodeToString(sum[:])
}

// Fingerprint asks the service at endpoint for its certificate. It returns the SHA-256 in hex, ""
// for an http endpoint, and whether the system's authorities vouch for it. It sends nothing else.
func Fingerprint(ctx context.Context, endpoint string) (fingerprint string, trusted bool, err error) {
	const op = "client.Fingerprint"
	base, err := parseEndpoint(endpoint)
	if err != nil {
		return "", false, err
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme == "http" {
		return "", false, err
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	address := net.JoinHostPort(u.Hostname(), port)
	show := func(config *tls.Config) (string, error) {
		conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		return fingerprintOf(conn.(*tls.Conn).ConnectionState()), nil
	}
	if fingerprint, err = show(&tls.Config{ServerName: u.Hostname()}); err == nil {
		return fingerprint, true, nil
	}
	if fingerprint, err = show(&tls.Config{ServerName: u.Hostname(), InsecureSkipVerify: true}); speaksPlainHTTP(err) {
		return "", false, wrongScheme(op, "", base)
	} else if err != nil {
		return "", false, pfs.Errorf(op, "", pfs.Unavailable, "%s: %w", endpoint, err)
	}
	return fingerprint, false, nil
}

// speaksPlainHTTP reports whether err means that the server speaks HTTP without TLS.
func speaksPlainHTTP(err error) bool {
	var header tls.RecordHeaderError
	return errors.As(err, &header) && string(header.RecordHeader[:]) == "HTTP/"
}

// wrongScheme is the error of an https endpoint whose server does not use TLS.
func wrongScheme(op string, name pfs.Path, base string) error {
	return pfs.Errorf(op, name, pfs.Invalid, "%s answers without TLS: the endpoint is http%s", base, strings.TrimPrefix(base, "https"))
}
