package localfs

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// watch counts the system calls of a store, and replaces some results.
type watch struct {
	path string // of the store on the host

	lookups    atomic.Int64 // names looked up for an open
	open, most atomic.Int64 // open directories, now and at most

	rename func(name, newName string) error // called before each; nil if not set
	age    map[string]time.Duration         // how much older files of these names seem
}

// opener returns an open function for newFS whose directories are watched.
func (w *watch) opener(open func(string, bool) (dir, error)) func(string, bool) (dir, error) {
	return func(path string, follow bool) (dir, error) { return w.watched(open(path, follow)) }
}

func (w *watch) watched(d dir, err error) (dir, error) {
	if err != nil {
		return nil, err
	}
	n := w.open.Add(1)
	for most := w.most.Load(); n > most && !w.most.CompareAndSwap(most, n); {
		most = w.most.Load()
	}
	return watchedDir{d, w}, nil
}

// lookupsOf returns the number of lookups during do.
func (w *watch) lookupsOf(do func()) int64 {
	before := w.lookups.Load()
	do()
	return w.lookups.Load() - before
}

// watchedDir is a directory of a watched store.
type watchedDir struct {
	dir
	w *watch
}

func (d watchedDir) open(rel string) (dir, error) {
	d.w.lookups.Add(int64(strings.Count(rel, "/") + 1))
	return d.w.watched(d.dir.open(rel))
}

func (d watchedDir) Close() error {
	d.w.open.Add(-1)
	return d.dir.Close()
}

func (d watchedDir) openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	d.w.lookups.Add(1)
	return d.dir.openFile(name, flag, perm)
}

func (d watchedDir) stat(name string, follow bool) (stat, error) {
	st, err := d.dir.stat(name, follow)
	if age := d.w.age[name]; age > 0 {
		st.mtime, st.ctime = st.mtime.Add(-age), st.ctime-int64(age)
	}
	return st, err
}

// entries returns sorted names, so that a test knows which one comes first.
func (d watchedDir) entries(token string, limit int) (names []string, next string, err error) {
	names, next, err = d.dir.entries(token, limit)
	slices.Sort(names)
	return names, next, err
}

func (d watchedDir) link(name string, to dir, newName string) error {
	return d.dir.link(name, to.(watchedDir).dir, newName)
}

func (d watchedDir) rename(name string, to dir, newName string, exclusive bool) error {
	if d.w.rename != nil {
		if err := d.w.rename(name, newName); err != nil {
			return err
		}
	}
	return d.dir.rename(name, to.(watchedDir).dir, newName, exclusive)
}

// watchStore returns a store of that kind, and its watch.
func watchStore(t testing.TB, open func(string, bool) (dir, error)) (*FS, *watch) {
	t.Helper()
	w := &watch{path: t.TempDir()}
	f, err := newFS(w.path, Options{NoSync: true}, w.opener(open))
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f, w
}

// ways are the two implementations of dir.
var ways = map[string]func(string, bool) (dir, error){"system": openTop, "os.Root": openRoot}
