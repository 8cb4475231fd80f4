package localfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// walkPage is the number of names that a walk reads at once.
const walkPage = 1024

// visitFunc is told of one entry of the directory rel, which is open as d. Below a
// directory for which it answers false the walk does not go.
type visitFunc func(d dir, rel, name string, st stat) (enter bool, err error)

// walk visits all that is below the directory rel, hidden names too, without
// following a link. What goes away meanwhile is passed over. It holds one
// directory open, and a page of names a level.
func (f *FS) walk(ctx context.Context, rel string, visit visitFunc) error {
	for token := ""; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		dirs, next, err := f.walkEntries(rel, token, visit)
		if err != nil {
			return err
		}
		for _, name := range dirs {
			if err := f.walk(ctx, below(rel, name), visit); err != nil && !passed(err) {
				return err
			}
		}
		if next == "" {
			return nil
		}
		token = next
	}
}

// walkEntries visits one page of the directory rel and returns the directories in
// it.
func (f *FS) walkEntries(rel, token string, visit visitFunc) (dirs []string, next string, err error) {
	d, err := f.openDir(rel)
	if err != nil {
		return nil, "", err
	}
	defer d.Close()
	names, next, err := d.entries(token, walkPage)
	if err != nil {
		return nil, "", err
	}
	for _, name := range names {
		st, err := d.stat(name, false)
		if missing(err) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		enter, err := visit(d, rel, name, st)
		if err != nil {
			return nil, "", err
		}
		if enter && st.mode.IsDir() {
			dirs = append(dirs, name)
		}
	}
	return dirs, next, nil
}

// passed reports whether a walk goes on after err: the directory is not there any
// more, or is so deep that no Path leads to it.
func passed(err error) bool {
	switch kindOf(err) {
	case pfs.NotExist, pfs.NotDir, pfs.Symlink, pfs.Conflict, pfs.Invalid:
		return true
	}
	return false
}
