package pfs

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"
)

// Access is what an operation does to a path; permissions are granted for accesses. The numbers
// cross the wire: the list is append-only.
type Access uint8

// The accesses.
const (
	// Lookup describes one path: Stat, ListXattr, Capabilities.
	Lookup Access = iota
	// Read reads content: Open, OpenHandle, Digest, BlockLocations, Xattr, the source of
	// a copy.
	Read
	// ListDir reads the names in a directory.
	ListDir
	// Write makes or changes content or attributes: Create, OpenHandle, SetAttr,
	// SetXattr, WriteBatch, the target of a copy, a rename or a link.
	Write
	// Make makes a directory.
	Make
	// Delete removes a name: Remove, RemoveTree, Rename's old name. A hard link needs it
	// too, because it takes the same accesses as a rename.
	Delete
	// Discard removes uploads below a directory: Sweep.
	Discard
	// Administer changes what the owner may not: SetQuota, SetAttr of an owner or a group,
	// the setuid and setgid bits, Mknod of a device.
	Administer
	// Measure counts a tree or describes its store: Usage, Space.
	Measure

	numAccesses
)

// Valid reports whether a is in the list of accesses.
func (a Access) Valid() bool { return a < numAccesses }

// Changes reports whether a changes anything.
func (a Access) Changes() bool { return a >= Write && a != Measure }

// Interceptor passes one operation on name to the file system that does it. It may refuse the
// operation, choose the file system and the name there, call more than once, or change the error.
type Interceptor func(ctx context.Context, a Access, name Path, call func(FileSystem, Path) error) error

// PathsInterceptor passes one operation on several paths to the file system that does it. It
// usually ends with op.Each; it may also use call itself, once.
type PathsInterceptor func(ctx context.Context, op PathsOp, call PathsCall) error

// PathsCall does an operation on several paths of fsys, in the order of PathsOp.Uses.
type PathsCall func(fsys FileSystem, paths []Path) error

// PathsOp is an operation on several paths.
type PathsOp struct {
	Name string // of the method: "Rename", "RenameExclusive", "CopyFile", "HardLink" or "Concat"
	Uses []Use  // the target is the last

	layer *Layer
}

// Use is what an operation does to one of its paths.
type Use struct {
	Access Access
	Path   Path
}

// Target returns the path that the operation makes or changes.
func (op PathsOp) Target() Path { return op.Uses[len(op.Uses)-1].Path }

// Each passes op through the Interceptor for one path after the other, as a Layer without a
// PathsInterceptor does. Paths that end on different file systems answer CrossStore.
func (op PathsOp) Each(ctx context.Context, call PathsCall) error {
	return op.each(ctx, call, nil, make([]Path, 0, len(op.Uses)))
}

func (op PathsOp) each(ctx context.Context, call PathsCall, on FileSystem, inner []Path) error {
	n := len(inner)
	if n == len(op.Uses) {
		return call(on, inner)
	}
	use := op.Uses[n]
	return op.layer.route(ctx, "pfs."+op.Name, use.Access, use.Path, func(fsys FileSystem, p Path) error {
		if on != nil && fsys != on {
			return Errorf("pfs."+op.Name, use.Path, CrossStore, "%s and %s are on different stores", op.Uses[0].Path, use.Path)
		}
		return op.each(ctx, call, fsys, append(inner[:n:n], p))
	})
}

// Hooks are what a Layer does in addition to its Interceptor. Each may be nil.
type Hooks struct {
	// Paths passes the operations on several paths. nil means PathsOp.Each.
	Paths PathsInterceptor

	// Open opens the file name of fsys, instead of fsys.Open. The caller gets the File as it
	// is, so that a decorator can add methods to it.
	Open func(ctx context.Context, fsys FileSystem, name Path) (File, error)

	// Handle may refuse an OpenHandle.
	Handle func(name Path, flags OpenFlags) error

	// Info changes the results of Stat and List about name.
	Info func(ctx context.Context, name Path, info Info) (Info, error)

	// Hide reports whether listings leave out name. For an entry that cannot be in a Path,
	// the last element of name is its quoted form, or "?".
	Hide func(name Path) bool

	// Apart reports whether Usage sums the listed entries of dir, without the entry named
	// except, instead of asking the store.
	Apart func(dir Path) (apart bool, except string)

	// Again reports whether an entry of a batch that failed with err may succeed now. Then
	// it and the failed entries after it are written again.
	Again func(ctx context.Context, name Path, err error) bool

	// Wrote is called after something new was published under name, or may have been.
	Wrote func(name Path)
}

