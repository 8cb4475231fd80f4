package transfer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

// DeleteError is the cause of the refusal to make a target a mirror. Nothing was deleted.
type DeleteError struct {
	Source pfs.Path
	Files  int64 // number of files to delete
	Max    int64 // that Options.MaxDelete allows; less than 0 if Source has no file at all
}

// Error describes the refused deletion.
func (e *DeleteError) Error() string {
	if e.Max < 0 {
		return fmt.Sprintf("%s has no file, and all %d files here would be deleted", e.Source, e.Files)
	}
	return fmt.Sprintf("%d files would be deleted, and %d may be", e.Files, e.Max)
}

// checkDelete refuses to make the target of d a mirror if that deletes more than
// Options allow. It changes nothing. It is called before anything is copied, and again
// before anything is deleted: by then the file system of the source may be unmounted.
func (r *run) checkDelete(ctx context.Context, d *directory) error {
	most := max(r.j.opts.MaxDelete, 0)
	if empty, err := r.lacksFiles(ctx, d); err != nil {
		return err
	} else if empty {
		most = -1
	} else if r.j.opts.MaxDelete == 0 {
		return nil
	}
	m := mirror{r: r, counting: true}
	m.all(ctx, d)
	switch {
	case m.err != nil:
		return m.err
	case ctx.Err() != nil:
		return pfs.CheckContext(ctx, "transfer.Delete", d.target.Path)
	case m.files.Load() > most && m.entries.Load() > 0:
		return pfs.E("transfer.Delete", d.target.Path, pfs.NotEmpty, &DeleteError{d.name, m.files.Load(), most})
	}
	return nil
}

// lacksFiles reports whether the source d has no file that the rules take, and
// Options.DeleteAll does not allow that.
func (r *run) lacksFiles(ctx context.Context, d *directory) (bool, error) {
	if r.j.opts.DeleteAll {
		return false, nil
	}
	l := listing{j: r.j, end: d.source, name: d.name}
	for {
		page, more, err := l.next(ctx)
		if err != nil || !more {
			return err == nil, err
		}
		for _, info := range page.Entries {
			rel := join(d.rel, info.Name)
			c := r.j.filter.choose(d.choice, rel, info.IsDir())
			if c == taken && !info.IsDir() {
				return false, nil
			}
			if c == excluded || !info.IsDir() {
				continue
			}
			sub := &directory{source: End{d.source.FS, d.source.Path.Join(info.Name)}, name: d.name.Join(info.Name), rel: rel, choice: c}
			if empty, err := r.lacksFiles(ctx, sub); err != nil || !empty {
				return false, err
			}
		}
	}
}

// deleteExtras removes from the targets all entries that their sources lack. It lists the trees
// again, so the copying need not remember anything.
func (r *run) deleteExtras(ctx context.Context) {
	if r.j.count.failed.Load() > 0 {
		r.notDeleted = true
		return
	}
	for _, d := range r.roots {
		if !d.exists {
			continue
		}
		if err := r.checkDelete(ctx, d); err != nil {
			r.notDeleted = true
			r.failDir(d, err)
			continue
		}
		m := mirror{r: r}
		m.all(ctx, d)
	}
}

// mirror is one pass over the entries that targets have and their sources lack.
type mirror struct {
	r       *run
	walkers sync.WaitGroup

	// If counting is set, nothing is removed or reported; err is the first failure.
	counting       bool
	files, entries atomic.Int64
	failing        sync.Mutex
	err            error
}

// all goes through the whole tree of d.
func (m *mirror) all(ctx context.Context, d *directory) {
	m.dir(ctx, d)
	m.walkers.Wait()
}

func (m *mirror) fail(e Event) {
	if !m.counting {
		m.r.fail(e)
		return
	}
	m.failing.Lock()
	defer m.failing.Unlock()
	if m.err == nil {
		m.err = e.Err
	}
}

// stays reports something in the target that is not deleted, although the source may lack it.
func (m *mirror) stays(target pfs.Path, err error) {
	if !m.counting {
		m.r.fail(Event{Target: target, IsDir: true, Err: err})
	}
}

func (m *mirror) failDir(d *directory, err error) {
	m.fail(Event{Path: d.name, Target: d.target.Path, IsDir: true, Err: err})
}

// dir removes entries that the source lacks from the target of d, and then from its subdirectories.
func (m *mirror) dir(ctx context.Context, d *directory) {
	r := m.r
	removed, asked := false, false
	err := r.j.extras(ctx, d.source, d.target, func(info pfs.Info) error {
		e := End{d.target.FS, d.target.Path.Join(info.Name)}
		if m.remove(ctx, e, info, d.rel, d.choice, asked && !info.IsDir()) {
			removed, asked = true, asked || !info.IsDir()
		}
		return pfs.CheckContext(ctx, "transfer.Delete", e.Path)
	}, func(quoted string) { m.stays(d.target.Path, newNameError("transfer.Delete", d.target.Path, quoted)) })
	if removed && !m.counting && !r.j.opts.NewTime && !r.j.opts.DryRun {
		_ = pfs.SetAttr(ctx, d.target.FS, d.target.Path, pfs.AttrModTime, pfs.Attrs{ModTime: d.info.ModTime}) // best effort
	}
	if err != nil {
		m.failDir(d, err)
		return
	}
	l := listing{j: r.j, end: d.target, name: d.target.Path}
	for {
		page, more, err := l.next(ctx)
		if err != nil {
			m.failDir(d, err)
			return
		}
		if !more {
			return
		}
		for _, info := range page.Entries {
			if sub := m.mirrored(ctx, d, info); sub != nil {
				r.spread(&m.walkers, sub.name, sub.target.Path, func() { m.dir(ctx, sub) })
			}
		}
	}
}

