package localfs

import (
	"context"
	"io/fs"
	"os"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// SetAttr sets the attributes of attrs that mask names.
func (f *FS) SetAttr(ctx context.Context, name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) error {
	return f.setAttr(ctx, "localfs.SetAttr", name, mask, attrs)
}

func (f *FS) setAttr(ctx context.Context, op string, name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) error {
	c, err := newChange(op, name, mask, attrs)
	if err != nil {
		return err
	}
	if mask&pfs.AttrSize != 0 {
		h, err := f.openHandle(ctx, op, name, pfs.OpenWrite, 0)
		if err != nil {
			return err
		}
		defer h.Close(ctx)
		if err := h.setAttr(ctx, c); err != nil {
			return fail(op, name, err)
		}
		return fail(op, name, f.sync(h.file))
	}
	return f.at(ctx, op, name, func(d dir, base string) error {
		link := mask&pfs.AttrLink != 0
		st, err := d.stat(base, f.opts.FollowLinks && !link)
		if err == nil {
			err = rules.SetAttr(op, name, st.mode, mask)
		}
		if err != nil {
			return err
		}
		if st.mode.IsDir() && attrs.Mode&rules.Special == 0 {
			c.attrs.Mode |= st.mode & rules.Special
		}
		var marked *os.File
		if mask&pfs.AttrModTime != 0 && st.mode.IsRegular() {
			// A file that this process cannot read has no stored digest that it could know.
			if marked, err = d.openFile(base, os.O_RDONLY, 0); err == nil {
				defer marked.Close()
			}
		}
		if err := f.apply(c, namedNode{d, base, link}, marked); err != nil {
			return err
		}
		return f.syncEntry(d, base)
	})
}

// change is the new attributes of one SetAttr.
type change struct {
	mask         pfs.AttrMask
	attrs        pfs.Attrs
	uid, gid     int       // -1 to keep them
	atime, mtime time.Time // zero to keep them
}

// newChange checks the arguments of SetAttr before anything changes.
func newChange(op string, name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) (c change, err error) {
	if err := mask.Check(op, name, attrs); err != nil {
		return c, err
	}
	if mask&pfs.AttrReplication != 0 {
		return c, pfs.Errorf(op, name, pfs.Unsupported, "a local disk has no replication")
	}
	c = change{mask: mask, attrs: attrs, uid: -1, gid: -1}
	if mask&pfs.AttrUID != 0 {
		c.uid = int(attrs.UID)
	} else if mask&pfs.AttrOwner != 0 {
		c.uid, err = numberOf(attrs.Owner, userNumber)
	}
	if mask&pfs.AttrGID != 0 {
		c.gid = int(attrs.GID)
	} else if mask&pfs.AttrGroup != 0 && err == nil {
		c.gid, err = numberOf(attrs.Group, groupNumber)
	}
	if mask&pfs.AttrAccessTime != 0 {
		c.atime = attrs.AccessTime
	}
	if mask&pfs.AttrModTime != 0 {
		c.mtime = attrs.ModTime
	}
	return c, fail(op, name, err)
}

// node is a holder of attributes: a name in a directory, or an open file.
type node interface {
	chmod(mode fs.FileMode) error
	chown(uid, gid int) error             // -1 keeps either
	chtimes(atime, mtime time.Time) error // the zero time keeps either
}

// namedNode is a name in an open directory; with link, links are not followed.
type namedNode struct {
	dir  dir
	base string
	link bool
}

func (e namedNode) chmod(mode fs.FileMode) error { return e.dir.chmod(e.base, mode) }
func (e namedNode) chown(uid, gid int) error     { return e.dir.chown(e.base, uid, gid, e.link) }
func (e namedNode) chtimes(atime, mtime time.Time) error {
	return e.dir.chtimes(e.base, atime, mtime, e.link)
}

// openNode is an open file.
type openNode struct{ file *os.File }

func (n openNode) chmod(mode fs.FileMode) error         { return n.file.Chmod(mode) }
func (n openNode) chown(uid, gid int) error             { return n.file.Chown(uid, gid) }
func (n openNode) chtimes(atime, mtime time.Time) error { return setTimes(n.file, atime, mtime) }

// apply sets all attributes but the size. It sets the owner first, because the system then drops
// setuid and setgid. marked, if not nil, is the file open for reading; its stored digest stays
// valid.
func (f *FS) apply(c change, n node, marked *os.File) error {
	if c.uid >= 0 || c.gid >= 0 {
		if err := n.chown(c.uid, c.gid); err != nil {
			return err
		}
	}
	if c.mask&pfs.AttrMode != 0 {
		if err := n.chmod(c.attrs.Mode.Perm() | c.attrs.Mode&rules.Special); err != nil {
			return err
		}
	}
	switch {
	case c.mask&(pfs.AttrModTime|pfs.AttrAccessTime) == 0:
		return nil
	case c.mtime.IsZero() || marked == nil:
		return n.chtimes(c.atime, c.mtime)
	}
	f.marks.Lock()
	defer f.marks.Unlock()
	st, err := statFile(marked)
	if err != nil {
		return err
	}
	m, ok := f.readMark(marked, st)
	if err := n.chtimes(c.atime, c.mtime); err != nil || !ok {
		return err
	}
	st, err = statFile(marked)
	if err != nil {
		return err
	}
	m.ModTime = st.mtime // as the file system rounded it
	f.writeMark(marked, m)
	return nil
}

// lookAtNoLink describes base, which must not be a link.
func (f *FS) lookAtNoLink(d dir, base, op string, name pfs.Path) (stat, error) {
	st, err := f.look(d, base)
	if err == nil && st.mode&fs.ModeSymlink != 0 {
		err = pfs.E(op, name, pfs.Symlink, nil)
	}
	return st, err
}
