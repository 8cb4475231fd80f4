package localfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/keylock"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// limits is a quota, where 0 means no limit, or an amount that counts against one.
type limits struct{ bytes, files int64 }

// plus returns a + sign*b.
func (a limits) plus(b limits, sign int64) limits {
	return limits{a.bytes + sign*b.bytes, a.files + sign*b.files}
}

// beyond returns the parts of a that exceed b.
func (a limits) beyond(b limits) limits {
	return limits{max(0, a.bytes-b.bytes), max(0, a.files-b.files)}
}

// quotaName is the file that holds the quota of its directory; quotaFormat is its content.
const (
	quotaName   = pfs.QuotaName
	quotaFormat = "bytes %d\nfiles %d\n"
)

// quotas holds the trees with a quota seen so far, and the uploads that are open in this process.
type quotas struct {
	mu    sync.Mutex
	trees map[pfs.Path]*tree
	open  map[tempID]*opened

	slots keylock.Set[slot]
}

// opened is an upload with open handles in this process. They share one claim, since they write one
// file.
type opened struct {
	handles int                   // guarded by quotas.mu
	claimed atomic.Pointer[claim] // nil until the first handle has claimed it
}

// tempID identifies a temporary: two directories may have one of the same name. Where the system
// has no inodes it does not tell them apart.
type tempID struct {
	dev, ino uint64
	name     string
}

func newTempID(name string, st stat) tempID { return tempID{st.dev, st.ino, name} }

// tree returns the tree at name, with its current limits.
func (q *quotas) tree(name pfs.Path, l limits) *tree {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.trees[name]
	if t == nil {
		if q.trees == nil {
			q.trees = map[pfs.Path]*tree{}
		}
		t = &tree{name: name}
		q.trees[name] = t
	}
	t.setLimits(l)
	return t
}

// forget drops the trees at name and below it, because name was moved or removed.
func (q *quotas) forget(name pfs.Path) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for p := range q.trees {
		if p.Within(name) {
			delete(q.trees, p)
		}
	}
}

// drop is forget for name alone, whose quota was set or lifted.
func (q *quotas) drop(name pfs.Path) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.trees, name)
}

// enter adds a handle of an upload.
func (q *quotas) enter(temp tempID) *opened {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open = map[tempID]*opened{}
	}
	o := q.open[temp]
	if o == nil {
		o = &opened{}
		q.open[temp] = o
	}
	o.handles++
	return o
}

// leave removes a handle and reports whether it was the last.
func (q *quotas) leave(temp tempID) (last bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	o := q.open[temp]
	o.handles--
	if o.handles > 0 {
		return false
	}
	delete(q.open, temp)
	return true
}

// claims returns the trees in which a claim counts the upload, because it is open in this process.
func (q *quotas) claims(temp tempID) []*tree {
	q.mu.Lock()
	o := q.open[temp]
	q.mu.Unlock()
	if o == nil {
		return nil
	}
	if c := o.claimed.Load(); c != nil {
		return c.trees
	}
	return nil
}

// claimed reports whether a claim counts the upload in any tree.
func (q *quotas) claimed(temp tempID) bool { return len(q.claims(temp)) > 0 }

// claimedIn reports whether a claim counts the upload in t.
func (q *quotas) claimedIn(t *tree) func(temp tempID) bool {
	return func(temp tempID) bool { return slices.Contains(q.claims(temp), t) }
}

// treeOf returns the tree of the open directory d, nil if d has no quota. It calls path only for a
// quota.
func (f *FS) treeOf(d dir, path func() pfs.Path) (*tree, error) {
	if f.opts.FollowLinks {
		return nil, nil
	}
	l, err := readLimits(d)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fail("localfs.treeOf", path(), err)
	}
	return f.quotas.tree(path(), l), nil
}

// readLimits reads the quota file of d.
func readLimits(d dir) (l limits, err error) {
	h, err := d.openFile(quotaName, os.O_RDONLY, 0)
	if err != nil && kindOf(err) == pfs.Symlink {
		return limits{}, errNoQuota
	}
	if err != nil {
		return limits{}, err
	}
	defer h.Close()
	st, err := statFile(h)
	if err != nil {
		return limits{}, err
	}
	if !st.mode.IsRegular() {
		return limits{}, errNoQuota
	}
	p, err := io.ReadAll(io.LimitReader(h, 256))
	if err != nil {
		return limits{}, err
	}
	if n, err := fmt.Sscanf(string(p), quotaFormat, &l.bytes, &l.files); n != 2 || err != nil || l.bytes < 0 || l.files < 0 {
		return limits{}, errNoQuota
	}
	return l, nil
}

// errNoQuota reports a damaged quota file. Until it is repaired nothing may be written, since the
// limits are unknown.
var errNoQuota = pfs.Errorf("localfs.readLimits", "", pfs.Integrity, "its file %s is not a quota: set the quota again", quotaName)

// SetQuota limits the tree below the directory name. A file in the directory holds the limits, so
// they move with it and hold for every process that serves it.
func (f *FS) SetQuota(ctx context.Context, name pfs.Path, maxBytes, maxFiles int64) error {
	const op = "localfs.SetQuota"
	if f.opts.FollowLinks {
		return pfs.Errorf(op, name, pfs.Unsupported, "quotas belong to the directory of a service")
	}
	return f.in(ctx, op, name, func(d dir) error {
		l := limits{bytes: maxBytes, files: maxFiles}
		_, err := d.stat(quotaName, false)
		isNew := missing(err)
		if l == (limits{}) {
			err = posix.UnlessMissing(d.unlink(quotaName))
		} else {
			err = f.writeLimits(d, l)
		}
		if err != nil {
			return err
		}
		if isNew || l == (limits{}) { // a directory without a quota has no totals
			f.quotas.drop(name)
		}
		return f.syncDir(d)
	})
}

// writeLimits replaces the quota file of d.
func (f *FS) writeLimits(d dir, l limits) error {
	temp := digest.StagedName(quotaName, pfs.NewID())
	h, err := d.openFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, tempMode)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(h, quotaFormat, l.bytes, l.files)
	if err == nil {
		err = f.sync(h)
	}
	err = errors.Join(err, h.Close())
	if err == nil {
		err = d.rename(temp, d, quotaName, false)
	}
	if err != nil {
		d.unlink(temp)
	}
	return err
}

// exceeds reports whether used and more together exceed limit; 0 is no limit.
func exceeds(used, more, limit int64) bool { return limit > 0 && more > 0 && more > limit-used }

// exceeded returns the error of a tree in which more is too much. The operation adds the path of
// the file.
func (t *tree) exceeded(q pfs.OverQuota) error {
	q.Dir = t.name.Base()
	return pfs.E("localfs.claim", "", pfs.Quota, &q)
}