// Layer makes a FileSystem from an Interceptor: every operation on a path, including the optional
// capabilities, passes this one function. Decorators, the mux and the namespace are Layers, so
// no decorator can forget an operation.
//
// Errors have the path that the caller used. Opening a file checks what it is open for; the
// commit of an upload and the SetAttr of a handle pass the Interceptor again.
type Layer struct {
	through Interceptor
	hooks   Hooks
}

var (
	_ FileSystem         = (*Layer)(nil)
	_ Symlinker          = (*Layer)(nil)
	_ HardLinker         = (*Layer)(nil)
	_ NodeMaker          = (*Layer)(nil)
	_ AttrSetter         = (*Layer)(nil)
	_ XattrKeeper        = (*Layer)(nil)
	_ HandleOpener       = (*Layer)(nil)
	_ CapabilityReporter = (*Layer)(nil)
	_ ExclusiveRenamer   = (*Layer)(nil)
	_ TreeRemover        = (*Layer)(nil)
	_ SpaceReporter      = (*Layer)(nil)
	_ UsageReporter      = (*Layer)(nil)
	_ QuotaSetter        = (*Layer)(nil)
	_ Copier             = (*Layer)(nil)
	_ Concatenator       = (*Layer)(nil)
	_ Digester           = (*Layer)(nil)
	_ BatchWriter        = (*Layer)(nil)
	_ Sweeper            = (*Layer)(nil)
	_ BlockLocator       = (*Layer)(nil)
	_ AccessChecker      = (*Layer)(nil)
)

// NewLayer returns the file system whose operations pass i. File systems that i passes to call
// must be comparable with ==.
func NewLayer(i Interceptor) *Layer { return NewLayerWith(i, Hooks{}) }

// NewLayerWith is NewLayer with hooks.
func NewLayerWith(i Interceptor, hooks Hooks) *Layer { return &Layer{through: i, hooks: hooks} }

// route checks name and passes call through the layer. Errors still have the inner paths, which
// the Interceptor itself must see.
func (l *Layer) route(ctx context.Context, op string, a Access, name Path, call func(FileSystem, Path) error) error {
	if err := CheckPath(op, name); err != nil {
		return err
	}
	if err := CheckContext(ctx, op, name); err != nil {
		return err
	}
	return l.through(ctx, a, name, call)
}

// one does an operation on one path. It passes the Interceptor with each of the accesses; the
// last one chooses the file system.
func (l *Layer) one(ctx context.Context, op string, a Access, name Path, call func(FileSystem, Path) error, more ...Access) error {
	inner, below := name, error(nil)
	last := func(fsys FileSystem, p Path) error {
		inner, below = p, call(fsys, p)
		return below
	}
	for _, b := range slices.Backward(more) {
		next := last
		last = func(FileSystem, Path) error { return l.route(ctx, op, b, name, next) }
	}
	err := l.route(ctx, op, a, name, last)
	if err != below {
		return err // from the layer itself: it has the caller's path
	}
	return renamed(err, inner, name)
}

// wrote calls the Wrote hook.
func (l *Layer) wrote(name Path) {
	if l.hooks.Wrote != nil {
		l.hooks.Wrote(name)
	}
}

// paths does an operation on several paths, of which the last is the target.
func (l *Layer) paths(ctx context.Context, name string, uses []Use, call PathsCall) error {
	for _, u := range uses {
		if err := CheckPath("pfs."+name, u.Path); err != nil {
			return err
		}
	}
	if err := CheckContext(ctx, "pfs."+name, uses[0].Path); err != nil {
		return err
	}
	op := PathsOp{Name: name, Uses: uses, layer: l}
	defer l.wrote(op.Target())
	var inner []Path
	var below error
	last := func(fsys FileSystem, paths []Path) error {
		inner, below = paths, call(fsys, paths)
		return below
	}
	carry := l.hooks.Paths
	if carry == nil {
		carry = func(ctx context.Context, op PathsOp, call PathsCall) error { return op.Each(ctx, call) }
	}
	err := carry(ctx, op, last)
	var e *Error
	if err == nil || err != below || !errors.As(err, &e) {
		return err
	}
	// The error belongs to the path that it has; else to one above or below it; if two are
	// equally near, to the target.
	at := slices.Index(inner, e.Path)
	for i := len(inner) - 1; i >= 0 && at < 0; i-- {
		if inner[i].Within(e.Path) || e.Path.Within(inner[i]) {
			at = i
		}
	}
	if at < 0 {
		at = 0
	}
	return renamed(err, inner[at], uses[at].Path)
}