// mirrored returns the directory of the source of which the entry old in the target of d is a copy.
// It returns nil if either of them is not a directory or is left out. It reports a link in the
// target in place of a directory: nothing behind it is deleted.
func (m *mirror) mirrored(ctx context.Context, d *directory, old pfs.Info) *directory {
	r := m.r
	rel := join(d.rel, old.Name)
	c := r.j.filter.choose(d.choice, rel, true)
	if !old.IsDir() && !old.IsLink() || c == excluded || ctx.Err() != nil {
		return nil
	}
	source := End{d.source.FS, d.source.Path.Join(old.Name)}
	info, err := r.j.stat(ctx, source)
	if err == nil && info.IsLink() && r.j.opts.Links == Follow {
		source, info, err = r.j.follow(ctx, source)
	}
	switch {
	case errors.Is(err, pfs.NotExist): // an entry that Filter protects
		return nil
	case err != nil:
		m.failDir(d, err)
		return nil
	case !info.IsDir():
		return nil
	}
	target := End{d.target.FS, d.target.Path.Join(old.Name)}
	if old.IsLink() {
		m.stays(target.Path, pfs.Errorf("transfer.Delete", target.Path, pfs.Symlink,
			"a link to %q is where the directory %s should be, and nothing behind it is deleted: replace it with a directory", old.Target, d.name.Join(old.Name)))
		return nil
	}
	return &directory{
		r: r, source: source, target: target, name: d.name.Join(old.Name), rel: rel, info: info, exists: true, choice: c,
	}
}

// remove removes the entry e, which the source lacks, except for entries that Filter excludes. It
// reports whether e is gone. asked is true if a dry run need not check e: it has checked another
// file in the same directory, or a directory above.
func (m *mirror) remove(ctx context.Context, e End, info pfs.Info, above string, c choice, asked bool) bool {
	rel := join(above, info.Name)
	if c = m.r.j.filter.choose(c, rel, info.IsDir()); c == excluded {
		return false
	}
	dry, whole := m.r.j.opts.DryRun && !m.counting, !m.r.j.filter.active()
	if dry && whole && info.IsDir() && !asked {
		if _, err := m.removeNow(ctx, e, true, c); err != nil {
			m.fail(Event{Target: e.Path, IsDir: true, Err: err})
			return false
		}
		asked = true
	}
	if info.IsDir() && m.oneByOne() && !m.removeBelow(ctx, e, rel, c) {
		return false
	}
	if c != taken || ctx.Err() != nil {
		return false
	}
	if m.counting {
		m.entries.Add(1)
		if !info.IsDir() {
			m.files.Add(1)
		}
		return true
	}
	var below int64
	var err error
	if !dry || !asked {
		below, err = m.removeNow(ctx, e, info.IsDir(), c)
	}
	if err != nil {
		m.fail(Event{Target: e.Path, IsDir: info.IsDir(), Err: err})
		return false
	}
	files := below
	if !info.IsDir() {
		files = 1
	}
	m.r.j.count.deleted.Add(files)
	m.r.j.emit(Event{Kind: Deleted, Target: e.Path, IsDir: info.IsDir(), Size: info.Size, Files: below})
	return true
}

// oneByOne reports whether the entries of a directory are removed before the directory.
// Otherwise the store removes the whole directory in one step.
func (m *mirror) oneByOne() bool {
	return m.counting || m.r.j.opts.DryRun || m.r.j.filter.active()
}

// removeNow removes e, a directory with all that is in it, and returns how many files were below.
func (m *mirror) removeNow(ctx context.Context, e End, isDir bool, c choice) (below int64, err error) {
	j := m.r.j
	whole := isDir && !m.oneByOne()
	if whole {
		n := mirror{r: m.r, counting: true}
		n.removeBelow(ctx, e, "", c)
		below, err = n.files.Load(), n.err
	}
	if err == nil {
		err = j.retry(ctx, e.Path, func(ctx context.Context) error {
			if whole {
				return pfs.RemoveTree(ctx, e.FS, e.Path)
			}
			return e.FS.Remove(ctx, e.Path)
		})
	}
	if errors.Is(err, pfs.NotExist) {
		return below, nil
	}
	return below, err
}

// removeBelow removes the entries of the directory e, except those that Filter excludes. It reports
// whether the directory is empty now.
func (m *mirror) removeBelow(ctx context.Context, e End, rel string, c choice) (empty bool) {
	empty = true
	l := listing{j: m.r.j, end: e, name: e.Path}
	for {
		page, more, err := l.next(ctx)
		if err != nil {
			m.fail(Event{Target: e.Path, IsDir: true, Err: err})
			return false
		}
		if !more {
			return empty
		}
		if m.r.j.filter.active() { // else the store removes them together with the directory
			for _, quoted := range page.Unnamed {
				empty = false
				m.stays(e.Path, newNameError("transfer.Delete", e.Path, quoted))
			}
		}
		for _, info := range page.Entries {
			if !m.remove(ctx, End{e.FS, e.Path.Join(info.Name)}, info, rel, c, !m.r.j.filter.active()) {
				empty = false
			}
		}
	}
}
