package localfs

import (
	"io/fs"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// dir is an open directory: all operations on names that this package needs. A name is one element,
// or "." for the directory itself. Links are not followed unless stated; a dir that was opened to
// follow them does so in open, openFile, chmod, chown and chtimes. Errors are those of the system,
// or pfs.Symlink. A dir is safe for concurrent use until it is closed.
type dir interface {
	Close() error

	// open opens the directory rel, a path of any number of elements, or "". A link in the path is
	// pfs.Symlink.
	open(rel string) (dir, error)

	// stat describes name or, if follow is set, the target of the link.
	stat(name string, follow bool) (stat, error)
	readlink(name string) (string, error)

	// openFile opens name without waiting for a peer, as a FIFO would. perm is subject to the
	// umask.
	openFile(name string, flag int, perm fs.FileMode) (*os.File, error)

	// readFile reads the start of name into p, also without waiting for a peer. n is less than
	// len(p) only at the end of the file, or with an error.
	readFile(name string, p []byte) (n int, err error)

	// attribute reads an extended attribute of the regular file name into p.
	attribute(name, attribute string, p []byte) (n int, err error)

	// mkdir makes a directory; perm is subject to the umask.
	mkdir(name string, perm fs.FileMode) error
	unlink(name string) error
	rmdir(name string) error
	symlink(target, name string) error
	link(name string, to dir, newName string) error

	// rename replaces newName; if exclusive is set and newName exists, it returns EEXIST.
	rename(name string, to dir, newName string, exclusive bool) error

	// access returns the error with which the system would refuse to read name, or to change it;
	// nil if that is unknown.
	access(name string, change bool) error
	chmod(name string, mode fs.FileMode) error

	// chown sets owner and group, chtimes the times. -1 and the zero time keep a value. If link is
	// set they do not follow a link.
	chown(name string, uid, gid int, link bool) error
	chtimes(name string, atime, mtime time.Time, link bool) error

	// mknod makes a FIFO, socket or device. Its permissions are subject to the umask.
	mknod(name string, mode fs.FileMode, device uint64) error

	// entries returns up to limit names, and the token of the next page, "" if there is none.
	entries(token string, limit int) (names []string, next string, err error)

	// sync makes the names in the directory durable.
	sync() error
	// disk opens the file system that holds the directory, or returns errors.ErrUnsupported.
	disk() (disk, error)

	space() (pfs.Space, error)

	// capabilities returns the capabilities that depend on the directory's file system.
	capabilities() (pfs.Capabilities, error)
}

// some are the capabilities that not every system or file system has.
const some = pfs.CanAllocate | pfs.CanSetMode | pfs.CanSetOwner | pfs.CanSymlink | pfs.CanHardLink | pfs.CanMknod

// disk is a file system that can be synced as a whole.
type disk interface {
	Close() error

	// sync makes durable everything written since the disk was opened, or reports that some of it
	// was lost.
	sync() error
}

// elements yields the elements of rel from the top, each with the leading part of rel that ends
// with it.
func elements(rel string) iter.Seq2[string, string] {
	return func(yield func(name, way string) bool) {
		for i := 0; i < len(rel); {
			n := strings.IndexByte(rel[i:], '/')
			if n < 0 {
				n = len(rel) - i
			}
			if !yield(rel[i:i+n], rel[:i+n]) {
				return
			}
			i += n + 1
		}
	}
}

// linkAt reports a link in the place of the directory rel below the root.
func linkAt(rel string) error { return &pfs.Error{Path: absolute(rel), Kind: pfs.Symlink} }

// renameExclusively renames without replacing where the system cannot: it uses a second name or,
// for a directory, an empty directory that the system may replace.
func renameExclusively(d dir, name string, to dir, newName string) error {
	st, err := d.stat(name, false)
	if err != nil {
		return err
	}
	if !st.mode.IsDir() {
		if err := d.link(name, to, newName); err != nil {
			return err
		}
		return d.unlink(name)
	}
	if err := to.mkdir(newName, 0o700); err != nil {
		return err
	}
	if err := d.rename(name, to, newName, false); err != nil {
		to.rmdir(newName)
		return err
	}
	return nil
}

// openedAttribute is an implementation of dir.attribute that opens the file.
func openedAttribute(d dir, name, attribute string, p []byte) (int, error) {
	file, err := d.openFile(name, os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return fileAttributes{}.get(file, attribute, p)
}
