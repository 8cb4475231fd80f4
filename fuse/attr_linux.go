package fuse

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	raw "github.com/hanwen/go-fuse/v2/fuse"
	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
)

// blockSize is the st_blksize, the suggested size of reads and writes.
const blockSize = 128 << 10

// fill describes the file info of node n to the kernel.
func (s *server) fill(out *raw.Attr, n *node, info pfs.Info) {
	size := n.currentSize(info.Size)
	*out = raw.Attr{
		Ino:     n.ino,
		Size:    uint64(size),
		Blocks:  uint64(size+511) / 512,
		Mode:    unixmode.Bits(info.Mode),
		Nlink:   info.Links,
		Owner:   raw.Owner{Uid: info.UID, Gid: info.GID},
		Rdev:    uint32(info.Device),
		Blksize: blockSize,
	}
	n.shown = sumOf(info)
	if out.Nlink == 0 && n.name.parent != nil || n == s.tree.root {
		out.Nlink = max(1, out.Nlink)
	}
	if s.opts.Squash {
		out.Owner = s.self
	}
	times := [...]struct {
		t    time.Time
		sec  *uint64
		nsec *uint32
	}{{info.ModTime, &out.Mtime, &out.Mtimensec}, {info.ChangeTime, &out.Ctime, &out.Ctimensec}, {info.AccessTime, &out.Atime, &out.Atimensec}}
	for _, f := range times {
		if f.t.IsZero() { // not kept
			f.t = info.ModTime
		}
		if !f.t.IsZero() {
			*f.sec, *f.nsec = uint64(f.t.Unix()), uint32(f.t.Nanosecond())
		}
	}
}

// entry describes the file info of node n, which was looked up, to the kernel.
func (s *server) entry(out *raw.EntryOut, n *node, info pfs.Info) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	out.NodeId, out.Generation = n.num, 1
	kept := s.opts.Timeout
	if n.name.parent != nil {
		kept = s.timeout(n.name.parent.asDir().protection)
	}
	out.SetEntryTimeout(kept)
	out.SetAttrTimeout(s.timeout(n.protection()))
	s.fill(&out.Attr, n, info)
}

// stat describes the file of n as it is now.
func (s *server) stat(ctx context.Context, n *node) (pfs.Info, error) {
	if err := s.drain(ctx, n); err != nil {
		return pfs.Info{}, err
	}
	// A read of a local file makes the kernel ask for the access time. The tree knows no owners.
	if info, ok := s.current(n); ok && s.opts.Squash {
		return info, nil
	}
	// A handle is bound to the file, and knows how far it has written.
	if o := s.tree.anyOpen(n, func(o *openFile) bool { return o.handle != nil }); o != nil {
		info, err := o.handle.Stat(ctx)
		if err == nil || pfs.KindOf(err) != pfs.Stale && pfs.KindOf(err) != pfs.Closed {
			return info, err
		}
	}
	err := error(pfs.Stale)
	name, ok := s.path(n)
	switch {
	case !ok && n.kind().IsDir(): // it was removed, and is open or the directory in which a program works
		s.tree.mu.Lock()
		defer s.tree.mu.Unlock()
		d := n.asDir()
		return pfs.Info{Mode: n.kind() | d.mode, UID: d.uid, GID: d.gid, ModTime: d.mtime}, nil
	case ok:
		var info pfs.Info
		info, err = s.fs.Stat(ctx, name)
		if err == nil && n.is(info) {
			return info, nil
		}
		if err == nil || gone(err) {
			err = pfs.Errorf("fuse.stat", name, pfs.Stale, "another file has this name now")
		}
	}
	if pfs.KindOf(err) == pfs.Stale {
		for _, o := range s.tree.allOpen(n) {
			if info := o.info(); info.Name != "" {
				info.Links = 0
				return info, nil
			}
		}
	}
	return pfs.Info{}, err
}

