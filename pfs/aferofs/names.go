package aferofs

import (
	"io"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
	"github.com/spf13/afero/mem"
)

// names reads the names in a directory, a bounded number at a time.
type names struct {
	dir  afero.File
	rest []string // read already, and not yet returned
}

// openNames begins to read the directory real. The lock must be held for that, not
// for reading on.
//
// A directory of afero's memory is read at once: its reader counts entries, so
// that it would miss some, or panic, when others are removed on the way. All of it
// is in memory anyway.
func (s *store) openNames(real string) (*names, error) {
	dir, err := s.afs.Open(real)
	if err != nil {
		return nil, err
	}
	r := &names{dir: dir}
	if inMemory(dir) {
		if r.rest, err = dir.Readdirnames(-1); err != nil {
			dir.Close()
			return nil, err
		}
	}
	return r, nil
}

// inMemory reports whether f belongs to an afero.MemMapFs.
func inMemory(f afero.File) bool {
	for {
		switch g := f.(type) {
		case *mem.File:
			return true
		case *afero.BasePathFile:
			f = g.File
		default:
			return false
		}
	}
}

// next returns more names, or io.EOF.
func (r *names) next() ([]string, error) {
	if rest := r.rest; len(rest) > 0 {
		r.rest = nil
		return rest, nil
	}
	if inMemory(r.dir) {
		return nil, io.EOF
	}
	some, err := r.dir.Readdirnames(pfs.MaxPage)
	if len(some) > 0 {
		return some, nil
	}
	if err == nil {
		err = io.EOF
	}
	return nil, err
}

func (r *names) close() { r.dir.Close() }
