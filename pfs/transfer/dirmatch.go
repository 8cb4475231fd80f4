package transfer

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/paddlecloud/pfs/pfs"
)

// entry is an entry of a directory, and what the other directory has of that name.
type entry struct {
	info   pfs.Info
	old    pfs.Info
	exists bool
}

// dirMatcher finds the entries of directory a in directory b, in bounded memory and
// whatever the order of the listings. It reads a window of entries of a, lists all of b
// to find them there, and goes on with the next window. It lists b again only if there is
// no room for a table of its other entries.
type dirMatcher struct {
	a       *listing
	b       *End                // nil if there is nothing to compare with
	names   *semaphore.Weighted // entries that all matchers of a job together may hold
	room    *semaphore.Weighted // entries in the tables of all matchers of a job; nil: there are none
	unnamed func(quoted string) // is told names of a that cannot be a Path

	entries []entry    // the window
	carry   []pfs.Info // a page that was too much for the window
	ended   bool       // a has no more pages
	rest    *besides   // what b has besides the windows so far; nil if it must be listed
}

// next makes the next window; it is empty at the end. Drop it before the next.
func (m *dirMatcher) next(ctx context.Context) ([]entry, error) {
	for {
		more, err := m.fill(ctx)
		if err != nil {
			return nil, err
		}
		if len(m.entries) > 0 {
			return m.entries, m.match(ctx)
		}
		if !more {
			return nil, nil
		}
	}
}

// end releases all that is held.
func (m *dirMatcher) end() {
	m.drop()
	m.rest.drop()
}

// drop gives up the window.
func (m *dirMatcher) drop() {
	m.names.Release(int64(len(m.entries)))
	m.entries = nil
}

// fill reads pages of a into the window as long as there is room, but only one if there
// is no b. It reports whether there may be more.
func (m *dirMatcher) fill(ctx context.Context) (bool, error) {
	for {
		page, more, err := m.page(ctx)
		if err != nil || !more {
			m.ended = true
			return false, err
		}
		if !m.hold(ctx, int64(len(page))) {
			m.carry = page
			return true, pfs.CheckContext(ctx, "transfer.List", m.a.name)
		}
		for _, info := range page {
			m.entries = append(m.entries, entry{info: info})
		}
		if m.b == nil {
			return true, nil
		}
	}
}

// page returns the next page of a.
func (m *dirMatcher) page(ctx context.Context) ([]pfs.Info, bool, error) {
	if page := m.carry; page != nil {
		m.carry = nil
		return page, true, nil
	}
	page, more, err := m.a.next(ctx)
	for _, quoted := range page.Unnamed {
		m.unnamed(quoted)
	}
	return page.Entries, more, err
}

// hold reserves room for n more entries. Only an empty window waits for room: another
// one is compared first, which frees it.
func (m *dirMatcher) hold(ctx context.Context, n int64) bool {
	if len(m.entries) > 0 {
		return m.names.TryAcquire(n)
	}
	return m.names.Acquire(ctx, n) == nil
}

// match looks for the entries of the window in b.
func (m *dirMatcher) match(ctx context.Context) error {
	if m.b == nil {
		return nil
	}
	if m.rest != nil {
		for i := range m.entries {
			e := &m.entries[i]
			e.old, e.exists = m.rest.find(e.info.Name)
		}
		return nil
	}
	places := make(map[string]int, len(m.entries))
	for i, e := range m.entries {
		places[e.info.Name] = i
	}
	var rest *besides
	if !m.ended && m.room != nil {
		rest = &besides{room: m.room}
	}
	b := listing{j: m.a.j, end: *m.b, name: m.b.Path, digests: m.a.digests}
	for {
		page, more, err := b.next(ctx)
		if err != nil {
			rest.drop()
			return err
		}
		if !more {
			m.rest = rest
			return nil
		}
		for _, info := range page.Entries {
			i, ok := places[info.Name]
			switch {
			case ok:
				m.entries[i].old, m.entries[i].exists = info, true
			case rest != nil && !rest.add(info):
				rest.drop()
				rest = nil
			}
		}
	}
}

// bigSet is the size above which a job holds one set of names at a time.
const bigSet = 64 << 10

// extras calls extra for every entry that the directory b has and a has not, and unnamed
// for every name in b that cannot be a Path. Memory is 16 bytes for each name in a.
func (j *Job) extras(ctx context.Context, a, b End, extra func(pfs.Info) error, unnamed func(quoted string)) error {
	var has names
	big := false
	in := listing{j: j, end: a, name: a.Path}
	for {
		page, more, err := in.next(ctx)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		for _, info := range page.Entries {
			has.add(info.Name)
		}
		if !big && len(has.hashes) > bigSet {
			big = true
			j.big.Lock()
			defer j.big.Unlock()
		}
	}
	over := listing{j: j, end: b, name: b.Path}
	for {
		page, more, err := over.next(ctx)
		if err != nil || !more {
			return err
		}
		for _, quoted := range page.Unnamed {
			unnamed(quoted)
		}
		for _, info := range page.Entries {
			if has.has(info.Name) {
				continue
			}
			if err := extra(info); err != nil {
				return err
			}
		}
	}
}