// gone reports whether an error at the path of a node means that its file no longer exists.
func gone(err error) bool {
	switch pfs.KindOf(err) {
	case pfs.NotExist, pfs.NotDir, pfs.Symlink:
		return true
	}
	return false
}

// stale converts the error of an operation at the path of a node. If nothing exists there, the
// kernel must look the name up again.
func stale(err error) error {
	if err != nil && gone(err) {
		return pfs.E("fuse.stale", "", pfs.Stale, err)
	}
	return err
}

// attributes answers a request with the attributes of n.
func (s *server) attributes(ctx context.Context, n *node, out *raw.AttrOut) raw.Status {
	info, err := s.stat(ctx, n)
	if err != nil {
		return s.status(err)
	}
	s.dropOld(n, info)
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	out.SetTimeout(s.timeout(n.protection()))
	s.tree.seen(n, info)
	s.fill(&out.Attr, n, info)
	return raw.OK
}

func (s *server) GetAttr(cancel <-chan struct{}, in *raw.GetAttrIn, out *raw.AttrOut) raw.Status {
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	return s.attributes(ctx, s.tree.get(in.NodeId), out)
}

// Access is called if the kernel does not check permissions itself. The store then checks them in each
// operation, so only the right to execute a file is checked here.
func (s *server) Access(cancel <-chan struct{}, in *raw.AccessIn) raw.Status {
	const execute = 1
	n := s.tree.get(in.NodeId)
	if in.Mask&execute == 0 || !n.kind().IsRegular() {
		return raw.OK
	}
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	info, err := s.stat(ctx, n)
	if err == nil && info.Mode&0o111 == 0 {
		return raw.EACCES
	}
	return s.status(err)
}

func (s *server) Readlink(cancel <-chan struct{}, h *raw.InHeader) ([]byte, raw.Status) {
	ctx, end := s.call(cancel, h)
	defer end()
	info, err := s.stat(ctx, s.tree.get(h.NodeId))
	return []byte(info.Target), s.status(err)
}

func (s *server) SetAttr(cancel <-chan struct{}, in *raw.SetAttrIn, out *raw.AttrOut) raw.Status {
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	n := s.tree.get(in.NodeId)
	mask, attrs, err := s.attrsOf(in)
	if err == nil && mask&pfs.AttrMode == 0 && n.kind().IsRegular() && clearsSetuid(in) {
		var info pfs.Info
		if info, err = s.stat(ctx, n); setuidBits(info.Mode) != 0 {
			mask |= pfs.AttrMode
			attrs.Mode = info.Mode &^ setuidBits(info.Mode)
		}
	}
	if err == nil {
		var h pfs.Handle
		if fh, ok := in.GetFh(); ok {
			o := s.file(fh)
			o.changed.Store(true)
			h = o.handle
		}
		err = s.setAttr(ctx, n, h, mask, attrs)
	}
	if err != nil {
		return s.status(err)
	}
	return s.attributes(ctx, n, out)
}

// clearsSetuid reports whether a request clears the setuid and setgid bits of a file: a change of the owner, a change of
// the size by a user other than root, and a request that sets nothing, with which the kernel asks to clear the bits.
func clearsSetuid(in *raw.SetAttrIn) bool {
	const sets = raw.FATTR_MODE | raw.FATTR_SIZE | raw.FATTR_ATIME | raw.FATTR_MTIME
	return in.Valid&(raw.FATTR_UID|raw.FATTR_GID|raw.FATTR_KILL_SUIDGID) != 0 || in.Valid&sets == 0
}

