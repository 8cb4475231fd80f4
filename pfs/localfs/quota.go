package localfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// limits is a quota; 0 means no limit.
type limits struct{ bytes, files int64 }

// quotaFormat is the content of a quota file.
const quotaFormat = "bytes %d\nfiles %d\n"

// quotas knows the trees with a quota that were met, and which staged writes are
// open in this process.
type quotas struct {
	mu    sync.Mutex
	trees map[pfs.Path]*tree
	open  map[string]int // handles by the name of the temporary
}

// tree returns the tree at name, which has these limits now.
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

// forget drops what is known about name and all below it, because it was moved,
// removed or has no quota any more.
func (q *quotas) forget(name pfs.Path) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for p := range q.trees {
		if p.Within(name) {
			delete(q.trees, p)
		}
	}
}

// enter and leave count the open handles of a staged write and report whether this
// is the first, or was the last.
func (q *quotas) enter(temp string) (first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open = map[string]int{}
	}
	q.open[temp]++
	return q.open[temp] == 1
}

func (q *quotas) leave(temp string) (last bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open[temp]--
	if q.open[temp] > 0 {
		return false
	}
	delete(q.open, temp)
	return true
}

func (q *quotas) isOpen(temp string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open[temp] > 0
}

// treesOf returns the trees with a quota that the directory name is in, itself
// included. Each quota file is looked for every time, so that a quota set by
// another process holds at once: that costs two system calls a level.
func (f *FS) treesOf(name pfs.Path) ([]*tree, error) {
	if f.opts.FollowLinks {
		return nil, nil
	}
	var trees []*tree
	for p := name; ; p = p.Parent() {
		t, err := f.treeAt(p)
		if err != nil {
			return nil, err
		}
		if t != nil {
			trees = append(trees, t)
		}
		if p == pfs.Root {
			return trees, nil
		}
	}
}

// treeAt returns the tree of the directory name if it has a quota, nil if not. That
// there is no such directory is for others to find.
func (f *FS) treeAt(name pfs.Path) (*tree, error) {
	if f.opts.FollowLinks {
		return nil, nil
	}
	d, err := f.openDir(relative(name))
	if err != nil {
		if passed(err) {
			return nil, nil
		}
		return nil, err
	}
	defer d.Close()
	l, err := readLimits(d, name)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return f.quotas.tree(name, l), nil
}

// readLimits reads the quota file of d.
func readLimits(d dir, name pfs.Path) (l limits, err error) {
	h, err := d.openFile(quotaName, os.O_RDONLY, 0)
	if err != nil {
		return limits{}, err
	}
	defer h.Close()
	if st, err := statFile(h); err != nil || !st.mode.IsRegular() {
		return limits{}, errors.Join(err, damagedQuota(name))
	}
	p, err := io.ReadAll(io.LimitReader(h, 256))
	if err != nil {
		return limits{}, err
	}
	if n, err := fmt.Sscanf(string(p), quotaFormat, &l.bytes, &l.files); n != 2 || err != nil || l.bytes < 0 || l.files < 0 {
		return limits{}, damagedQuota(name)
	}
	return l, nil
}

func damagedQuota(name pfs.Path) error {
	return pfs.Errorf("localfs.readLimits", "", pfs.Integrity, "the file %s in %q is no quota: set the quota again", quotaName, name)
}

// SetQuota limits the tree below the directory name. The limits are kept in a file
// in it, so they move with it and hold for every process that serves it.
func (f *FS) SetQuota(ctx context.Context, name pfs.Path, maxBytes, maxFiles int64) error {
	const op = "localfs.SetQuota"
	if f.opts.FollowLinks {
		return pfs.Errorf(op, name, pfs.Unsupported, "quotas belong to the directory of a service")
	}
	if maxBytes < 0 || maxFiles < 0 {
		return pfs.Errorf(op, name, pfs.Invalid, "a quota of %d bytes and %d files: 0 lifts a limit, less there is not", maxBytes, maxFiles)
	}
	return f.in(ctx, op, name, func(d dir) error {
		l := limits{bytes: maxBytes, files: maxFiles}
		if l == (limits{}) {
			f.quotas.forget(name)
			if err := d.unlink(quotaName); err != nil && !missing(err) {
				return err
			}
			return f.syncDir(d)
		}
		if err := f.writeLimits(d, l); err != nil {
			return err
		}
		f.quotas.tree(name, l)
		return nil
	})
}

// writeLimits replaces the quota file of d.
func (f *FS) writeLimits(d dir, l limits) error {
	temp := stagedName(quotaName, pfs.NewID())
	h, err := d.openFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(h, quotaFormat, l.bytes, l.files)
	if err == nil && !f.opts.NoSync {
		err = h.Sync()
	}
	err = errors.Join(err, h.Close())
	if err == nil {
		err = d.rename(temp, d, quotaName, false)
	}
	if err != nil {
		d.unlink(temp)
		return err
	}
	return f.syncDir(d)
}

// exceeded makes the error of a tree whose quota does not allow what was asked for.
func (t *tree) exceeded(used pfs.Usage, l limits) error {
	whose := fmt.Sprintf("%q", t.name.Base())
	if t.name == pfs.Root {
		whose = "the store"
	}
	return pfs.Errorf("localfs.claim", "", pfs.Quota,
		"%s may hold %s and holds %s and %d files and directories: remove some, or ask for a larger quota",
		whose, l, size(used.Bytes), used.Files+used.Dirs)
}

func (l limits) String() string {
	switch {
	case l.files == 0:
		return size(l.bytes)
	case l.bytes == 0:
		return fmt.Sprintf("%d files and directories", l.files)
	}
	return fmt.Sprintf("%s in %d files and directories", size(l.bytes), l.files)
}

// size writes n bytes for a person.
func size(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	v, i := float64(n)/1024, 0
	for v >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	return fmt.Sprintf("%.1f %ciB", v, units[i])
}
