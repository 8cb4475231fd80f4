package fuse

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"syscall"

	raw "github.com/hanwen/go-fuse/v2/fuse"
	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
)

func (s *server) Lookup(cancel <-chan struct{}, h *raw.InHeader, base string, out *raw.EntryOut) raw.Status {
	ctx, end := s.call(cancel, h)
	defer end()
	dir := s.tree.get(h.NodeId)
	s.protect(ctx, dir)
	name, err := s.child(dir, base)
	if pfs.KindOf(err) == pfs.Invalid && !errors.Is(err, syscall.ENAMETOOLONG) {
		err = pfs.NotExist // no store has such a name
	}
	var info pfs.Info
	if err == nil {
		s.awaitReplaced(ctx, h.Pid, dir, base)
		err = s.drainChild(ctx, dir, base)
	}
	if err == nil {
		info, err = s.fs.Stat(ctx, name)
	}
	switch {
	case err == nil:
		s.found(out, dir, base, info)
	case pfs.KindOf(err) == pfs.NotExist:
		s.tree.remove(dir, base)
		s.tree.mu.Lock()
		out.SetEntryTimeout(s.timeout(dir.protection())) // node 0: the kernel caches that the name is missing
		s.tree.mu.Unlock()
		err = nil
		s.retries.end(h.Pid)
	}
	return s.status(err)
}

// found answers with the file that is base in dir.
func (s *server) found(out *raw.EntryOut, dir *node, base string, info pfs.Info) *node {
	if info.IsRegular() && info.Links > 0 {
		s.linksKnown.Store(true)
	}
	n := s.tree.enter(dir, base, info)
	s.dropOld(n, info)
	s.entry(out, n, info)
	return n
}

// made answers with base in dir, which was just made.
func (s *server) made(ctx context.Context, out *raw.EntryOut, dir *node, base string, name pfs.Path) raw.Status {
	info, err := s.fs.Stat(ctx, name)
	if err != nil {
		return s.status(err)
	}
	s.found(out, dir, base, info)
	return raw.OK
}

// own gives a new file in dir to the caller, and sets the bits of mode that stores ignore when they
// make a file.
func (s *server) own(dir *node, h *raw.InHeader, mode fs.FileMode, set func(pfs.AttrMask, pfs.Attrs) error) error {
	const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	if err := s.learnMode(dir); err != nil {
		return err
	}
	s.tree.mu.Lock()
	shared, gid := dir.asDir().mode&fs.ModeSetgid != 0, dir.asDir().gid
	s.tree.mu.Unlock()
	if !shared {
		gid = h.Gid
	}
	var mask pfs.AttrMask
	if s.asRoot && (h.Owner != s.self || shared) {
		mask = pfs.AttrUID | pfs.AttrGID
		if shared && mode.IsDir() {
			mode |= fs.ModeSetgid
		}
	}
	switch {
	case mode&special != 0:
		mask |= pfs.AttrMode
	case mask == 0:
		return nil
	case mode&fs.ModeSymlink != 0:
		mask |= pfs.AttrLink
	}
	err := set(mask, pfs.Attrs{UID: h.Uid, GID: gid, Mode: mode})
	if pfs.KindOf(err) == pfs.Unsupported {
		return nil // the store has no owners
	}
	return err
}

// learnMode asks for the attributes of a directory that another server has looked up.
func (s *server) learnMode(dir *node) error {
	s.tree.mu.Lock()
	known := dir.asDir().mode != 0
	s.tree.mu.Unlock()
	if known {
		return nil
	}
	info, err := s.stat(s.ctx, dir)
	if err == nil {
		s.tree.mu.Lock()
		dir.see(info)
		s.tree.mu.Unlock()
	}
	return err
}

// ownPath is own for the file at name.
func (s *server) ownPath(ctx context.Context, dir *node, h *raw.InHeader, mode fs.FileMode, name pfs.Path) error {
	return s.own(dir, h, mode, func(mask pfs.AttrMask, attrs pfs.Attrs) error {
		return pfs.SetAttr(ctx, s.fs, name, mask, attrs)
	})
}

