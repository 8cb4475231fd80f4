package auth

import (
	"context"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/crypto/ssh"
)

const (
	// maxKeys bounds the public keys of an account.
	maxKeys = 50
	// maxKeyLine bounds one of them as text, in bytes.
	maxKeyLine = 8 << 10
	// minRSA is the length of the shortest RSA key, in bits.
	minRSA = 2048
)

// Key is a public key by which a user logs in over SSH.
type Key struct {
	Fingerprint string // as ssh-keygen -l shows it
	Type        string // such as ssh-ed25519
	Comment     string
}

// parseKey parses a line of an authorized_keys file or of a .pub file, and returns its canonical form.
func parseKey(op, line string) (k Key, canonical string, err error) {
	invalid := func(format string, args ...any) (Key, string, error) {
		return Key{}, "", pfs.Errorf(op, "", pfs.Invalid, "the public key: "+format, args...)
	}
	line = strings.TrimSpace(line)
	switch {
	case len(line) > maxKeyLine:
		return invalid("%d bytes, the limit is %d", len(line), maxKeyLine)
	case strings.Contains(line, "PRIVATE KEY"):
		return invalid("this is a private key, which stays on your machine: give the file that ends with .pub")
	case strings.ContainsAny(line, "\r\n"):
		return invalid("more than one line: add one key at a time")
	}
	public, comment, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
	switch {
	case err != nil:
		return invalid("no line of the form \"ssh-ed25519 AAAA... comment\", as in ~/.ssh/id_ed25519.pub")
	case len(options) > 0:
		return invalid("options before the key (%.80s) are not supported: leave them out", strings.Join(options, ","))
	case strings.ContainsFunc(comment, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return invalid("control characters in the comment")
	}
	switch public.Type() {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256:
	case ssh.KeyAlgoRSA:
		if c, ok := public.(ssh.CryptoPublicKey); ok {
			if r, ok := c.CryptoPublicKey().(*rsa.PublicKey); !ok || r.N.BitLen() < minRSA {
				return invalid("RSA of fewer than %d bits: make another with ssh-keygen -t ed25519", minRSA)
			}
		}
	default:
		return invalid("type %.80s: make one with ssh-keygen -t ed25519", public.Type())
	}
	canonical = strings.TrimSpace(strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public))) + " " + comment)
	return Key{Fingerprint: ssh.FingerprintSHA256(public), Type: public.Type(), Comment: comment}, canonical, nil
}

// KeyFingerprint returns the fingerprint of a public key; empty if the line has none.
func KeyFingerprint(line string) string {
	k, _, _ := parseKey("auth.KeyFingerprint", line)
	return k.Fingerprint
}

// keys returns the public keys of r. Those that are no longer valid are left out.
func (r *record) keys() (list []Key) {
	for _, line := range r.Keys {
		if k, _, err := parseKey("auth.keys", line); err == nil {
			list = append(list, k)
		}
	}
	return list
}

// keysFault explains what is wrong with the keys of r; "" for nothing.
func (r *record) keysFault() string {
	if len(r.Keys) > maxKeys {
		return fmt.Sprintf("account %q: %d public keys, the limit is %d", r.Name, len(r.Keys), maxKeys)
	}
	for _, line := range r.Keys {
		if _, _, err := parseKey("auth.keys", line); err != nil {
			return fmt.Sprintf("account %q: %s", r.Name, pfs.Detail(err))
		}
	}
	return ""
}

// hasKey reports whether one of the keys of r has the fingerprint. It is called for every request, so it does not parse the
// keys, which were checked when they were read.
func (r *record) hasKey(fingerprint string) bool {
	return slices.ContainsFunc(r.Keys, func(line string) bool {
		fields := strings.SplitN(line, " ", 3)
		if len(fields) < 2 {
			return false
		}
		blob, err := base64.StdEncoding.DecodeString(fields[1])
		sum := sha256.Sum256(blob)
		return err == nil && "SHA256:"+base64.RawStdEncoding.EncodeToString(sum[:]) == fingerprint
	})
}

// Keys returns the public keys of the account name.
func (a *Accounts) Keys(name string) ([]Key, error) {
	r, ok := a.viewNow().find(name)
	if !ok {
		return nil, notFound("auth.Keys", name)
	}
	return r.keys(), nil
}

// AddKey adds a public key, a line as in a .pub file, to the account name. It answers Exist if the account has it.
func (a *Accounts) AddKey(ctx context.Context, name, line string) (Key, error) {
	const op = "auth.AddKey"
	k, canonical, err := parseKey(op, line)
	if err != nil {
		return Key{}, err
	}
	return k, a.updateOne(ctx, op, name, func(_ *table, r *record) error {
		switch {
		case r.hasKey(k.Fingerprint):
			return pfs.Errorf(op, "", pfs.Exist, "the account has the key %s", k.Fingerprint)
		case len(r.Keys) >= maxKeys:
			return pfs.Errorf(op, "", pfs.Limit, "the account has %d keys, which is the limit: remove one", maxKeys)
		}
		r.Keys = append(slices.Clip(r.Keys), canonical)
		return nil
	})
}

// RemoveKey removes a public key from the account name. It ends the connections that were opened with it.
func (a *Accounts) RemoveKey(ctx context.Context, name, fingerprint string) error {
	const op = "auth.RemoveKey"
	return a.updateOne(ctx, op, name, func(_ *table, r *record) error {
		kept := slices.DeleteFunc(slices.Clone(r.Keys), func(line string) bool {
			k, _, err := parseKey(op, line)
			return err == nil && k.Fingerprint == fingerprint
		})
		if len(kept) == len(r.Keys) {
			return pfs.Errorf(op, "", pfs.NotExist, "the account has no key %.100q", fingerprint)
		}
		r.Keys = kept
		return nil
	})
}

// AuthenticateKey returns the grant of a user who has proved to own the public key with a fingerprint. The answer is
// the same whether the account does not exist or does not have the key.
func (s *Service) AuthenticateKey(ctx context.Context, user, fingerprint string) (Grant, error) {
	const op = "auth.AuthenticateKey"
	if err := pfs.CheckContext(ctx, op, ""); err != nil {
		return Grant{}, err
	}
	r, ok := s.accounts.viewNow().find(user)
	if !ok || !r.hasKey(fingerprint) {
		return Grant{}, pfs.Errorf(op, "", pfs.Unauthenticated, "wrong user name or public key")
	}
	return Grant{Account: r.account(), Key: fingerprint}, nil
}
