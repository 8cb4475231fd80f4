package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Link lets everybody who has its token read one file or directory with the rights of its user, until it expires.
type Link struct {
	ID         string    `json:"-"` // identifies it among the links of its user
	Token      string    `json:"-"` // goes into the address
	User       string    `json:"user"`
	Generation string    `json:"generation"` // of the account when the link was made
	Path       pfs.Path  `json:"path"`
	Created    time.Time `json:"created"`
	Expires    time.Time `json:"expires"`
}

const (
	// MaxLinkLife is the longest life of a link.
	MaxLinkLife = 90 * 24 * time.Hour
	// MaxLinks is the number of links that a user may have.
	MaxLinks = 200

	maxLinkFile = 8192 // longer than a path, each byte escaped
	linkPart    = 16   // bytes of each part of a token
)

// linkToken is a token: the locator of its user's directory, a random ID, and a signature of both.
type linkToken [3 * linkPart]byte

func (t *linkToken) signed() []byte { return t[:2*linkPart] }
func (t *linkToken) dir() string    { return hex.EncodeToString(t[:linkPart]) }
func (t *linkToken) id() string     { return hex.EncodeToString(t[linkPart : 2*linkPart]) }
func (t *linkToken) String() string { return base64.RawURLEncoding.EncodeToString(t[:]) }

// linkToken returns the token of the link id of a user.
func (s *Service) linkToken(user string, id []byte) (t linkToken) {
	sum := sha256.Sum256([]byte(user))
	copy(t[:], sum[:linkPart])
	copy(t[linkPart:], id)
	copy(t[2*linkPart:], s.signLink(t.signed()))
	return t
}

// signLink signs with a key that is made of the service's key, so every replica makes the same signature.
func (s *Service) signLink(p []byte) []byte {
	key := hmac.New(sha256.New, s.signer.key)
	key.Write([]byte("share links"))
	h := hmac.New(sha256.New, key.Sum(nil))
	h.Write(p)
	return h.Sum(nil)[:linkPart]
}

// MakeLink makes a link of the user of g to name, which lasts for life.
func (s *Service) MakeLink(ctx context.Context, g Grant, name pfs.Path, life time.Duration) (Link, error) {
	const op = "auth.MakeLink"
	if life <= 0 || life > MaxLinkLife {
		return Link{}, pfs.Errorf(op, name, pfs.Invalid, "a link lasts for at most %d days", MaxLinkLife/(24*time.Hour))
	}
	links, err := s.Links(ctx, g.Name)
	if err != nil {
		return Link{}, err
	}
	if len(links) >= MaxLinks {
		return Link{}, pfs.Errorf(op, name, pfs.Limit, "you have %d links: revoke some", len(links))
	}
	id := make([]byte, linkPart)
	rand.Read(id)
	t := s.linkToken(g.Name, id)
	now := s.opts.Now()
	l := Link{
		ID: t.id(), Token: t.String(), User: g.Name, Generation: g.Generation, Path: name,
		Created: now.Truncate(time.Second), Expires: now.Add(life).Truncate(time.Second),
	}
	data, err := json.Marshal(l)
	if err != nil {
		return Link{}, fileError(op, err)
	}
	for _, dir := range []string{s.links, filepath.Join(s.links, t.dir())} {
		if err := makeDir(dir); err != nil {
			return Link{}, fileError(op, err)
		}
	}
	return l, fileError(op, writeFile(filepath.Join(s.links, t.dir(), t.id()), data))
}

// Links returns the links of a user that are valid, the newest first. It removes the others.
func (s *Service) Links(ctx context.Context, user string) ([]Link, error) {
	const op = "auth.Links"
	none := s.linkToken(user, nil)
	dir := filepath.Join(s.links, none.dir())
	var links []Link
	err := eachEntry(dir, func(e fs.DirEntry) error {
		if err := pfs.CheckContext(ctx, op, ""); err != nil {
			return err
		}
		id, err := hex.DecodeString(e.Name())
		if err != nil || len(id) != linkPart {
			return nil // unfinished
		}
		l, err := s.readLink(op, s.linkToken(user, id))
		switch {
		case errors.Is(err, pfs.NotExist):
			return removedIsFine(op, os.Remove(filepath.Join(dir, e.Name())))
		case err == nil:
			links = append(links, l)
		}
		return err
	})
	slices.SortFunc(links, func(a, b Link) int { return b.Created.Compare(a.Created) })
	return links, fileError(op, err)
}

