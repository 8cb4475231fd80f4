//go:build ceph

package cephfs

import (
	"encoding/binary"
	"io/fs"
	"strings"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// dir is an open directory: all that this package asks about names. A name is one element, or "."
// for the directory itself. Links are never followed. A dir belongs to one call.
type dir struct {
	c    *call
	in   *cInode
	lent bool // in belongs to the mount
}

// Close releases the directory. A second call does nothing.
func (d *dir) Close() {
	if d.in != nil && !d.lent {
		d.c.release(d.in)
		d.in = nil
	}
}

// root returns the top directory of the mount. It does not ask libcephfs, which would end the
// program if the mount were given up at that moment.
func (c *call) root() *dir { return &dir{c: c, in: c.m.root, lent: true} }

// directory opens the directory name.
func (c *call) directory(name pfs.Path) (*dir, error) {
	return c.root().open(strings.TrimPrefix(string(name), "/"))
}

// parent opens the directory that holds name and returns name's last element, "." for the root.
func (c *call) parent(name pfs.Path) (*dir, string, error) {
	base := name.Base()
	if name == pfs.Root {
		base = "."
	}
	d, err := c.directory(name.Parent())
	return d, base, err
}

// with returns d for another call of the same operation. Both share what Close releases.
func (d *dir) with(c *call) *dir { return &dir{c: c, in: d.in} }

// open opens the directory rel, a path of any number of elements, or "".
func (d *dir) open(rel string) (*dir, error) {
	cur := d
	for i := 0; i <= len(rel); {
		n := strings.IndexByte(rel[i:], '/')
		if n < 0 {
			n = len(rel) - i
		}
		name := rel[i : i+n]
		if name == "" {
			name = "."
		}
		next, err := cur.element(name)
		if cur != d {
			cur.Close()
		}
		if err == syscall.ELOOP {
			err = &pfs.Error{Path: pfs.Path("/" + rel[:i+n]), Kind: pfs.Symlink}
		}
		if err != nil {
			return nil, err
		}
		cur = next
		i += n + 1
	}
	return cur, nil
}

// element opens the directory name.
func (d *dir) element(name string) (*dir, error) {
	in, st, err := d.lookup(name)
	if err != nil {
		return nil, err
	}
	if st.mode.IsDir() {
		return &dir{c: d.c, in: in}, nil
	}
	d.c.release(in)
	if st.mode&fs.ModeSymlink != 0 {
		return nil, syscall.ELOOP
	}
	return nil, syscall.ENOTDIR
}

// lookup finds an inode, which the caller must release.
func (d *dir) lookup(name string) (in *cInode, st stat, err error) {
	err = d.c.lib(func(m *cMount, p *cPerms) (err error) {
		in, st, err = lookup(m, d.in, name, p)
		return err
	})
	return in, st, err
}

// on calls do with the inode of name.
func (d *dir) on(name string, do func(in *cInode, st stat) error) error {
	in, st, err := d.lookup(name)
	if err != nil {
		return err
	}
	defer d.c.release(in)
	return do(in, st)
}

func (d *dir) stat(name string) (st stat, err error) {
	err = d.on(name, func(_ *cInode, found stat) error {
		st = found
		return nil
	})
	return st, err
}

func (d *dir) readlink(name string) (target string, err error) {
	err = d.on(name, func(in *cInode, st stat) (err error) {
		target, err = ask(d.c, func(m *cMount, p *cPerms) (string, error) { return readlink(m, in, st.size, p) })
		return err
	})
	return target, err
}

// place returns name in d, for one use.
func (d *dir) place(name string) dirName { return dirName{d.in, name} }

func (d *dir) unlink(name string) error {
	return d.c.once(func(m *cMount, p *cPerms) error { return unlink(m, d.in, name, p) }, d.place(name))
}

func (d *dir) rmdir(name string) error {
	return d.c.once(func(m *cMount, p *cPerms) error { return rmdir(m, d.in, name, p) }, d.place(name))
}

// rename replaces newName; if exclusive is set and newName exists, it returns EEXIST.
func (d *dir) rename(name string, to *dir, newName string, exclusive bool) error {
	if exclusive {
		return d.renameExclusively(name, to, newName)
	}
	switch st, err := to.stat(newName); {
	case missing(err):
	case err != nil:
		return err
	case !st.mode.IsDir() && st.links > 1:
		return d.renameApart(name, to, newName)
	}
	if d.in != to.in {
		if st, err := d.stat(name); err == nil && st.mode.IsDir() {
			return d.renameApart(name, to, newName)
		}
	}
	return d.c.once(func(m *cMount, p *cPerms) error { return rename(m, d.in, name, to.in, newName, p) }, d.place(name), to.place(newName))
}

// renameApart renames in a separate short session, for two changes of which the libcephfs that makes
// them has a wrong view afterwards. If newName is one of several names of a file, it returns that the other
// names do not exist. If a directory moves to another one, it goes on counting it in the links of the old
// one.
func (d *dir) renameApart(name string, to *dir, newName string) error {
	opts := d.c.s.opts
	opts.Session = pfs.NewID()
	return d.c.once(func(here *cMount, p *cPerms) error {
		m, err := connect(opts)
		if err != nil {
			return err
		}
		defer m.end(opts.Timeout)
		defer m.kill()
		return d.onMount(here, m, p, func(from *cInode) error {
			return to.onMount(here, m, p, func(into *cInode) error {
				if err := rename(m.c, from, name, into, newName, p); err != nil {
					return err
				}
				return m.info.SyncFs()
			})
		})
	}, d.place(name), to.place(newName))
}

// onMount calls do with the directory as another mount sees it.
func (d *dir) onMount(here *cMount, m *mount, p *cPerms, do func(*cInode) error) error {
	st, err := getattr(here, d.in, p)
	if err != nil {
		return err
	}
	in, err := lookupInode(m.c, st.ino, st.snap)
	if err != nil {
		return err
	}
	defer put(m.c, in)
	return do(in)
}

// renameExclusively returns EEXIST instead of replacing newName. CephFS has no such call.
//
// A file first gets its second name by link, which fails if the name is taken, and then loses its
// first name. A service that dies between the two steps leaves both names.
//
// A directory can only replace an empty directory. Each service that renames one holds a lock on
// the new name while it checks that the name is free, so only one of them succeeds. The lock of a
// service that dies ends with its session. Mkdir takes no such lock, so an empty directory that is
// made at this moment may still be replaced.
func (d *dir) renameExclusively(name string, to *dir, newName string) error {
	st, err := d.stat(name)
	if err != nil {
		return err
	}
	if !st.mode.IsDir() {
		return d.renameByLink(name, to, newName)
	}
	unlock, err := to.lockName(newName)
	if err != nil {
		return err
	}
	defer unlock()
	switch _, err := to.stat(newName); {
	case err == nil:
		return syscall.EEXIST
	case !missing(err):
		return err
	}
	return d.rename(name, to, newName, false)
}

// renameByLink is renameExclusively of a file. A new file at the old name, made between the two
// steps, stays: this service makes it wait for both, and a file that another service has put there
// is detected. Nobody else uses the names of temporaries.
func (d *dir) renameByLink(name string, to *dir, newName string) error {
	defer d.c.m.names.Lock(dirName.compare, d.place(name), to.place(newName))()
	return d.on(name, func(in *cInode, st stat) error {
		err := d.c.lib(func(m *cMount, p *cPerms) error {
			d.c.changed.Store(true)
			return link(m, in, to.in, newName, p)
		})
		if err != nil {
			return err
		}
		after := d.with(d.c.undo())
		if !pfs.ReservedName(name) {
			if now, err := after.stat(name); err != nil || !now.same(st) {
				return posix.UnlessMissing(err)
			}
		}
		return after.c.lib(func(m *cMount, p *cPerms) error { return unlink(m, d.in, name, p) })
	})
}

// lockName locks one name in d, whether it exists or not. The lock is on a byte range of the
// directory, which has no bytes: its offset is a hash of the name. It ends with the session that
// holds it.
func (d *dir) lockName(name string) (unlock func(), err error) {
	sum := digest.Leaf([]byte(name))
	at := int64(binary.LittleEndian.Uint64(sum[:]) >> 2)
	owner := lastOwner.Add(1)
	fh, err := d.pin()
	if err != nil {
		return nil, err
	}
	err = poll(d.c, nameBusy, func() error {
		return d.c.lib(func(m *cMount, _ *cPerms) error { return setlk(m, fh, lockExclusive, at, 1, owner) })
	})
	if err != nil {
		_ = d.unpin(fh)
		return nil, err
	}
	return func() {
		quiet := d.c.undo()
		_ = quiet.lib(func(m *cMount, _ *cPerms) error { return setlk(m, fh, lockNone, at, 1, owner) })
		_ = d.unpin(fh)
	}, nil
}

// xattr returns an extended attribute of the directory itself.
func (d *dir) xattr(name string) ([]byte, error) {
	return ask(d.c, func(m *cMount, p *cPerms) ([]byte, error) { return getxattr(m, d.in, name, digest.MaxMark, p) })
}

func (d *dir) setXattr(name string, value []byte) error {
	return d.c.lib(func(m *cMount, p *cPerms) error { return setxattr(m, d.in, name, value, 0, p) })
}
