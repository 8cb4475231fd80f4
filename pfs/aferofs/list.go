package aferofs

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
)

// List returns a page of the entries of dir, sorted by name. The token is the last name of
// the page before, encoded because it need not be UTF-8.
func (s *store) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	const op = "aferofs.List"
	if err := begin(ctx, op, dir); err != nil {
		return pfs.Page{}, err
	}
	last, err := base64.RawURLEncoding.DecodeString(opts.Token)
	if err != nil {
		return pfs.Page{}, pfs.Errorf(op, dir, pfs.Conflict, "the page token is not one of this listing: list from the start")
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	limit := opts.Max()
	names, err := s.namesBehind(ctx, op, dir, string(last), limit+1)
	if err != nil {
		return pfs.Page{}, err
	}
	var page pfs.Page
	if len(names) > limit {
		names = names[:limit]
		page.Next = base64.RawURLEncoding.EncodeToString([]byte(names[limit-1]))
	}
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

// namesBehind returns the first n names in dir that come after last, sorted.
func (s *store) namesBehind(ctx context.Context, op string, dir pfs.Path, last string, n int) ([]string, error) {
	if err := s.findDir(op, dir); err != nil {
		return nil, err
	}
	var names []string
	cut := func() {
		slices.Sort(names)
		names = names[:min(n, len(names))]
	}
	err := s.eachName(ctx, op, dir, func(name string) error {
		if name > last {
			names = append(names, name)
		}
		if len(names) == 2*n {
			cut()
		}
		return nil
	})
	cut()
	return names, err
}

// isTemp reports whether an entry is the temporary of an upload.
func isTemp(name string, fi fs.FileInfo) bool { return !fi.IsDir() && pfs.IsTemp(name, fi.Mode()) }

// eachName calls do for every name in dir, temporaries included, until it fails. The lock
// is held: a directory in memory counts its entries, and would skip some if others went.
func (s *store) eachName(ctx context.Context, op string, dir pfs.Path, do func(name string) error) error {
	d, err := s.afs.Open(nameOf(dir))
	if err != nil {
		return fail(op, dir, err)
	}
	defer d.Close()
	for {
		if err := pfs.CheckContext(ctx, op, dir); err != nil {
			return err
		}
		names, err := d.Readdirnames(pfs.MaxPage)
		for _, name := range names {
			if err := do(name); err != nil {
				return err
			}
		}
		if err == io.EOF || err == nil && len(names) == 0 {
			return nil
		}
		if err != nil {
			return fail(op, dir, err)
		}
	}
}