// renamed replaces the inner path in err by the caller's path.
func renamed(err error, inner, outer Path) error {
	var e *Error
	if err == nil || inner == outer || !errors.As(err, &e) || e.Path == "" {
		return err
	}
	// The layer replaced a leading part of the path: drop the common tail.
	from, to := inner, outer
	for from != Root && to != Root && from.Base() == to.Base() {
		from, to = from.Parent(), to.Parent()
	}
	if !e.Path.Within(from) {
		return err
	}
	c := *e
	c.Path = e.Path.Rebase(from, to)
	return &c
}

func (l *Layer) Open(ctx context.Context, name Path) (f File, err error) {
	err = l.one(ctx, "pfs.Open", Read, name, func(fsys FileSystem, p Path) error {
		if l.hooks.Open != nil {
			f, err = l.hooks.Open(ctx, fsys, p)
			return err
		}
		g, err := fsys.Open(ctx, p)
		if err == nil {
			f = layerFile{g, p, name}
		}
		return err
	})
	return f, err
}

func (l *Layer) Create(ctx context.Context, name Path, opts CreateOptions) (w Staged, err error) {
	err = l.one(ctx, "pfs.Create", Write, name, func(fsys FileSystem, p Path) error {
		s, err := fsys.Create(ctx, p, opts)
		if err == nil {
			w = &layerStaged{s, l, p, name}
		}
		return err
	})
	return w, err
}

func (l *Layer) Stat(ctx context.Context, name Path) (info Info, err error) {
	err = l.one(ctx, "pfs.Stat", Lookup, name, func(fsys FileSystem, p Path) error {
		info, err = fsys.Stat(ctx, p)
		return err
	})
	if err == nil {
		info.Name = name.Base()
		if l.hooks.Info != nil {
			info, err = l.hooks.Info(ctx, name, info)
		}
	}
	return info, err
}

// List may return fewer entries than the directory below has, even none, and still have a Next.
func (l *Layer) List(ctx context.Context, dir Path, opts ListOptions) (page Page, err error) {
	err = l.one(ctx, "pfs.List", ListDir, dir, func(fsys FileSystem, p Path) error {
		page, err = fsys.List(ctx, p, opts)
		return err
	})
	if err != nil {
		return page, err
	}
	if hide := l.hooks.Hide; hide != nil {
		page.Entries = without(page.Entries, func(e Info) bool { return hide(dir.Join(e.Name)) })
		page.Unnamed = without(page.Unnamed, func(quoted string) bool {
			if CheckName(quoted) != "" {
				quoted = "?"
			}
			return hide(dir.Join(quoted))
		})
	}
	for i, e := range page.Entries {
		if l.hooks.Info == nil {
			break
		}
		info, err := l.hooks.Info(ctx, dir.Join(e.Name), e)
		if err != nil && !errors.Is(err, NotExist) {
			return Page{}, err
		}
		if info != e {
			page.Entries = slices.Clone(page.Entries) // it may be in a cache below
			page.Entries[i] = info
		}
	}
	return page, nil
}

// without returns s without the elements that hide reports. s itself may be in a cache below.
func without[E any](s []E, hide func(E) bool) []E {
	if !slices.ContainsFunc(s, hide) {
		return s
	}
	return slices.DeleteFunc(slices.Clone(s), hide)
}

func (l *Layer) Mkdir(ctx context.Context, name Path, mode fs.FileMode) error {
	return l.one(ctx, "pfs.Mkdir", Make, name, func(fsys FileSystem, p Path) error {
		return fsys.Mkdir(ctx, p, mode)
	})
}

func (l *Layer) Remove(ctx context.Context, name Path) error {
	return l.one(ctx, "pfs.Remove", Delete, name, func(fsys FileSystem, p Path) error {
		return fsys.Remove(ctx, p)
	})
}

func (l *Layer) Rename(ctx context.Context, oldName, newName Path) error {
	return l.paths(ctx, "Rename", []Use{{Delete, oldName}, {Write, newName}}, func(fsys FileSystem, p []Path) error {
		return fsys.Rename(ctx, p[0], p[1])
	})
}

func (l *Layer) RenameExclusive(ctx context.Context, oldName, newName Path) error {
	return l.paths(ctx, "RenameExclusive", []Use{{Delete, oldName}, {Write, newName}}, func(fsys FileSystem, p []Path) error {
		return RenameExclusive(ctx, fsys, p[0], p[1])
	})
}

