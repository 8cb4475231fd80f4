package localfs

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// Options select how the directory is used. The zero value is the store of a service: it follows no
// link, and every change is durable when it returns.
type Options struct {
	// FollowLinks makes the operating system follow symbolic links as usual, for the local side of
	// a command. Stat still describes the link itself.
	FollowLinks bool

	// NoSync omits every sync, so a crash of the machine may lose or empty committed files. It is
	// for tests.
	NoSync bool

	// RecountEvery is the age at which the usage of a tree with a quota is counted again in the
	// background, since other processes may change files too. 0 means one hour.
	RecountEvery time.Duration
}

// FS is a tree of a local disk. Use New.
type FS struct {
	opts   Options
	owners owners
	attrs  attributes
	dev    uint64               // of the root
	births bool                 // files have times of birth, which Info.ID contains
	sync   func(*os.File) error // makes the bytes written to a file durable
	quotas quotas
	marks  sync.Mutex // held while the time of a stored digest is changed, or the digest removed

	mu   sync.RWMutex // of root, held for reading while root is used
	root dir          // nil once closed

	life context.Context // of background work
	end  context.CancelFunc
	work sync.WaitGroup
}

var (
	_ rules.Store       = (*FS)(nil)
	_ pfs.Symlinker     = (*FS)(nil)
	_ pfs.HardLinker    = (*FS)(nil)
	_ pfs.NodeMaker     = (*FS)(nil)
	_ pfs.Copier        = (*FS)(nil)
	_ pfs.AccessChecker = (*FS)(nil)
)

// New returns the tree below the existing directory dir, which may be a link. Errors of New name
// dir as given; no later error does.
func New(dir string, opts Options) (*FS, error) {
	return newFS(dir, opts, openTop)
}

// newFS is New with a choice of the system calls.
func newFS(path string, opts Options, open func(path string, follow bool) (dir, error)) (*FS, error) {
	root, err := open(path, opts.FollowLinks)
	if err != nil {
		return nil, pfs.Errorf("localfs.New", "", kindOf(err), "directory %q: %w", path, posix.Cause(err))
	}
	if opts.RecountEvery == 0 {
		opts.RecountEvery = time.Hour
	}
	top, err := root.stat(".", false)
	if err != nil {
		root.Close()
		return nil, pfs.Errorf("localfs.New", "", kindOf(err), "directory %q: %w", path, posix.Cause(err))
	}
	f := &FS{opts: opts, root: root, dev: top.dev, births: top.born != 0, attrs: fileAttributes{}, sync: (*os.File).Sync}
	if opts.NoSync {
		f.sync = func(*os.File) error { return nil }
	}
	f.life, f.end = context.WithCancel(context.Background())
	return f, nil
}

// Close closes the file system. Open files stay usable; every other operation returns Closed.
func (f *FS) Close() error {
	f.mu.Lock()
	root := f.root
	f.root = nil
	f.mu.Unlock()
	if root == nil {
		return nil
	}
	f.end()
	f.work.Wait()
	return root.Close()
}

// check begins every operation.
func (f *FS) check(ctx context.Context, op string, name pfs.Path) error {
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	if reason := unfitName(name); reason != "" {
		return pfs.Errorf(op, name, pfs.Invalid, "%s", reason)
	}
	return pfs.CheckContext(ctx, op, name)
}

// openDir opens a directory by its path below the root, "" for the root itself.
func (f *FS) openDir(rel string) (dir, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.root == nil {
		return nil, pfs.Closed
	}
	return f.root.open(rel)
}

// parent opens the directory that holds name and returns name's last element.
func (f *FS) parent(name pfs.Path) (d dir, base string, err error) {
	d, err = f.openDir(relative(name.Parent()))
	return d, lastName(name), err
}

// lastName returns the last element of name, "." for the root, which is its own parent.
func lastName(name pfs.Path) string {
	if name == pfs.Root {
		return "."
	}
	return name.Base()
}

// at begins an operation on name and calls do with the directory that holds it. Errors that are not
// yet of package pfs get name.
func (f *FS) at(ctx context.Context, op string, name pfs.Path, do func(d dir, base string) error) error {
	if err := f.check(ctx, op, name); err != nil {
		return err
	}
	d, base, err := f.parent(name)
	if err != nil {
		return fail(op, name, err)
	}
	defer d.Close()
	return fail(op, name, do(d, base))
}

// in begins an operation on the directory name and calls do with it open.
func (f *FS) in(ctx context.Context, op string, name pfs.Path, do func(d dir) error) error {
	if err := f.check(ctx, op, name); err != nil {
		return err
	}
	d, err := f.openDir(relative(name))
	if err != nil {
		return fail(op, name, err)
	}
	defer d.Close()
	return fail(op, name, do(d))
}

// look describes the file that opening base would open.
func (f *FS) look(d dir, base string) (stat, error) { return d.stat(base, f.opts.FollowLinks) }

// syncDir makes the names in d durable.
func (f *FS) syncDir(d dir) error {
	if f.opts.NoSync {
		return nil
	}
	return d.sync()
}

// syncEntry makes mode, time and attributes of base durable. It syncs the whole disk if base cannot
// be opened.
func (f *FS) syncEntry(d dir, base string) error {
	if f.opts.NoSync || runtime.GOOS == "windows" { // Windows syncs only files that are open for writing
		return nil
	}
	file, err := d.openFile(base, os.O_RDONLY, 0)
	if err != nil {
		return syncDisk(d)
	}
	defer file.Close()
	if err := f.sync(file); !errors.Is(err, syscall.EINVAL) { // returned for a FIFO
		return err
	}
	return nil
}

// syncDisk syncs the disk that holds d, where the system can.
func syncDisk(d dir) error {
	disk, err := d.disk()
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(disk.sync(), disk.Close())
}

// relative returns name as a path below the root.
func relative(name pfs.Path) string { return strings.TrimPrefix(string(name), "/") }

// absolute is the opposite of relative.
func absolute(rel string) pfs.Path { return pfs.Path("/" + rel) }
