package sftpfs

import (
	"context"
	"encoding/base64"
	"errors"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// maxListings is the number of directories that stay open between pages.
const maxListings = 64

// listing is a directory that is open between two pages.
type listing struct {
	c       *connection
	handle  string
	pending []entry // read and not yet returned
	last    string  // the name of the last entry that was returned
	used    time.Time
}

// List returns a page of the entries of dir, in the order of the server.
func (s *store) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (page pfs.Page, err error) {
	const op = "sftpfs.List"
	if err := pfs.CheckPath(op, dir); err != nil {
		return page, err
	}
	err = s.call(ctx, op, dir, func(c *connection) error {
		l, err := s.listing(ctx, c, op, dir, opts.Token)
		if err != nil {
			return err
		}
		for len(page.Entries)+len(page.Unnamed) < opts.Max() {
			e, err := l.next(ctx, op, dir)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				l.close()
				return err
			}
			switch {
			case pfs.IsTemp(e.name, e.attrs.FileMode()):
			case pfs.CheckName(e.name) != "":
				page.Unnamed = append(page.Unnamed, strconv.Quote(e.name))
			default:
				page.Entries = append(page.Entries, s.info(c, dir.Join(e.name), e.attrs))
			}
		}
		page.Next = s.keep(l, dir)
		return nil
	})
	return page, err
}

// listing returns the listing that token continues, or a new one.
func (s *store) listing(ctx context.Context, c *connection, op string, dir pfs.Path, token string) (*listing, error) {
	id, of, last, err := parseToken(token)
	if err != nil || token != "" && of != hashOf(dir) {
		return nil, pfs.Errorf(op, dir, pfs.Conflict, "the token is not of this directory: list it from the start")
	}
	s.mu.Lock()
	l := s.listings[id]
	delete(s.listings, id)
	s.mu.Unlock()
	if l != nil && l.c == c {
		return l, nil
	}
	info, err := s.find(c, op, dir)
	switch {
	case err != nil:
		return nil, err
	case info.IsLink():
		return nil, pfs.E(op, dir, pfs.Symlink, nil)
	case !info.IsDir():
		return nil, pfs.E(op, dir, pfs.NotDir, nil)
	}
	l = &listing{c: c}
	if l.handle, err = c.dirs.open(s.at(dir)); err != nil {
		return nil, err
	}
	for token != "" && l.last != last {
		_, err := l.next(ctx, op, dir)
		if err == io.EOF {
			err = pfs.Errorf(op, dir, pfs.Conflict, "the last entry of the page before is gone: list the directory from the start")
		}
		if err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

// next returns the next entry.
func (l *listing) next(ctx context.Context, op string, dir pfs.Path) (e entry, err error) {
	for len(l.pending) == 0 {
		if err := pfs.CheckContext(ctx, op, dir); err != nil {
			return e, err
		}
		if l.pending, err = l.c.dirs.next(l.handle); err != nil {
			if err == io.EOF {
				l.close()
			}
			return e, err
		}
	}
	e, l.pending = l.pending[0], l.pending[1:]
	l.last = e.name
	return e, nil
}

// each calls do with every entry of dir, temporaries included.
func (s *store) each(ctx context.Context, c *connection, op string, dir pfs.Path, do func(e entry) error) error {
	l, err := s.listing(ctx, c, op, dir, "")
	if err != nil {
		return err
	}
	for {
		e, err := l.next(ctx, op, dir)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = do(e)
		}
		if err != nil {
			l.close()
			return err
		}
	}
}

func (l *listing) close() {
	if !l.c.lost.Load() {
		l.c.dirs.close(l.handle)
	}
}

// keep keeps l for the next page, and returns its token. It closes the listing that was not used for
// the longest time if there are too many.
func (s *store) keep(l *listing, dir pfs.Path) string {
	id := pfs.NewID()
	l.used = time.Now()
	var oldest string
	var closing *listing
	s.mu.Lock()
	s.listings[id] = l
	if len(s.listings) > maxListings {
		for id, l := range s.listings {
			if closing == nil || l.used.Before(closing.used) {
				oldest, closing = id, l
			}
		}
		delete(s.listings, oldest)
	}
	s.mu.Unlock()
	if closing != nil {
		closing.close()
	}
	return strings.Join([]string{id, hashOf(dir), base64.RawURLEncoding.EncodeToString([]byte(l.last))}, ".")
}

// parseToken returns the ID of a listing, the hash of its directory and the name of its last entry.
func parseToken(token string) (id, of, last string, err error) {
	if token == "" {
		return "", "", "", nil
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", "", "", errors.New("not a token")
	}
	name, err := base64.RawURLEncoding.DecodeString(parts[2])
	return parts[0], parts[1], string(name), err
}

func hashOf(dir pfs.Path) string {
	h := fnv.New64a()
	io.WriteString(h, string(dir))
	return strconv.FormatUint(h.Sum64(), 36)
}