// attrsOf returns the attributes to set.
func (s *server) attrsOf(in *raw.SetAttrIn) (mask pfs.AttrMask, attrs pfs.Attrs, err error) {
	if mode, ok := in.GetMode(); ok {
		mask |= pfs.AttrMode
		attrs.Mode = unixmode.FileMode(mode | syscall.S_IFREG)
	}
	if size, ok := in.GetSize(); ok {
		mask |= pfs.AttrSize
		attrs.Size = int64(size)
	}
	if t, ok := in.GetMTime(); ok {
		mask |= pfs.AttrModTime
		attrs.ModTime = t
	}
	if t, ok := in.GetATime(); ok {
		mask |= pfs.AttrAccessTime
		attrs.AccessTime = t
	}
	uid, setUID := in.GetUID()
	gid, setGID := in.GetGID()
	switch {
	case s.opts.Squash && (setUID && uid != s.self.Uid || setGID && gid != s.self.Gid):
		return 0, attrs, syscall.EPERM
	case s.opts.Squash:
		return mask, attrs, nil
	}
	if setUID {
		mask |= pfs.AttrUID
		attrs.UID = uid
	}
	if setGID {
		mask |= pfs.AttrGID
		attrs.GID = gid
	}
	return mask, attrs, nil
}

// setAttr sets attributes of n, through the open file h if it is not nil.
func (s *server) setAttr(ctx context.Context, n *node, h pfs.Handle, mask pfs.AttrMask, attrs pfs.Attrs) error {
	if err := s.drain(ctx, n); err != nil {
		return err
	}
	name, ok := s.path(n)
	if h == nil && !ok {
		o := s.tree.anyOpen(n, func(o *openFile) bool { return o.handle != nil })
		if o == nil {
			return pfs.Stale
		}
		h = o.handle
	}
	if mask&pfs.AttrSize != 0 {
		defer s.tree.wrote(n)
	}
	if n.kind() == fs.ModeSymlink {
		mask |= pfs.AttrLink
	}
	set := func() error {
		switch {
		case mask&^pfs.AttrLink == 0:
			return nil
		case h != nil:
			return h.SetAttr(ctx, mask, attrs)
		}
		return stale(pfs.SetAttr(ctx, s.fs, name, mask, attrs))
	}
	err := set()
	if attrs.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		s.setuids.Add(1)
	}
	if mask&pfs.AttrAccessTime != 0 && pfs.KindOf(err) == pfs.Unsupported {
		mask &^= pfs.AttrAccessTime // as on a file system that does not keep it
		err = set()
	}
	return err
}

// quotaWait bounds how long a statfs waits for quotas: a store may have to count a tree.
const quotaWait = time.Second

// space is a cached answer to statfs. It is used for Options.Timeout, or for statfsShare times its computing time if that is longer.
type space struct {
	answer raw.StatfsOut
	until  time.Duration // as since has it
}

const (
	statfsShare = 100
	mostSpaces  = 1000 // answers that are kept
)

func (s *server) StatFs(cancel <-chan struct{}, h *raw.InHeader, out *raw.StatfsOut) raw.Status {
	ctx, end := s.call(cancel, h)
	defer end()
	n := s.tree.get(h.NodeId)
	s.tree.mu.Lock()
	if n.asDir() == nil && n.name.parent != nil {
		n = n.name.parent
	}
	s.tree.mu.Unlock()
	name, ok := s.path(n)
	if !ok {
		return s.status(pfs.Stale)
	}
	began := since()
	s.mu.Lock()
	known := s.spaces[name]
	s.mu.Unlock()
	if began < known.until {
		*out = known.answer
		return raw.OK
	}
	if err := s.statfs(ctx, name, out); err != nil {
		return s.status(stale(err))
	}
	now := since()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.spaces) >= mostSpaces {
		clear(s.spaces)
	}
	s.spaces[name] = space{*out, now + max(s.opts.Timeout, statfsShare*(now-began))}
	return raw.OK
}

