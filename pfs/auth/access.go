package auth

import (
	"crypto/rand"
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/paddlecloud/pfs/pfs"
)

const (
	// maxAccess bounds an access token, in bytes, before it is parsed.
	maxAccess = 4096
	// leeway is how much the clocks of replicas may differ.
	leeway = 30 * time.Second
)

// claims is the content of an access token.
type claims struct {
	jwt.RegisteredClaims
	Generation string `json:"gen"`
	Session    string `json:"sid,omitempty"`
}

// signer makes and checks access tokens.
type signer struct {
	key    []byte
	life   time.Duration
	now    func() time.Time
	parser *jwt.Parser
}

func newSigner(key []byte, life time.Duration, now func() time.Time) *signer {
	return &signer{key: key, life: life, now: now, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithStrictDecoding(),
		jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(),
		jwt.WithLeeway(leeway),
		jwt.WithTimeFunc(now),
	)}
}

// issue makes a token for the account, in a session or in none, and returns its expiry.
func (s *signer) issue(a Account, session string) (token string, expires time.Time, err error) {
	now := s.now()
	expires = now.Add(s.life).Truncate(time.Second)
	token, err = jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject:   a.Name,
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(expires),
			ID:        rand.Text(),
		},
		Generation: a.Generation,
		Session:    session,
	}).SignedString(s.key)
	if err != nil {
		return "", time.Time{}, pfs.E("auth.issue", "", pfs.Other, err)
	}
	return token, expires, nil
}

// check returns the content of a token that was signed here and has not expired.
func (s *signer) check(op, token string) (claims, error) {
	var c claims
	if len(token) > maxAccess {
		return claims{}, pfs.Errorf(op, "", pfs.Unauthenticated, "access token of %d bytes: log in again", len(token))
	}
	_, err := s.parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return s.key, nil })
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return claims{}, pfs.Errorf(op, "", pfs.Unauthenticated, "the access token has expired: refresh it, or log in again")
	case err != nil, c.Subject == "", c.Generation == "":
		return claims{}, pfs.Errorf(op, "", pfs.Unauthenticated, "the access token is not valid here: log in again")
	}
	return c, nil
}
