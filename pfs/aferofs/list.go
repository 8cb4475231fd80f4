package aferofs

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// List returns a page of the entries of dir, sorted by name.
func (s *store) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	const op = "aferofs.List"
	if err := s.begin(ctx, op, dir); err != nil {
		return pfs.Page{}, err
	}
	id, last, ok := parseToken(opts.Token)
	if !ok {
		return pfs.Page{}, pfs.Errorf(op, dir, pfs.Conflict, "the page token is not one of this listing: list from the start")
	}
	l := s.listings.get(id)
	if !l.covers(last) {
		var err error
		if l, err = s.readListing(ctx, op, dir, id, last); err != nil {
			return pfs.Page{}, err
		}
	}
	return s.page(op, dir, l, last, opts.Max())
}

// A token is the id of a listing and the last name of a page, which need not be
// UTF-8.
func makeToken(id, last string) string {
	return id + "." + base64.RawURLEncoding.EncodeToString([]byte(last))
}

// parseToken returns what makeToken was given; of no token, a new id.
func parseToken(token string) (id, last string, ok bool) {
	if token == "" {
		return pfs.NewID(), "", true
	}
	id, name, ok := strings.Cut(token, ".")
	b, err := base64.RawURLEncoding.DecodeString(name)
	return id, string(b), ok && err == nil && pfs.ValidID(id)
}

// readListing reads the names of dir behind last.
func (s *store) readListing(ctx context.Context, op string, dir pfs.Path, id, last string) (*listing, error) {
	r, err := s.openDir(op, dir)
	if err != nil {
		return nil, err
	}
	defer r.close()
	l := &listing{id: id, after: last}
	return l, l.read(ctx, op, dir, r)
}

// openDir begins to read the names in dir.
func (s *store) openDir(op string, dir pfs.Path) (*names, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.findDir(op, dir); err != nil {
		return nil, err
	}
	r, err := s.openNames(s.real(dir))
	return r, fail(op, dir, err)
}

// page describes up to limit names of l behind last, less those that are gone.
func (s *store) page(op string, dir pfs.Path, l *listing, last string, limit int) (pfs.Page, error) {
	rest := l.behind(last)
	some := rest[:min(limit, len(rest))]
	page, err := s.describe(op, dir, some)
	if err != nil {
		return pfs.Page{}, err
	}
	if len(some) < len(rest) || l.more {
		page.Next = makeToken(l.id, some[len(some)-1])
		s.listings.put(l)
	}
	return page, nil
}

// describe returns what there is of the names in dir.
func (s *store) describe(op string, dir pfs.Path, names []string) (pfs.Page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var page pfs.Page
	if err := s.findDir(op, dir); err != nil {
		return page, err
	}
	for _, name := range names {
		info, err := s.lstat(s.real(dir.Join(name)))
		if errors.Is(err, fs.ErrNotExist) || err == nil && s.isTemp(name, info) {
			continue
		}
		if s.checkName(name) != "" {
			page.Unnamed = append(page.Unnamed, strconv.Quote(name))
			continue
		}
		if err != nil {
			return pfs.Page{}, fail(op, dir.Join(name), err)
		}
		page.Entries = append(page.Entries, s.info(dir.Join(name), info))
	}
	return page, nil
}
