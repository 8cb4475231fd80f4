// Package gateway has common code of the gateways of other protocols (SFTP, WebHDFS, WebDAV, web pages): user sessions,
// and operations of their protocols that pfs.FileSystem lacks.
package gateway

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// Session is the access of one user; server.Session is one.
type Session interface {
	User() auth.Identity
	// FS returns the tree as the user sees it. It is used within Do or Change.
	FS() pfs.FileSystem
	// Check returns an error if the user's credentials are no longer valid.
	Check() error
	// Do executes one request of the user, in the user's share of slots and turns. do must not wait for the
	// client, and must not call Do.
	Do(ctx context.Context, method string, do func(ctx context.Context) error) error
	// Change is Do for a request that changes something. fields, such as "path" and a path, are for its audit line.
	Change(ctx context.Context, method string, do func(ctx context.Context) error, fields ...any) error
	// Turn waits for the user's turn to use a processor, for computations outside Do, such as decryption. The next turn
	// starts after a millisecond at the latest. The caller calls end once.
	Turn(ctx context.Context) (end func(), err error)
	// Transfer waits for a slot for a body or a file in transit, which has a buffer. The caller calls end once.
	Transfer(ctx context.Context) (end func(), err error)
	// Audit writes an audit line about an event that is not a single Change.
	Audit(ctx context.Context, method string, err error, fields ...any)
	// Moved counts bytes that were received and sent.
	Moved(received, sent int64)
	Close()
}

// Open begins a session of a user at the address remote. ctx is for this call only.
type Open func(ctx context.Context, g auth.Grant, remote string) (Session, error)

// Authenticator authenticates users; auth.Service is one.
type Authenticator interface {
	Authenticate(ctx context.Context, user, password, remote string) (auth.Grant, error)
	AuthenticateToken(ctx context.Context, access string) (auth.Grant, error)
}

// Authenticate authenticates a request by the name and the password of a user (Basic), or by an access token (Bearer), which it
// reports. refused is called when a password is refused.
func Authenticate(r *http.Request, a Authenticator, refused func(ctx context.Context, user, remote string, err error)) (g auth.Grant, byToken bool, err error) {
	if user, password, ok := r.BasicAuth(); ok {
		g, err = a.Authenticate(r.Context(), user, password, r.RemoteAddr)
		if err != nil {
			refused(r.Context(), user, r.RemoteAddr, err)
		}
		return g, false, err
	}
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		g, err = a.AuthenticateToken(r.Context(), token)
		return g, true, err
	}
	return g, false, pfs.Errorf("gateway.Authenticate", "", pfs.Unauthenticated, "the request has neither a user's name and password (Basic) nor an access token (Bearer)")
}

// Step is the number of bytes that are moved in one turn, and a good length of a buffer.
const Step = 256 << 10

// ReadAt reads from f in the user's turns. f is a pfs.File, a pfs.Handle or a pfs.Staged.
func ReadAt(ctx context.Context, s Session, f interface {
	ReadAt(ctx context.Context, p []byte, off int64) (int, error)
}, p []byte, off int64) (done int, err error) {
	for done < len(p) && err == nil {
		var n int
		var end bool
		err = s.Do(ctx, "read", func(ctx context.Context) error {
			return pfs.InTurn(ctx, func() (err error) {
				n, err = f.ReadAt(ctx, p[done:min(len(p), done+Step)], off+int64(done))
				if end = errors.Is(err, io.EOF); end {
					return nil
				}
				return err
			})
		})
		done += n
		if end {
			err = io.EOF
		}
	}
	s.Moved(0, int64(done))
	return done, err
}

// WriteAt writes to f in the user's turns. f is a pfs.Handle or a pfs.Staged.
func WriteAt(ctx context.Context, s Session, f interface {
	WriteAt(ctx context.Context, p []byte, off int64) (int, error)
}, p []byte, off int64) (done int, err error) {
	for done < len(p) && err == nil {
		var n int
		err = s.Do(ctx, "write", func(ctx context.Context) error {
			return pfs.InTurn(ctx, func() (err error) {
				n, err = f.WriteAt(ctx, p[done:min(len(p), done+Step)], off+int64(done))
				return err
			})
		})
		done += n
	}
	s.Moved(int64(done), 0)
	return done, err
}

// MakeDir makes a directory that must not exist. Two calls at the same time may both succeed.
func MakeDir(ctx context.Context, fsys pfs.FileSystem, name pfs.Path, mode fs.FileMode) error {
	if err := absent(ctx, "gateway.MakeDir", fsys, name); err != nil {
		return err
	}
	return fsys.Mkdir(ctx, name, mode)
}

// RenameNew renames without replacing. Where the store cannot do that atomically, it looks first.
func RenameNew(ctx context.Context, fsys pfs.FileSystem, oldName, newName pfs.Path) error {
	err := pfs.RenameExclusive(ctx, fsys, oldName, newName)
	if !errors.Is(err, pfs.Unsupported) {
		return err
	}
	if err := absent(ctx, "gateway.RenameNew", fsys, newName); err != nil {
		return err
	}
	return fsys.Rename(ctx, oldName, newName)
}

// Commit publishes the upload w of name. Where the store does not have opts.NoReplace, it looks first.
func Commit(ctx context.Context, fsys pfs.FileSystem, name pfs.Path, w pfs.Staged, opts pfs.CommitOptions) (pfs.Info, error) {
	info, err := w.Commit(ctx, opts)
	if !opts.NoReplace || !errors.Is(err, pfs.Unsupported) {
		return info, err
	}
	if err := absent(ctx, "gateway.Commit", fsys, name); err != nil {
		return pfs.Info{}, err
	}
	opts.NoReplace = false
	return w.Commit(ctx, opts)
}

// WriteFile makes the small file e, as WriteBatch does. Where the store does not have e.NoReplace, it looks first.
func WriteFile(ctx context.Context, fsys pfs.FileSystem, e pfs.BatchEntry) error {
	write := func() error { return pfs.WriteBatch(ctx, fsys, []pfs.BatchEntry{e})[0] }
	err := write()
	if !e.NoReplace || !errors.Is(err, pfs.Unsupported) {
		return err
	}
	if err := absent(ctx, "gateway.WriteFile", fsys, e.Path); err != nil {
		return err
	}
	e.NoReplace = false
	return write()
}

// absent answers Exist if something has the name.
func absent(ctx context.Context, op string, fsys pfs.FileSystem, name pfs.Path) error {
	_, err := fsys.Stat(ctx, name)
	switch {
	case err == nil:
		return pfs.E(op, name, pfs.Exist, nil)
	case errors.Is(err, pfs.NotExist):
		return nil
	}
	return err
}

// Scheme returns the scheme by which the client reached the service: that of the connection, or "https" if a proxy that ended TLS says
// so in X-Forwarded-Proto.
func Scheme(r *http.Request) string {
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		return "https"
	}
	return "http"
}

// ETag returns the entity tag of HTTP for a file or directory, in quotes. It is weak where the store has no versions.
func ETag(info pfs.Info) string {
	if info.Version != "" {
		return strconv.QuoteToASCII(info.Version)
	}
	return "W/" + strconv.Quote(strconv.FormatInt(info.ModTime.UnixNano(), 36)+"-"+strconv.FormatInt(info.Size, 36))
}
