package localfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// openRoot opens the directory at path with package os only, which every system has.
func openRoot(path string, follow bool) (dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &rootDir{top: root, root: root, follow: follow}, nil
}

// rootDir is a directory by its os.Root. An os.Root follows links, so each name is compared with
// the file that was opened.
type rootDir struct {
	top    *os.Root
	rel    string // path below top
	root   *os.Root
	follow bool
}

var _ dir = (*rootDir)(nil)

func (d *rootDir) Close() error { return d.root.Close() }

// path returns the path of name for package os, which follows links.
func (d *rootDir) path(name string) string { return filepath.Join(d.root.Name(), name) }

func (d *rootDir) open(rel string) (dir, error) {
	if d.follow {
		root, err := os.OpenRoot(d.path(rel))
		return d.opened(root, rel, err)
	}
	if rel == "" {
		root, err := d.root.OpenRoot(".")
		return d.opened(root, "", err)
	}
	cur := d.root
	for name, way := range elements(rel) {
		next, err := openElement(cur, name)
		if cur != d.root {
			cur.Close()
		}
		if err == syscall.ELOOP {
			err = linkAt(way)
		}
		if err != nil {
			return nil, err
		}
		cur = next
	}
	return d.opened(cur, rel, nil)
}

// opened makes a dir of the result of an open.
func (d *rootDir) opened(root *os.Root, rel string, err error) (dir, error) {
	if err != nil {
		return nil, err
	}
	return &rootDir{top: d.top, rel: strings.Trim(d.rel+"/"+rel, "/"), root: root, follow: d.follow}, nil
}

// openElement opens the directory name in root, if it is one and still is the same one after the
// open.
func openElement(root *os.Root, name string) (*os.Root, error) {
	before, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, syscall.ELOOP
	case !before.IsDir():
		return nil, syscall.ENOTDIR
	}
	next, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := next.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = errSwapped
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

func (d *rootDir) stat(name string, follow bool) (stat, error) {
	var info fs.FileInfo
	var err error
	if follow {
		info, err = os.Stat(d.path(name))
	} else {
		info, err = d.root.Lstat(name)
	}
	if err != nil {
		return stat{}, err
	}
	return statOf(info), nil
}

func (d *rootDir) readlink(name string) (string, error) { return d.root.Readlink(name) }

func (d *rootDir) readFile(name string, p []byte) (int, error) {
	file, err := d.openFile(name, os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	n, err := io.ReadFull(file, p)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}

func (d *rootDir) openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if flag&os.O_EXCL != 0 {
		return d.root.OpenFile(name, flag, perm)
	}
	if d.follow {
		return os.OpenFile(d.path(name), flag|nonBlocking, perm)
	}
	before, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, syscall.ELOOP
	}
	file, err := d.root.OpenFile(name, flag|nonBlocking, perm)
	if err != nil {
		return nil, err
	}
	after, err := file.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = errSwapped
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func (d *rootDir) attribute(name, attribute string, p []byte) (int, error) {
	return openedAttribute(d, name, attribute, p)
}

func (d *rootDir) mkdir(name string, perm fs.FileMode) error {
	return d.root.Mkdir(name, perm.Perm())
}

// unlink and rmdir share the one call of package os, which removes both.
func (d *rootDir) unlink(name string) error {
	info, err := d.root.Lstat(name)
	if err == nil && info.IsDir() {
		return syscall.EISDIR
	}
	return d.root.Remove(name)
}

func (d *rootDir) rmdir(name string) error {
	info, err := d.root.Lstat(name)
	if err == nil && !info.IsDir() {
		return syscall.ENOTDIR
	}
	return d.root.Remove(name)
}

func (d *rootDir) symlink(target, name string) error { return d.root.Symlink(target, name) }

func (d *rootDir) link(name string, to dir, newName string) error {
	from, into := d.across(to)
	return from.top.Link(below(from.rel, name), below(into.rel, newName))
}

func (d *rootDir) rename(name string, to dir, newName string, exclusive bool) error {
	if exclusive {
		if st, err := d.stat(name, false); err == nil && !st.mode.IsDir() {
			return renameExclusively(d, name, to, newName)
		}
		// Package os refuses to replace even an empty directory.
		if _, err := to.stat(newName, false); err == nil {
			return syscall.EEXIST
		}
	}
	from, into := d.across(to)
	return from.top.Rename(below(from.rel, name), below(into.rel, newName))
}

// below returns the path of name in the directory rel.
func below(rel, name string) string {
	if rel == "" {
		return name
	}
	return rel + "/" + name
}

// across returns d and to as paths below one os.Root: their own if they are the same directory, so
// that no parent can be replaced meanwhile, otherwise that of the top.
func (d *rootDir) across(to dir) (from, into *rootDir) {
	t := to.(*rootDir)
	if t.rel == d.rel {
		d = &rootDir{top: d.root}
		return d, d
	}
	return d, t
}

func (d *rootDir) access(string, bool) error { return nil }

func (d *rootDir) chmod(name string, mode fs.FileMode) error {
	file, err := d.openFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Chmod(mode)
}

func (d *rootDir) chown(name string, uid, gid int, link bool) error {
	if d.follow && !link {
		return os.Chown(d.path(name), uid, gid)
	}
	return d.root.Lchown(name, uid, gid)
}

func (d *rootDir) chtimes(name string, atime, mtime time.Time, link bool) error {
	if d.follow && !link {
		return os.Chtimes(d.path(name), atime, mtime)
	}
	if info, err := d.root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return errors.ErrUnsupported
	}
	return d.root.Chtimes(name, atime, mtime)
}

func (d *rootDir) mknod(string, fs.FileMode, uint64) error { return errors.ErrUnsupported }

func (d *rootDir) capabilities() (pfs.Capabilities, error) {
	switch runtime.GOOS {
	case "windows":
		return pfs.CanHardLink, nil
	case "linux": // reserve needs no directory
		return some &^ pfs.CanMknod, nil
	}
	return pfs.CanSetMode | pfs.CanSymlink | pfs.CanHardLink | pfs.CanSetOwner, nil
}

func (d *rootDir) entries(token string, limit int) (names []string, next string, err error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	return posix.SortedPage(token, limit, f.Readdirnames)
}

// sync makes the names durable where the system can open a directory for that.
func (d *rootDir) sync() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := d.root.Open(".")
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

func (d *rootDir) disk() (disk, error) { return nil, errors.ErrUnsupported }

func (d *rootDir) space() (pfs.Space, error) { return spaceOf(d.root.Name()) }