func (l *Layer) HardLink(ctx context.Context, oldName, newName Path) error {
	return l.paths(ctx, "HardLink", []Use{{Delete, oldName}, {Write, newName}}, func(fsys FileSystem, p []Path) error {
		return HardLink(ctx, fsys, p[0], p[1])
	})
}

func (l *Layer) CopyFile(ctx context.Context, src, dst Path, opts CopyOptions, progress func(int64)) (info Info, err error) {
	err = l.paths(ctx, "CopyFile", []Use{{Read, src}, {Write, dst}}, func(fsys FileSystem, p []Path) error {
		info, err = CopyInside(ctx, fsys, p[0], p[1], opts, progress)
		return err
	})
	if err == nil {
		info.Name = dst.Base()
	}
	return info, err
}

func (l *Layer) Concat(ctx context.Context, target Path, sources []Path) error {
	uses := make([]Use, 0, len(sources)+1)
	for _, s := range sources {
		uses = append(uses, Use{Delete, s})
	}
	return l.paths(ctx, "Concat", append(uses, Use{Write, target}), func(fsys FileSystem, p []Path) error {
		return Concat(ctx, fsys, p[len(sources)], p[:len(sources)])
	})
}

func (l *Layer) Symlink(ctx context.Context, target string, name Path) error {
	return l.one(ctx, "pfs.Symlink", Write, name, func(fsys FileSystem, p Path) error {
		return MakeLink(ctx, fsys, target, p)
	})
}

func (l *Layer) Mknod(ctx context.Context, name Path, mode fs.FileMode, device uint64) error {
	var more []Access
	if mode&fs.ModeDevice != 0 {
		more = []Access{Administer}
	}
	return l.one(ctx, "pfs.Mknod", Write, name, func(fsys FileSystem, p Path) error {
		return Mknod(ctx, fsys, p, mode, device)
	}, more...)
}

func (l *Layer) OpenHandle(ctx context.Context, name Path, flags OpenFlags, perm fs.FileMode) (h Handle, err error) {
	const op = "pfs.OpenHandle"
	if err := flags.Check(op, name); err != nil {
		return nil, err
	}
	if refuse := l.hooks.Handle; refuse != nil {
		if err := refuse(name, flags); err != nil {
			return nil, err
		}
	}
	first, more := Read, []Access{Write}
	switch {
	case flags&OpenWrite == 0:
		more = nil
	case flags&OpenRead == 0:
		first, more = Write, nil
	}
	err = l.one(ctx, op, first, name, func(fsys FileSystem, p Path) error {
		g, err := OpenHandle(ctx, fsys, p, flags, perm)
		if err == nil {
			h = &layerHandle{g, l, p, name}
		}
		return err
	}, more...)
	return h, err
}

func (l *Layer) SetAttr(ctx context.Context, name Path, mask AttrMask, attrs Attrs) error {
	a, more := mask.access(attrs)
	return l.one(ctx, "pfs.SetAttr", a, name, func(fsys FileSystem, p Path) error {
		return SetAttr(ctx, fsys, p, mask, attrs)
	}, more...)
}

// access returns the accesses that setting the attributes of m needs.
func (m AttrMask) access(attrs Attrs) (a Access, more []Access) {
	const owners = AttrUID | AttrGID | AttrOwner | AttrGroup
	administers := m&owners != 0 || m&AttrMode != 0 && attrs.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0
	switch {
	case m&^(owners|AttrLink) == 0 && administers:
		return Administer, nil
	case administers:
		return Write, []Access{Administer}
	}
	return Write, nil
}

func (l *Layer) Xattr(ctx context.Context, name Path, attr string) (value []byte, err error) {
	err = l.one(ctx, "pfs.Xattr", Read, name, func(fsys FileSystem, p Path) error {
		value, err = XattrsOf(fsys).Xattr(ctx, p, attr)
		return err
	})
	return value, err
}

func (l *Layer) SetXattr(ctx context.Context, name Path, attr string, value []byte, flags XattrFlags) error {
	return l.one(ctx, "pfs.SetXattr", Write, name, func(fsys FileSystem, p Path) error {
		return XattrsOf(fsys).SetXattr(ctx, p, attr, value, flags)
	})
}

func (l *Layer) ListXattr(ctx context.Context, name Path) (attrs []string, err error) {
	err = l.one(ctx, "pfs.ListXattr", Lookup, name, func(fsys FileSystem, p Path) error {
		attrs, err = XattrsOf(fsys).ListXattr(ctx, p)
		return err
	})
	return attrs, err
}

