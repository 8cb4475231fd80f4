package aferofs

import (
	"context"
	"errors"
	"io/fs"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// List returns a page of the entries of dir, sorted by name.
func (s *store) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (page pfs.Page, err error) {
	const op = "aferofs.List"
	if err := begin(ctx, op, dir); err != nil {
		return pfs.Page{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.findDir(op, dir); err != nil {
		return pfs.Page{}, err
	}
	names, next, err := s.names(ctx, op, dir, opts.Token, opts.Max())
	if err != nil {
		return pfs.Page{}, err
	}
	page.Next = next
	for _, name := range names {
		fi, err := s.lstat(nameOf(dir.Join(name)))
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && isTemp(name, fi):
		case pfs.CheckName(name) != "":
			page.Unnamed = append(page.Unnamed, strconv.Quote(name))
		case err != nil:
			return pfs.Page{}, fail(op, dir.Join(name), err)
		default:
			page.Entries = append(page.Entries, s.info(dir.Join(name), fi))
		}
	}
	return page, nil
}

// isTemp reports whether an entry is the temporary of an upload.
func isTemp(name string, fi fs.FileInfo) bool { return !fi.IsDir() && pfs.IsTemp(name, fi.Mode()) }

// names returns a page of the names in dir, temporaries included. The lock is held: a directory in
// memory counts its entries, and would skip some if others went.
func (s *store) names(ctx context.Context, op string, dir pfs.Path, token string, limit int) (names []string, next string, err error) {
	d, err := s.afs.Open(nameOf(dir))
	if err != nil {
		return nil, "", fail(op, dir, err)
	}
	defer d.Close()
	names, next, err = posix.SortedPage(token, limit, func(n int) ([]string, error) {
		if err := pfs.CheckContext(ctx, op, dir); err != nil {
			return nil, err
		}
		return d.Readdirnames(n)
	})
	return names, next, fail(op, dir, err)
}
