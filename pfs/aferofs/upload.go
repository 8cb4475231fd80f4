package aferofs

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// upload is a staged write that is in use: its temporary, shared by its handles.
type upload struct {
	name  pfs.Path
	id    string
	temp  string      // name of the temporary in afs
	wrote atomic.Bool // something was staged

	mu   sync.Mutex // one access at a time: afero's files keep a place
	file afero.File // nil while not open

	// Guarded by store.mu.
	handles int
	gone    bool      // discarded, swept, or lost with its directory
	done    *pfs.Info // what Commit published; then gone too
}

// upload returns the staged write id of name: one in use, one that was left, or,
// unless it must be there already, a new one. The lock is held.
func (s *store) upload(op string, name pfs.Path, id string, reopen bool) (*upload, error) {
	temp := s.temp(name, id)
	if u := s.uploads[temp]; u != nil {
		return u, nil
	}
	u := &upload{name: name, id: id, temp: temp}
	fi, err := s.lstat(temp)
	switch {
	case errors.Is(err, fs.ErrNotExist) && reopen:
		return nil, pfs.Errorf(op, name, pfs.Conflict, "there is no staged write %s: begin a new one", id)
	case errors.Is(err, fs.ErrNotExist):
		u.file, err = s.afs.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	case err == nil:
		u.wrote.Store(fi.Size() > 0)
		err = s.open(u)
	}
	if err != nil {
		return nil, fail(op, name, err)
	}
	s.uploads[temp] = u
	return u, nil
}

// open opens the temporary again. A Commit that failed may have given it the
// permissions of the file to be, which need not allow that.
func (s *store) open(u *upload) (err error) {
	if err = s.afs.Chmod(u.temp, 0o600); err == nil {
		u.file, err = s.afs.OpenFile(u.temp, os.O_RDWR, 0)
	}
	return err
}

// close closes the temporary, which stays. Whoever uses u next opens it again.
func (u *upload) close() error {
	f := u.file
	if f == nil {
		return nil
	}
	u.file = nil
	return f.Close()
}

// forget takes u out of use. The lock is held.
func (s *store) forget(u *upload) {
	u.gone = true
	if s.uploads[u.temp] == u {
		delete(s.uploads, u.temp)
	}
}
