package transfer

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"

	"github.com/paddlecloud/pfs/pfs"
)

// entry is an entry of a directory, with the entry of the same name in the other directory.
type entry struct {
	info   pfs.Info
	old    pfs.Info
	exists bool
}

// dirMatcher finds the entries of directory a in directory b, in bounded memory and independent of
// the order of the listings. It lists both at the same time, b into a table. If the memory does not
// suffice for all of b, it reads a window of entries of a, lists b to find them, and continues with
// the next window. It uses a table again if the rest of b fits.
type dirMatcher struct {
	a       *listing
	b       *End                // nil if there is nothing to compare with
	names   *semaphore.Weighted // entries that all matchers of a job together may hold
	room    *semaphore.Weighted // entries in the tables of all matchers of a job; nil: there are none
	unnamed func(quoted string) // is called with names of a that cannot be a Path

	entries []entry    // the window
	carry   []pfs.Info // a page that was too much for the window
	ended   bool       // a has no more pages
	listed  chan error // reports when b has been listed into the table; nil if it is not being listed
	table   *besides   // being filled
	rest    *besides   // the entries of b that no window had so far; nil if b must be listed
	stop    context.CancelFunc
}

// next returns the next window, empty at the end. The caller drops it before the next call.
func (m *dirMatcher) next(ctx context.Context) ([]entry, error) {
	m.begin(ctx)
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

// begin starts to list b, once.
func (m *dirMatcher) begin(ctx context.Context) {
	if m.b == nil || m.room == nil || m.stop != nil {
		return
	}
	ctx, m.stop = context.WithCancel(ctx)
	m.table, m.listed = &besides{room: m.room}, make(chan error, 1)
	go func() {
		m.listed <- m.listB(ctx, func(info pfs.Info) bool { return m.table.add(info) })
	}()
}

// errNoRoom ends a listing that does not fit the tables.
var errNoRoom = errors.New("no room")

// listB calls do for all entries of b, until that is false.
func (m *dirMatcher) listB(ctx context.Context, do func(pfs.Info) bool) error {
	b := listing{j: m.a.j, end: *m.b, name: m.b.Path, digests: m.a.digests}
	for {
		page, more, err := b.next(ctx)
		if err != nil || !more {
			return err
		}
		for _, info := range page.Entries {
			if !do(info) {
				return errNoRoom
			}
		}
	}
}

// tabulated waits for the table of b, if it is being made.
func (m *dirMatcher) tabulated() error {
	if m.listed == nil {
		return nil
	}
	err := <-m.listed
	m.listed = nil
	if err == nil {
		m.rest = m.table
		return nil
	}
	m.table.drop()
	if err == errNoRoom {
		return nil
	}
	return err
}

// end releases all that is held.
func (m *dirMatcher) end() {
	if m.stop != nil {
		m.stop()
		_ = m.tabulated()
	}
	m.drop()
	m.rest.drop()
}

// drop discards the window.
func (m *dirMatcher) drop() {
	m.names.Release(int64(len(m.entries)))
	m.entries = nil
}

// fill reads pages of a into the window until the window is full, or only one page if the entries
// need not be found in a listing of b. It reports whether there may be more.
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
		if m.b == nil || m.rest != nil || len(m.listed) > 0 {
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

// hold reserves memory for n more entries. Only an empty window waits for memory: another one is
// compared first, which frees its memory.
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
	if err := m.tabulated(); err != nil {
		return err
	}
	if m.rest != nil {
		for i := range m.entries {
			e := &m.entries[i]
			e.old, e.exists = m.rest.find(e.info.Name)
		}
		if m.ended { // the directories below need the memory
			m.rest.drop()
			m.rest = nil
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
	err := m.listB(ctx, func(info pfs.Info) bool {
		i, ok := places[info.Name]
		switch {
		case ok:
			m.entries[i].old, m.entries[i].exists = info, true
		case rest != nil && !rest.add(info):
			rest.drop()
			rest = nil
		}
		return true
	})
	if err != nil {
		rest.drop()
		return err
	}
	m.rest = rest
	return nil
}

// bigSet is the size above which a job holds one set of names at a time.
const bigSet = 64 << 10

// extras calls extra for every entry of directory b that a lacks, and unnamed for every name
// in b that cannot be a Path. It needs 16 bytes for each name in a.
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
