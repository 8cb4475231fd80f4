package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	refreshUserLen   = 16 // bytes of a refresh token that locate its user's directory
	refreshSecretLen = 32 // random bytes
	maxRefreshFile   = 4096
)

// refreshToken is a token as the user has it: a locator and the secret.
type refreshToken [refreshUserLen + refreshSecretLen]byte

func newRefreshToken(user string) (t refreshToken) {
	sum := sha256.Sum256([]byte(user))
	copy(t[:], sum[:refreshUserLen])
	rand.Read(t[refreshUserLen:])
	return t
}

// parseRefresh parses the result of String.
func parseRefresh(s string) (t refreshToken, ok bool) {
	if len(s) != base64.RawURLEncoding.EncodedLen(len(t)) {
		return t, false
	}
	n, err := base64.RawURLEncoding.Strict().Decode(t[:], []byte(s))
	return t, err == nil && n == len(t)
}

func (t refreshToken) String() string { return base64.RawURLEncoding.EncodeToString(t[:]) }

// session returns the name of the session, which does not tell the secret.
func (t refreshToken) session() string {
	sum := sha256.Sum256(t[:])
	return hex.EncodeToString(sum[:])
}

// path returns the token's file below dir, named by the session.
func (t refreshToken) path(dir string) string {
	return filepath.Join(dir, hex.EncodeToString(t[:refreshUserLen]), t.session())
}

// sessionPath is path for a session of which only the user and the name are known.
func sessionPath(dir, user, session string) string {
	sum := sha256.Sum256([]byte(user))
	return filepath.Join(dir, hex.EncodeToString(sum[:refreshUserLen]), session)
}

// refreshRecord is the stored form of a refresh token. The modification time of the file is the
// time of last use: setting it cannot restore a file that a logout removes at the same moment.
type refreshRecord struct {
	User       string    `json:"user"`
	Generation string    `json:"generation"`
	Created    time.Time `json:"created"`
	Expires    time.Time `json:"expires"`
}

// refreshStore stores refresh tokens, in one directory for each user.
type refreshStore struct {
	dir  string
	most int // maximum tokens of one user

	syncDir func(dir string) error
}

// add stores a new token and removes the user's least recently used ones beyond the maximum.
func (s *refreshStore) add(op string, t refreshToken, r refreshRecord) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fileError(op, err)
	}
	path := t.path(s.dir)
	if err := s.trim(filepath.Dir(path), s.most-1); err != nil {
		return fileError(op, err)
	}
	for _, dir := range []string{s.dir, filepath.Dir(path)} {
		if err := makeDir(dir); err != nil {
			return fileError(op, err)
		}
	}
	if err := writeFile(path, data); err != nil {
		return fileError(op, err)
	}
	return fileError(op, os.Chtimes(path, r.Created, r.Created))
}

// get returns the record of a token, or an error that matches fs.ErrNotExist.
func (s *refreshStore) get(op string, t refreshToken) (refreshRecord, error) {
	return readRefresh(op, t.path(s.dir))
}

func readRefresh(op, path string) (refreshRecord, error) {
	var r refreshRecord
	data, _, err := readSecret(op, path, maxRefreshFile)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, pfs.Errorf(op, "", pfs.Invalid, "%s: %w", path, err)
	}
	return r, nil
}

// used records that a token was used at now.
func (s *refreshStore) used(op string, t refreshToken, now time.Time) error {
	return removedIsFine(op, os.Chtimes(t.path(s.dir), now, now))
}

// remove durably removes a token. A missing token is not an error.
func (s *refreshStore) remove(op string, t refreshToken) error {
	path := t.path(s.dir)
	if err := removedIsFine(op, os.Remove(path)); err != nil {
		return err
	}
	return removedIsFine(op, s.syncDir(filepath.Dir(path)))
}

func removedIsFine(op string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fileError(op, err)
}