// RevokeLink ends the link id of a user.
func (s *Service) RevokeLink(_ context.Context, user, id string) (Link, error) {
	const op = "auth.RevokeLink"
	b, err := hex.DecodeString(id)
	if err != nil || len(b) != linkPart {
		return Link{}, noLink(op)
	}
	t := s.linkToken(user, b)
	l, err := s.readLink(op, t)
	if err != nil {
		return Link{}, err
	}
	dir := filepath.Join(s.links, t.dir())
	if err := removedIsFine(op, os.Remove(filepath.Join(dir, t.id()))); err != nil {
		return Link{}, err
	}
	return l, removedIsFine(op, syncDir(dir))
}

// OpenLink returns the link with a token, and the grant of its user. The answer is the same for tokens that are invalid, expired
// or revoked, and for tokens of accounts that were removed or have changed their password or role.
func (s *Service) OpenLink(ctx context.Context, token string) (Link, Grant, error) {
	const op = "auth.OpenLink"
	if err := pfs.CheckContext(ctx, op, ""); err != nil {
		return Link{}, Grant{}, err
	}
	var t linkToken
	if len(token) != base64.RawURLEncoding.EncodedLen(len(t)) {
		return Link{}, Grant{}, noLink(op)
	}
	if _, err := base64.RawURLEncoding.Strict().Decode(t[:], []byte(token)); err != nil || !hmac.Equal(t[2*linkPart:], s.signLink(t.signed())) {
		return Link{}, Grant{}, noLink(op)
	}
	l, err := s.readLink(op, t)
	if err != nil {
		return Link{}, Grant{}, err
	}
	account, err := s.accountOfGeneration(op, l.User, l.Generation)
	if err != nil { // it was removed meanwhile
		return Link{}, Grant{}, noLink(op)
	}
	return l, Grant{Account: account}, nil
}

// readLink returns the link of a token whose signature is right.
func (s *Service) readLink(op string, t linkToken) (l Link, err error) {
	data, _, err := readSecret(op, filepath.Join(s.links, t.dir(), t.id()), maxLinkFile)
	if errors.Is(err, fs.ErrNotExist) {
		return l, noLink(op)
	}
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return l, pfs.Errorf(op, "", pfs.Invalid, "the record of a link is not valid: %w", err)
	}
	l.ID, l.Token = t.id(), t.String()
	if !s.opts.Now().Before(l.Expires) {
		return l, noLink(op)
	}
	if _, err := s.accountOfGeneration(op, l.User, l.Generation); err != nil {
		return l, noLink(op)
	}
	return l, nil
}

func noLink(op string) error {
	return pfs.Errorf(op, "", pfs.NotExist, "this link is not valid, has expired, or was revoked")
}

// sweepLinks removes the files of links that have ended.
func (s *Service) sweepLinks(ctx context.Context, op string) (n int, err error) {
	err = eachEntry(s.links, func(user fs.DirEntry) error {
		return eachEntry(filepath.Join(s.links, user.Name()), func(e fs.DirEntry) error {
			if err := pfs.CheckContext(ctx, op, ""); err != nil {
				return err
			}
			if !s.ended(op, user.Name(), e) {
				return nil
			}
			n++
			return removedIsFine(op, os.Remove(filepath.Join(s.links, user.Name(), e.Name())))
		})
	})
	return n, fileError(op, err)
}

// ended reports whether a file of a link can be removed. Unreadable and foreign files stay.
func (s *Service) ended(op, user string, e fs.DirEntry) bool {
	if strings.HasSuffix(e.Name(), ".new") {
		info, err := e.Info()
		return err == nil && s.opts.Now().Sub(info.ModTime()) > staleTemp
	}
	var t linkToken
	b, err := hex.DecodeString(user + e.Name())
	if err != nil || copy(t[:], b) != len(t.signed()) {
		return false
	}
	_, err = s.readLink(op, t)
	return errors.Is(err, pfs.NotExist)
}