// make makes base in the directory h.NodeId with do, which gets its path.
func (s *server) make(cancel <-chan struct{}, h *raw.InHeader, base string, mode fs.FileMode, out *raw.EntryOut, do func(ctx context.Context, name pfs.Path) error) raw.Status {
	ctx, end := s.call(cancel, h)
	defer end()
	dir := s.tree.get(h.NodeId)
	name, err := s.child(dir, base)
	if err == nil {
		err = do(ctx, name)
	}
	if pfs.KindOf(err) == pfs.Exist && s.journal.again(h.Unique) {
		err = s.isThere(ctx, name, func(info pfs.Info) bool { return info.Mode.Type() == mode.Type() }, err)
	}
	if err == nil {
		err = s.ownPath(ctx, dir, h, mode, name)
	}
	if err != nil {
		return s.status(err)
	}
	return s.made(ctx, out, dir, base, name)
}

// isThere returns nil if the file at name may just have been made by another server, whose journal says that it had
// begun to make it. Otherwise it returns err.
func (s *server) isThere(ctx context.Context, name pfs.Path, fits func(pfs.Info) bool, err error) error {
	if info, failed := s.fs.Stat(ctx, name); failed != nil || !fits(info) {
		return err
	}
	return nil
}

func (s *server) Mkdir(cancel <-chan struct{}, in *raw.MkdirIn, base string, out *raw.EntryOut) raw.Status {
	mode := unixmode.FileMode(in.Mode&0o7777 | syscall.S_IFDIR)
	return s.make(cancel, &in.InHeader, base, mode, out, func(ctx context.Context, name pfs.Path) error {
		// Mkdir of a store is not exclusive.
		if there, err := pfs.Exists(ctx, s.fs, name); err != nil || there {
			return cmp.Or(err, error(pfs.Exist))
		}
		return s.fs.Mkdir(ctx, name, mode.Perm())
	})
}

func (s *server) Mknod(cancel <-chan struct{}, in *raw.MknodIn, base string, out *raw.EntryOut) raw.Status {
	mode := unixmode.FileMode(in.Mode)
	return s.make(cancel, &in.InHeader, base, mode, out, func(ctx context.Context, name pfs.Path) error {
		if !mode.IsRegular() {
			return pfs.Mknod(ctx, s.fs, name, mode, uint64(in.Rdev))
		}
		h, err := pfs.OpenHandle(ctx, s.fs, name, pfs.OpenWrite|pfs.OpenCreate|pfs.OpenExclusive, mode.Perm())
		if err != nil {
			return err
		}
		return h.Close(ctx)
	})
}

func (s *server) Symlink(cancel <-chan struct{}, h *raw.InHeader, target, base string, out *raw.EntryOut) raw.Status {
	return s.make(cancel, h, base, fs.ModeSymlink, out, func(ctx context.Context, name pfs.Path) error {
		return pfs.MakeLink(ctx, s.fs, target, name)
	})
}

func (s *server) Link(cancel <-chan struct{}, in *raw.LinkIn, base string, out *raw.EntryOut) raw.Status {
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	dir := s.tree.get(in.NodeId)
	name, err := s.child(dir, base)
	old, ok := s.path(s.tree.get(in.Oldnodeid))
	switch {
	case err != nil:
		return s.status(err)
	case !ok:
		return s.status(pfs.NotExist)
	}
	n := s.tree.get(in.Oldnodeid)
	if err := s.drain(ctx, n); err != nil {
		return s.status(err)
	}
	err = pfs.HardLink(ctx, s.fs, old, name)
	if pfs.KindOf(err) == pfs.Exist && s.journal.again(in.Unique) {
		err = s.isThere(ctx, name, func(info pfs.Info) bool { return n.hasID() && info.ID == n.ino }, err)
	}
	if err != nil {
		return s.status(err)
	}
	s.tree.mu.Lock()
	if n.hasID() {
		s.tree.link(n) // so that the new name leads to it
	}
	s.tree.mu.Unlock()
	return s.made(ctx, out, dir, base, name)
}

func (s *server) Unlink(cancel <-chan struct{}, h *raw.InHeader, base string) raw.Status {
	return s.removeName(cancel, h, base, false)
}

