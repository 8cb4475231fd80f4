package localfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

const (
	// fewNames is the number of names that a walk reads at once while more than maxPending
	// directories are pending, in place of posix.WalkPage.
	fewNames   = 16
	maxPending = 64 << 10

	// walkOpen is the number of parent levels that a walk keeps open.
	walkOpen = 32
)

// visitFunc visits one entry of the directory p. If it returns false the walk does not enter the
// entry.
type visitFunc func(p place, name string, st stat) (enter bool, err error)

// walker visits everything below a directory, hidden names too. It does not follow links, and
// ignores entries that are removed meanwhile.
//
// A tree may be deeper than any Path and than the number of descriptors. So the walker keeps the
// names of the levels above it, and reopens closed ones from the nearest open one, if the same
// directory is still there.
type walker struct {
	f     *FS
	visit visitFunc

	// top is the path of the directory, if places need their trees; otherwise "".
	top pfs.Path

	// denied, if not nil, receives the error of each directory that cannot be entered or read; the
	// walk then continues without it.
	denied func(err error)

	levels  []level
	pending int // directories still to enter, on all levels
}

// level is one directory on the path from the top to the walk's position.
type level struct {
	place        // its dir is nil while it is closed
	name  string // in the level above
	is    stat   // to recognise it

	dirs  []string // still to enter
	token string   // of the next page
	read  bool     // to the last page
}

// walk visits everything below the directory p, which stays open and belongs to the caller.
func (w *walker) walk(ctx context.Context, p place) error {
	w.levels = []level{{place: p}}
	defer func() {
		for len(w.levels) > 1 {
			w.up()
		}
	}()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		l := &w.levels[len(w.levels)-1]
		var err error
		switch {
		case len(l.dirs) > 0:
			err = w.down()
		case !l.read:
			err = w.page(ctx)
		case len(w.levels) == 1:
			return nil
		default:
			w.up()
		}
		if err != nil {
			return err
		}
	}
}

// page visits one page of the current level.
func (w *walker) page(ctx context.Context) error {
	l, err := w.here()
	if l == nil {
		return err
	}
	limit := posix.WalkPage
	if w.pending > maxPending {
		limit = fewNames
	}
	names, next, err := entriesInTurn(ctx, l.dir, l.token, limit)
	if err != nil {
		return w.leave(err)
	}
	l.token, l.read = next, next == ""
	var failed error // error of the directory
	err = eachInTurn(ctx, names, func(name string) error {
		st, err := l.dir.stat(name, false)
		if missing(err) {
			return nil
		}
		if err != nil {
			failed = err
			return err
		}
		enter, err := w.visit(l.place, name, st)
		if err != nil {
			return err
		}
		if enter && st.mode.IsDir() {
			l.dirs = append(l.dirs, name)
			w.pending++
		}
		return nil
	})
	if failed != nil {
		return w.leave(failed)
	}
	return err
}

// down enters the next directory of the current level.
func (w *walker) down() error {
	l, err := w.here()
	if l == nil {
		return err
	}
	name := l.dirs[len(l.dirs)-1]
	l.dirs = l.dirs[:len(l.dirs)-1]
	w.pending--
	p, err := w.open(l.place, name)
	if err != nil {
		return w.unlessPassed(err)
	}
	st, err := p.dir.stat(".", false)
	if err != nil {
		p.dir.Close()
		return err
	}
	w.levels = append(w.levels, level{place: p, name: name, is: st})
	w.trim(len(w.levels) - 1)
	return nil
}

// open opens a directory for the first time.
func (w *walker) open(p place, name string) (place, error) {
	if w.top == "" {
		d, err := p.dir.open(name)
		return place{dir: d}, err
	}
	return w.f.step(p, name, func() pfs.Path { return w.path(name) })
}

// path returns the path of the directory name of the current level.
func (w *walker) path(name string) pfs.Path {
	p := w.top
	for _, l := range w.levels[1:] {
		p = p.Join(l.name)
	}
	return p.Join(name)
}

// up leaves the current level.
func (w *walker) up() {
	n := len(w.levels) - 1
	w.pending -= len(w.levels[n].dirs)
	w.close(n)
	w.levels = w.levels[:n]
}

// leave leaves a level because of err, if the walk ignores that error. It never does at the top.
func (w *walker) leave(err error) error {
	if len(w.levels) == 1 {
		return err
	}
	if err := w.unlessPassed(err); err != nil {
		return err
	}
	w.up()
	return nil
}

// unlessPassed turns into success the error of a directory that is gone or denied.
func (w *walker) unlessPassed(err error) error {
	switch {
	case passed(err):
		return nil
	case kindOf(err) == pfs.Permission && w.denied != nil:
		w.denied(err)
		return nil
	}
	return err
}

// here returns the current level, opened, or nil if the walk had to leave it.
func (w *walker) here() (*level, error) {
	n := len(w.levels) - 1
	i := n
	for w.levels[i].dir == nil {
		i--
	}
	for ; i < n; i++ {
		if err := w.reopen(i + 1); err != nil {
			return nil, w.leave(err)
		}
		w.trim(i + 1)
	}
	return &w.levels[n], nil
}

// reopen opens level i again from the one above it.
func (w *walker) reopen(i int) error {
	l := &w.levels[i]
	d, err := w.levels[i-1].dir.open(l.name)
	if err != nil {
		return err
	}
	st, err := d.stat(".", false)
	if err == nil && !st.same(l.is) {
		err = errSwapped
	}
	if err != nil {
		d.Close()
		return err
	}
	l.dir = d
	return nil
}

// trim closes levels when the walk reaches level n: those walkOpen above it, except every
// walkOpen-th, which is closed walkOpen times as far above, and so on. So the number of descriptors
// grows with the logarithm of the depth, and reopening levels costs no more than opening them did.
func (w *walker) trim(n int) {
	for span := walkOpen; span <= n; span *= walkOpen {
		if i := n - span; i%span != 0 {
			w.close(i)
		}
	}
}

// close closes the level i, if it is open.
func (w *walker) close(i int) {
	if l := &w.levels[i]; l.dir != nil {
		l.dir.Close()
		l.dir = nil
	}
}

// passed reports whether a walk continues after err: the directory no longer exists.
func passed(err error) bool {
	switch kindOf(err) {
	case pfs.NotExist, pfs.NotDir, pfs.Symlink, pfs.Conflict:
		return true
	}
	return false
}