// statfs describes the space of the directory name, within its quotas.
func (s *server) statfs(ctx context.Context, name pfs.Path, out *raw.StatfsOut) error {
	out.Bsize, out.Frsize, out.NameLen = 4096, 4096, pfs.MaxName
	space, err := pfs.SpaceOf(ctx, s.fs, name)
	if err != nil && pfs.KindOf(err) != pfs.Unsupported {
		return err
	}
	total, free := space.Used+space.Free, space.Free
	within, stop := context.WithTimeout(ctx, quotaWait)
	defer stop()
	for dir := name; within.Err() == nil; dir = dir.Parent() {
		if u, err := s.usage(within, dir); err == nil {
			if u.MaxBytes > 0 && (total == 0 || u.MaxBytes-u.Bytes < free) {
				total, free = u.MaxBytes, max(0, u.MaxBytes-u.Bytes)
			}
			if left := uint64(max(0, u.MaxFiles-u.Files-u.Dirs)); u.MaxFiles > 0 && (out.Files == 0 || left < out.Ffree) {
				out.Files, out.Ffree = uint64(u.MaxFiles), left
			}
		}
		if dir == pfs.Root {
			break
		}
	}
	out.Blocks, out.Bfree, out.Bavail = uint64(total)/4096, uint64(free)/4096, uint64(free)/4096
	return nil
}

// usage returns the usage of dir where the store knows it without a walk.
func (s *server) usage(ctx context.Context, dir pfs.Path) (pfs.Usage, error) {
	can, err := pfs.CapabilitiesOf(ctx, s.fs, dir)
	if err == nil && !can.Has(pfs.CanUsage|pfs.CanSetQuota) {
		err = pfs.Unsupported
	}
	if err != nil {
		return pfs.Usage{}, err
	}
	return pfs.UsageOf(ctx, s.fs, dir)
}

// statusXattr is an extended attribute of the top directory of each mount. Its value is the mount's
// Status in JSON, for the user who mounted, and root. Its name begins with "system.", because the kernel reads such
// attributes without a permission check: the check would need the attributes of the directory, and so wait for a silent store.
const statusXattr = "system.pfs.mount"

func (s *server) GetXAttr(cancel <-chan struct{}, h *raw.InHeader, attr string, dest []byte) (uint32, raw.Status) {
	if h.NodeId == s.tree.root.num && attr == statusXattr {
		if !s.ours(h) {
			return 0, raw.EACCES
		}
		st := Status{Root: string(s.opts.Root), ReadOnly: s.opts.ReadOnly, OpenMode: s.openMode(), ServerPID: os.Getpid(), State: serving}
		if s.opts.Broker != nil {
			st.BrokerPID, st.Replacements = s.opts.Broker.PID(), s.opts.Broker.Replacements()
			if r := s.opts.Broker.Refused(); r.Upgrades > 0 {
				st.Refused = &r
			}
		}
		if s.opts.Cache != nil {
			st.Cache = s.opts.Cache()
		}
		if s.opts.Pending != nil {
			st.Pending = s.opts.Pending()
		}
		st.Behind = s.bytesBehind()
		value, err := json.Marshal(st)
		return s.value(value, err, dest)
	}
	ctx, end := s.call(cancel, h)
	defer end()
	if command, ok := strings.CutPrefix(attr, controlXattr); ok && h.NodeId == s.tree.root.num {
		return s.control(ctx, h, command, dest)
	}
	name, ok := s.path(s.tree.get(h.NodeId))
	if ok && attr == warmXattr {
		value, err := json.Marshal(s.warm(ctx, s.tree.get(h.NodeId), name))
		return s.value(value, err, dest)
	}
	if !ok || !strings.HasPrefix(attr, pfs.XattrPrefix) {
		return 0, raw.ENODATA
	}
	value, err := pfs.XattrsOf(s.fs).Xattr(ctx, name, attr)
	return s.value(value, stale(err), dest)
}

// controlXattr begins the names of attributes of the top directory. Reading one executes the command that
// follows the prefix. Unlike setting an attribute, reading one takes no lock in the kernel.
const controlXattr = statusXattr + "."

// answer is the value of such an attribute. It describes an error in more detail than an errno.
type answer struct {
	Result any      `json:"result,omitempty"`
	Failed bool     `json:"failed"`
	Kind   pfs.Kind `json:"kind,omitempty"`
	Path   pfs.Path `json:"path,omitempty"`
	Cause  string   `json:"cause,omitempty"`
}