func (s *server) Rmdir(cancel <-chan struct{}, h *raw.InHeader, base string) raw.Status {
	return s.removeName(cancel, h, base, true)
}

// removeName removes base in the directory h.NodeId.
func (s *server) removeName(cancel <-chan struct{}, h *raw.InHeader, base string, isDir bool) raw.Status {
	ctx, end := s.call(cancel, h)
	defer end()
	dir := s.tree.get(h.NodeId)
	name, err := s.child(dir, base)
	if err == nil && isDir {
		// The kernel's entry may be out of date, and Remove takes files too.
		var info pfs.Info
		if info, err = s.fs.Stat(ctx, name); err == nil && !info.IsDir() {
			err = pfs.NotDir
		}
	}
	if err == nil && s.journal.again(h.Unique) && s.isOther(ctx, dir, base, name) {
		s.tree.remove(dir, base) // it was removed, and others have made a new one
		return raw.OK
	}
	if err == nil {
		defer s.settle(ctx, dir, base)()
		err = s.fs.Remove(ctx, name)
	}
	if pfs.KindOf(err) == pfs.NotExist && s.journal.again(h.Unique) {
		err = nil
	}
	if err == nil {
		s.tree.remove(dir, base)
	}
	return s.status(err)
}

// isOther reports whether the file at name is not the file that the kernel knows as base in dir.
func (s *server) isOther(ctx context.Context, dir *node, base string, name pfs.Path) bool {
	s.tree.mu.Lock()
	n := s.tree.child(dir, base)
	s.tree.mu.Unlock()
	if n == nil || !n.hasID() {
		return false
	}
	info, err := s.fs.Stat(ctx, name)
	return err == nil && !n.is(info)
}

func (s *server) Rename(cancel <-chan struct{}, in *raw.RenameIn, base, newBase string) raw.Status {
	const noReplace = 1
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	dir, newDir := s.tree.get(in.NodeId), s.tree.get(in.Newdir)
	name, err := s.child(dir, base)
	if err != nil {
		return s.status(err)
	}
	newName, err := s.child(newDir, newBase)
	if err == nil && s.journal.again(in.Unique) && s.isOther(ctx, dir, base, name) && !s.isOther(ctx, dir, base, newName) {
		s.tree.rename(dir, base, newDir, newBase) // it was renamed, and others have made a new one
		return raw.OK
	}
	defer s.settle(ctx, newDir, newBase)()
	switch {
	case err != nil:
	case in.Flags&^noReplace != 0:
		err = pfs.Errorf("fuse.Rename", name, pfs.Invalid, "names cannot be exchanged")
	case in.Flags == noReplace:
		if err = pfs.RenameExclusive(ctx, s.fs, name, newName); pfs.KindOf(err) == pfs.Unsupported {
			err = pfs.E("fuse.Rename", name, pfs.Invalid, err) // as rename(2) has it
		}
	default:
		err = s.rename(ctx, name, newName)
	}
	if kind := pfs.KindOf(err); (kind == pfs.NotExist || kind == pfs.Exist) && s.journal.again(in.Unique) {
		if there, failed := pfs.Exists(ctx, s.fs, name); failed == nil && !there {
			err = s.isThere(ctx, newName, func(pfs.Info) bool { return true }, err)
		}
	}
	if err == nil {
		s.tree.rename(dir, base, newDir, newBase)
	}
	return s.status(err)
}

// rename renames, and replaces an empty directory by a directory, which Rename of a store does not.
func (s *server) rename(ctx context.Context, name, newName pfs.Path) error {
	err := s.fs.Rename(ctx, name, newName)
	if pfs.KindOf(err) != pfs.Exist {
		return err
	}
	old, failed := s.fs.Stat(ctx, name)
	if failed != nil {
		return failed
	}
	there, failed := s.fs.Stat(ctx, newName)
	switch {
	case failed != nil:
		return failed
	case !there.IsDir():
		return err
	case !old.IsDir():
		return pfs.IsDir
	}
	if err := s.fs.Remove(ctx, newName); err != nil {
		return err
	}
	return s.fs.Rename(ctx, name, newName)
}
