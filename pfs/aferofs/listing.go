package aferofs

import (
	"context"
	"io"
	"slices"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// listingBytes bounds the names kept for one listing, with what a string
	// costs beside its bytes.
	listingBytes = 2 << 20
	stringBytes  = 16

	// maxListings is the number of listings that need not read their directory
	// again for the next page.
	maxListings = 8
)

// listing is a stretch of the names in a directory, sorted. It is not changed once
// it is made, so a token that lies in it can be used any number of times.
type listing struct {
	id    string
	after string // the stretch begins behind this name
	names []string
	more  bool // there are names behind the stretch
}

// covers reports whether the names that come after the name last are known.
func (l *listing) covers(last string) bool {
	if l == nil || last < l.after || len(l.names) == 0 {
		return false
	}
	return !l.more || last < l.names[len(l.names)-1]
}

// behind returns the names that come after the name last.
func (l *listing) behind(last string) []string {
	i, found := slices.BinarySearch(l.names, last)
	if found {
		i++
	}
	return l.names[i:]
}

// read fills l with the first names of r that come after l.after: as many as
// listingBytes allow. Twice that is in memory meanwhile.
func (l *listing) read(ctx context.Context, op string, dir pfs.Path, r *names) error {
	size, end := 0, ""
	for {
		if err := pfs.CheckContext(ctx, op, dir); err != nil {
			return err
		}
		some, err := r.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fail(op, dir, err)
		}
		for _, name := range some {
			if name <= l.after || l.more && name > end {
				continue
			}
			l.names = append(l.names, name)
			size += len(name) + stringBytes
			if size > 2*listingBytes {
				size = l.cut()
				end = l.names[len(l.names)-1]
			}
		}
	}
	l.cut()
	return nil
}

// cut sorts the names and drops the last ones beyond listingBytes. It returns what
// the others take.
func (l *listing) cut() (size int) {
	slices.Sort(l.names)
	for i, name := range l.names {
		if size+len(name)+stringBytes > listingBytes {
			l.more = true
			l.names = slices.Clone(l.names[:i])
			break
		}
		size += len(name) + stringBytes
	}
	return size
}

// listings are the stretches in use, the one used last at the end.
type listings struct {
	mu  sync.Mutex
	all []*listing
}

// get returns the stretch kept for a listing, nil if there is none.
func (ls *listings) get(id string) *listing {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for i, l := range ls.all {
		if l.id == id {
			ls.all = append(slices.Delete(ls.all, i, i+1), l)
			return l
		}
	}
	return nil
}

// put keeps l in place of what was kept for its listing.
func (ls *listings) put(l *listing) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.all = slices.DeleteFunc(ls.all, func(old *listing) bool { return old.id == l.id })
	if len(ls.all) == maxListings {
		ls.all = slices.Delete(ls.all, 0, 1)
	}
	ls.all = append(ls.all, l)
}
