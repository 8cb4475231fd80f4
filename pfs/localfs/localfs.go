// Package localfs is a pfs.FileSystem over a directory of a local disk: plain files
// under their own names, so that any tool may be used on them.
//
// What it keeps beside the files: staged writes as ".pfs-up-ID-HASH" in the directory
// of their target (HASH is of the target's name), quotas as ".pfs-quota" in the
// directory that they limit, and the digest and upload ID of a published file in its
// extended attribute "user.pfs.digest". On a file system without extended attributes
// digests are not kept and an ID is forgotten with its Commit; all else is the same.
//
// As a store it never follows a symbolic link, in any position, also not one that
// appears while an operation runs: on Linux every path is opened with openat2 and
// RESOLVE_NO_SYMLINKS, and the last element is reached through its parent's descriptor.
// Other systems have only the mode of Options.FollowLinks, which is for a user's own
// files.
//
// Durability: Commit, WriteBatch, Mkdir, Rename and Remove return after fsync (or
// syncfs) of what they changed and of its directory.
package localfs

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Options says how a directory is used. The zero value is for a store.
type Options struct {
	// FollowLinks lets the operating system follow links on the way to a file, and
	// Open follow the last one: for files that belong to the caller. Stat and Remove
	// still mean the link.
	FollowLinks bool

	// RecountEvery is how often the usage under a quota is counted anew, because
	// files may be changed by other tools. Default one hour.
	RecountEvery time.Duration

	Logger *slog.Logger // default: discard
}

// FS is a directory as a file system. Make one with New and Close it.
type FS struct {
	opts   Options
	root   *os.File // the directory
	quotas quotas

	mu     sync.Mutex
	stages map[stageKey]*stage
}

var (
	_ pfs.FileSystem       = (*FS)(nil)
	_ pfs.Symlinker        = (*FS)(nil)
	_ pfs.Chmoder          = (*FS)(nil)
	_ pfs.Chtimer          = (*FS)(nil)
	_ pfs.Editor           = (*FS)(nil)
	_ pfs.ExclusiveRenamer = (*FS)(nil)
	_ pfs.TreeRemover      = (*FS)(nil)
	_ pfs.SpaceReporter    = (*FS)(nil)
	_ pfs.UsageReporter    = (*FS)(nil)
	_ pfs.QuotaSetter      = (*FS)(nil)
	_ pfs.BatchWriter      = (*FS)(nil)
	_ pfs.Sweeper          = (*FS)(nil)
)

// New returns the file system of the existing directory dir.
func New(dir string, opts Options) (*FS, error) {
	const op = "localfs.New"
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.RecountEvery <= 0 {
		opts.RecountEvery = time.Hour
	}
	if !opts.FollowLinks && !canConfine {
		return nil, pfs.Errorf(op, "", pfs.Unsupported, "on this system links cannot be refused safely: a store needs Linux")
	}
	// The directory itself may be reached through links: it is the administrator's word.
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, pfs.Errorf(op, "", kindOf(err), "%w", err)
	}
	root, err := os.Open(real)
	if err != nil {
		return nil, pfs.Errorf(op, "", kindOf(err), "%w", err)
	}
	if info, err := root.Stat(); err != nil || !info.IsDir() {
		root.Close()
		return nil, pfs.Errorf(op, "", pfs.NotDir, "%s", dir)
	}
	s := &FS{opts: opts, root: root, stages: map[stageKey]*stage{}}
	s.quotas.init(s)
	return s, nil
}

// Close releases the directory. Open files and staged writes stay usable.
func (s *FS) Close() error { return s.root.Close() }

// begin is what every operation does first.
func begin(ctx context.Context, op string, name pfs.Path) error {
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	return pfs.CheckContext(ctx, op, name)
}

// parent opens the directory that holds name, which is not the root. Close it.
func (s *FS) parent(op string, name pfs.Path) (*dir, string, error) {
	if name == pfs.Root {
		return nil, "", pfs.Errorf(op, name, pfs.Invalid, "the root is not an entry")
	}
	d, err := s.openDir(op, name.Parent())
	if err != nil {
		return nil, "", err
	}
	return d, name.Base(), nil
}

// Stat describes name.
func (s *FS) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	const op = "localfs.Stat"
	if err := begin(ctx, op, name); err != nil {
		return pfs.Info{}, err
	}
	if name == pfs.Root {
		d, err := s.openDir(op, name)
		if err != nil {
			return pfs.Info{}, err
		}
		defer d.Close()
		st, err := d.statSelf()
		st.info.Name = "/"
		return st.info, fail(op, name, err)
	}
	d, base, err := s.parent(op, name)
	if err != nil {
		return pfs.Info{}, err
	}
	defer d.Close()
	st, err := d.stat(base)
	if err != nil {
		return pfs.Info{}, fail(op, name, err)
	}
	if st.info.IsRegular() {
		st.info.Digest = d.mark(base).digestOf(st.info)
	}
	return st.info, nil
}

// Symlink makes a link.
func (s *FS) Symlink(ctx context.Context, target string, name pfs.Path) error {
	const op = "localfs.Symlink"
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	d, base, err := s.parent(op, name)
	if err != nil {
		return orExist(err, name)
	}
	defer d.Close()
	if err := s.quotas.charge(ctx, op, name, 0, 1); err != nil {
		return err
	}
	if err := d.symlink(target, base); err != nil {
		s.quotas.refund(name, 0, 1)
		return fail(op, name, err)
	}
	return fail(op, name, d.sync())
}

// Chmod sets permission bits.
func (s *FS) Chmod(ctx context.Context, name pfs.Path, mode os.FileMode) error {
	const op = "localfs.Chmod"
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	d, base, err := s.entry(op, name)
	if err != nil {
		return err
	}
	defer d.Close()
	return fail(op, name, d.chmod(base, mode.Perm()))
}

// Chtime sets the modification time. A digest that was trusted stays so.
func (s *FS) Chtime(ctx context.Context, name pfs.Path, mtime time.Time) error {
	const op = "localfs.Chtime"
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	d, base, err := s.entry(op, name)
	if err != nil {
		return err
	}
	defer d.Close()
	st, err := d.stat(base)
	if err != nil {
		return fail(op, name, err)
	}
	m := d.mark(base)
	if err := d.chtime(base, mtime); err != nil {
		return fail(op, name, err)
	}
	if m.digestOf(st.info) == "" {
		return nil
	}
	if st, err = d.stat(base); err == nil {
		m.time = st.info.ModTime.UnixNano()
		d.setMark(base, m)
	}
	return fail(op, name, err)
}

// entry opens the directory of name, which must not be a link. The root is the entry
// "." of itself.
func (s *FS) entry(op string, name pfs.Path) (*dir, string, error) {
	if name == pfs.Root {
		d, err := s.openDir(op, name)
		return d, ".", err
	}
	d, base, err := s.parent(op, name)
	if err != nil {
		return nil, "", err
	}
	st, err := d.stat(base)
	if err == nil && st.info.IsLink() && !s.opts.FollowLinks {
		err = pfs.E(op, name, pfs.Symlink, nil)
	}
	if err != nil {
		d.Close()
		return nil, "", fail(op, name, err)
	}
	return d, base, nil
}

// Space reports the disk.
func (s *FS) Space(ctx context.Context, name pfs.Path) (pfs.Space, error) {
	const op = "localfs.Space"
	if err := begin(ctx, op, name); err != nil {
		return pfs.Space{}, err
	}
	d, _, err := s.entry(op, name)
	if err != nil {
		return pfs.Space{}, err
	}
	defer d.Close()
	space, err := d.space()
	return space, fail(op, name, err)
}