// answerOf returns the answer with result or err.
func answerOf(result any, err error) answer {
	if err == nil {
		return answer{Result: result}
	}
	a := answer{Failed: true, Kind: pfs.KindOf(err), Cause: err.Error()}
	if e := (*pfs.Error)(nil); errors.As(err, &e) {
		a.Path, a.Cause = e.Path, e.Cause()
	}
	return a
}

// failure returns the error of a.
func (a answer) failure(op string) error {
	switch {
	case !a.Failed:
		return nil
	case a.Cause == "":
		return pfs.E(op, a.Path, a.Kind, nil)
	}
	return pfs.Errorf(op, a.Path, a.Kind, "%s", a.Cause)
}

// ours reports whether a request comes from the user who mounted, or from root.
func (s *server) ours(h *raw.InHeader) bool { return h.Uid == 0 || h.Uid == s.self.Uid }

// control sends the bytes written behind, and executes a command, for the user who mounted, or root.
func (s *server) control(ctx context.Context, h *raw.InHeader, command string, dest []byte) (uint32, raw.Status) {
	if !s.ours(h) {
		return 0, raw.ENODATA
	}
	err := s.drainAll(ctx)
	switch {
	case s.opts.Control != nil:
		err = cmp.Or(s.opts.Control(ctx, command), err)
	case err == nil:
		return 0, raw.ENODATA
	}
	text, err := json.Marshal(answerOf(nil, err))
	return s.value(text, err, dest)
}

func (s *server) ListXAttr(cancel <-chan struct{}, h *raw.InHeader, dest []byte) (uint32, raw.Status) {
	ctx, end := s.call(cancel, h)
	defer end()
	name, ok := s.path(s.tree.get(h.NodeId))
	if !ok {
		return 0, raw.OK
	}
	attrs, err := pfs.XattrsOf(s.fs).ListXattr(ctx, name)
	switch pfs.KindOf(err) {
	case pfs.Unsupported, pfs.Symlink:
		return 0, raw.OK // there are none
	}
	var list []byte
	for _, a := range attrs {
		list = append(append(list, a...), 0)
	}
	return s.value(list, stale(err), dest)
}

// value copies value to dest, which is empty if the caller asks for the length.
func (s *server) value(value []byte, err error, dest []byte) (uint32, raw.Status) {
	switch {
	case err != nil:
		return 0, s.status(err)
	case len(dest) < len(value):
		return uint32(len(value)), raw.ERANGE
	}
	return uint32(copy(dest, value)), raw.OK
}

func (s *server) SetXAttr(cancel <-chan struct{}, in *raw.SetXAttrIn, attr string, data []byte) raw.Status {
	ctx, end := s.call(cancel, &in.InHeader)
	defer end()
	name, ok := s.path(s.tree.get(in.NodeId))
	if !ok {
		return s.status(pfs.Stale)
	}
	err := pfs.XattrsOf(s.fs).SetXattr(ctx, name, attr, data, pfs.XattrFlags(in.Flags))
	if pfs.KindOf(err) == pfs.Exist && s.journal.again(in.Unique) {
		if value, failed := pfs.XattrsOf(s.fs).Xattr(ctx, name, attr); failed == nil && bytes.Equal(value, data) {
			err = nil
		}
	}
	return s.status(stale(err))
}

func (s *server) RemoveXAttr(cancel <-chan struct{}, h *raw.InHeader, attr string) raw.Status {
	ctx, end := s.call(cancel, h)
	defer end()
	name, ok := s.path(s.tree.get(h.NodeId))
	if !ok {
		return s.status(pfs.Stale)
	}
	err := pfs.XattrsOf(s.fs).RemoveXattr(ctx, name, attr)
	if pfs.KindOf(err) == pfs.NoAttr && s.journal.again(h.Unique) {
		err = nil
	}
	return s.status(stale(err))
}