func (l *Layer) RemoveXattr(ctx context.Context, name Path, attr string) error {
	return l.one(ctx, "pfs.RemoveXattr", Write, name, func(fsys FileSystem, p Path) error {
		return XattrsOf(fsys).RemoveXattr(ctx, p, attr)
	})
}

func (l *Layer) Capabilities(ctx context.Context, name Path) (c Capabilities, err error) {
	err = l.one(ctx, "pfs.Capabilities", Lookup, name, func(fsys FileSystem, p Path) error {
		c, err = CapabilitiesOf(ctx, fsys, p)
		return err
	})
	return c, err
}

func (l *Layer) RemoveTree(ctx context.Context, name Path) error {
	return l.one(ctx, "pfs.RemoveTree", Delete, name, func(fsys FileSystem, p Path) error {
		// If the store has no RemoveTree, the caller walks the tree through this layer.
		c, ok := fsys.(TreeRemover)
		if !ok {
			return E("pfs.RemoveTree", p, Unsupported, nil)
		}
		return c.RemoveTree(ctx, p)
	})
}

func (l *Layer) Space(ctx context.Context, name Path) (s Space, err error) {
	err = l.one(ctx, "pfs.Space", Measure, name, func(fsys FileSystem, p Path) error {
		s, err = SpaceOf(ctx, fsys, p)
		return err
	})
	return s, err
}

func (l *Layer) Usage(ctx context.Context, name Path) (u Usage, err error) {
	if l.hooks.Apart != nil {
		if apart, except := l.hooks.Apart(name); apart {
			return l.sum(ctx, name, except)
		}
	}
	err = l.one(ctx, "pfs.Usage", Measure, name, func(fsys FileSystem, p Path) error {
		c, ok := fsys.(UsageReporter)
		if !ok {
			return E("pfs.Usage", p, Unsupported, nil)
		}
		u, err = c.Usage(ctx, p)
		return err
	})
	return u, err
}

// sum counts the visible entries of dir.
func (l *Layer) sum(ctx context.Context, dir Path, except string) (total Usage, err error) {
	info, err := l.Stat(ctx, dir)
	if err != nil {
		return Usage{}, err
	}
	if !info.IsDir() {
		return Usage{Files: 1, Bytes: info.Size, Stored: info.Size * int64(info.Replication)}, nil
	}
	for e, err := range Entries(ctx, l, dir, nil) {
		if err != nil {
			return Usage{}, err
		}
		switch {
		case e.Name == except:
		case !e.IsDir():
			total.Files++
			total.Bytes += e.Size
			total.Stored += e.Size * int64(e.Replication)
		default:
			below, err := l.Usage(ctx, dir.Join(e.Name))
			if err != nil {
				return Usage{}, err
			}
			total.Dirs += 1 + below.Dirs
			total.Files += below.Files
			total.Bytes += below.Bytes
			total.Stored += below.Stored
		}
	}
	return total, nil
}

func (l *Layer) SetQuota(ctx context.Context, name Path, maxBytes, maxFiles int64) error {
	return l.one(ctx, "pfs.SetQuota", Administer, name, func(fsys FileSystem, p Path) error {
		return SetQuota(ctx, fsys, p, maxBytes, maxFiles)
	})
}

func (l *Layer) Digest(ctx context.Context, name Path, algorithm string, progress func(int64)) (d string, err error) {
	err = l.one(ctx, "pfs.Digest", Read, name, func(fsys FileSystem, p Path) error {
		c, ok := fsys.(Digester)
		if !ok {
			return E("pfs.Digest", p, Unsupported, nil)
		}
		d, err = c.Digest(ctx, p, algorithm, progress)
		return err
	})
	return d, err
}

func (l *Layer) Sweep(ctx context.Context, dir Path, age time.Duration) (n int, bytes int64, err error) {
	err = l.one(ctx, "pfs.Sweep", Discard, dir, func(fsys FileSystem, p Path) error {
		n, bytes, err = Sweep(ctx, fsys, p, age)
		return err
	})
	return n, bytes, err
}

func (l *Layer) CheckAccess(ctx context.Context, a Access, name Path) error {
	return l.one(ctx, "pfs.CheckAccess", a, name, func(fsys FileSystem, p Path) error {
		return CheckAccess(ctx, fsys, a, p)
	})
}

func (l *Layer) BlockLocations(ctx context.Context, name Path, off, n int64) (blocks []BlockLocation, err error) {
	err = l.one(ctx, "pfs.BlockLocations", Read, name, func(fsys FileSystem, p Path) error {
		blocks, err = LocateBlocks(ctx, fsys, p, off, n)
		return err
	})
	return blocks, err
}
