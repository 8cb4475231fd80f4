package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
)

// Account returns a grant for the account name, for gateways that identify users by other means.
func (s *Service) Account(name string) (Grant, error) {
	account, err := s.accounts.Get(name)
	return Grant{Account: account}, err
}

// ByHDFSUser returns a grant for the only account with that user on HDFS. It answers NotExist if there is none or several.
func (s *Service) ByHDFSUser(user string) (Grant, error) {
	const op = "auth.ByHDFSUser"
	var found *Account
	for _, a := range s.accounts.List() {
		if a.HDFSUser != user {
			continue
		}
		if found != nil {
			return Grant{}, pfs.Errorf(op, "", pfs.NotExist, "several accounts have the HDFS user %q", user)
		}
		found = &a
	}
	if found == nil {
		return Grant{}, notFound(op, user)
	}
	return Grant{Account: *found}, nil
}

// Sign returns a signature of message for the account of g, which only the replicas of this service can make. The signature
// becomes invalid when the account is removed or its password or role changes. purpose separates the signatures of different
// parts of the service.
func (s *Service) Sign(purpose string, g Grant, message []byte) []byte {
	derive := func(key []byte, label string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(label))
		return h.Sum(nil)
	}
	key := derive(derive(derive(s.signer.key, "sign"), purpose), g.Name+"\x00"+g.Generation)
	return derive(key, string(message))
}

// Delegate begins a session of a user who was authenticated before, for programs that act for the user.
func (s *Service) Delegate(ctx context.Context, g Grant) (Tokens, error) {
	const op = "auth.Delegate"
	if err := pfs.CheckContext(ctx, op, ""); err != nil {
		return Tokens{}, err
	}
	return s.begin(op, g.Account)
}

// AuthenticateDelegated returns the user of a session by its refresh token.
func (s *Service) AuthenticateDelegated(ctx context.Context, refresh string) (Grant, error) {
	const op = "auth.AuthenticateDelegated"
	if err := pfs.CheckContext(ctx, op, ""); err != nil {
		return Grant{}, err
	}
	token, ok := parseRefresh(refresh)
	if !ok {
		return Grant{}, pfs.Errorf(op, "", pfs.Unauthenticated, "not a refresh token: log in again")
	}
	r, err := s.readSession(op, token.path(s.refresh.dir))
	if err != nil {
		return Grant{}, err
	}
	account, err := s.accountOfGeneration(op, r.User, r.Generation)
	return Grant{Account: account, Session: token.session(), Expires: r.Expires}, err
}

// CheckSession answers Unauthenticated if the session of g has ended. Check does not look at it, because an access token
// outlasts a logout.
func (s *Service) CheckSession(g Grant) error {
	if g.Session == "" {
		return nil
	}
	_, err := s.readSession("auth.CheckSession", sessionPath(s.refresh.dir, g.Name, g.Session))
	return err
}

// readSession returns the record of a session that has not ended.
func (s *Service) readSession(op, path string) (refreshRecord, error) {
	r, err := readRefresh(op, path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !s.opts.Now().Before(r.Expires) {
		err = pfs.Errorf(op, "", pfs.Unauthenticated, "the session has ended or was logged out: log in again")
	}
	return r, err
}
