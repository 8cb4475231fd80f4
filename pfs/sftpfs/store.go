package sftpfs

import (
	"context"
	"log/slog"
	"path"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// Store is an open store.
type Store interface {
	pfs.FileSystem

	// Close ends the connection. Files that are open then return Closed.
	Close() error
}

// store is a directory of an SFTP host.
type store struct {
	*host
	root string // on the host, without links

	mu       sync.Mutex
	uploads  map[string]*upload  // that are open, by the name of the temporary
	listings map[string]*listing // directories that are open between pages, by ID
}

var (
	_ pfs.CapabilityReporter = (*store)(nil)
	_ pfs.AttrSetter         = (*store)(nil)
	_ pfs.ExclusiveRenamer   = (*store)(nil)
	_ pfs.Symlinker          = (*store)(nil)
	_ pfs.HandleOpener       = (*store)(nil)
	_ pfs.SpaceReporter      = (*store)(nil)
	_ pfs.Sweeper            = (*store)(nil)
)

// Open connects to the host. It returns Invalid or Permission if the options are wrong, Unsupported
// if the server lacks an extension, and Unavailable if it does not answer.
func Open(ctx context.Context, o Options) (Store, error) {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	login, err := o.config()
	if err != nil {
		return nil, err
	}
	h := &host{options: o, login: login, connecting: make(chan struct{}, 1)}
	s, err := newStore(ctx, h, o.Root)
	if err != nil {
		h.Close()
		return nil, err
	}
	return s, nil
}

// newStore returns the directory root, which may be a link to one, as a store.
func newStore(ctx context.Context, h *host, root string) (*store, error) {
	s := &store{host: h, uploads: map[string]*upload{}, listings: map[string]*listing{}}
	err := s.call(ctx, openOp, "", func(c *connection) error {
		info, err := c.Stat(root)
		switch {
		case err == nil && !info.IsDir():
			return pfs.Errorf(openOp, "", pfs.NotDir, "%s on %s is not a directory", root, h.options.Address)
		case kindOf(err) == pfs.NotExist:
			return pfs.Errorf(openOp, "", pfs.NotExist, "%s has no directory %s", h.options.Address, root)
		case err == nil:
			s.root, err = c.RealPath(root)
		}
		return err
	})
	return s, err
}

// at returns the path of name on the host.
func (s *store) at(name pfs.Path) string { return path.Join(s.root, string(name)) }

// Capabilities returns what the server can do.
func (s *store) Capabilities(ctx context.Context, name pfs.Path) (can pfs.Capabilities, err error) {
	const op = "sftpfs.Capabilities"
	if err := pfs.CheckPath(op, name); err != nil {
		return 0, err
	}
	err = s.call(ctx, op, name, func(c *connection) error {
		can = pfs.CanRename | pfs.CanRenameDir | pfs.CanRenameNew | pfs.CanKeepEmptyDir | pfs.CanReadStaged | pfs.CanOpenHandle |
			pfs.CanAppend | pfs.CanWriteRandom | pfs.CanSetMode | pfs.CanSetTimes | pfs.CanSetAccessTime | pfs.CanSymlink
		if _, ok := c.HasExtension("statvfs@openssh.com"); ok {
			can |= pfs.CanSpace
		}
		return nil
	})
	return can, err
}

// Space reports the disk of the host.
func (s *store) Space(ctx context.Context, name pfs.Path) (space pfs.Space, err error) {
	const op = "sftpfs.Space"
	if err := pfs.CheckPath(op, name); err != nil {
		return space, err
	}
	err = s.call(ctx, op, name, func(c *connection) error {
		if _, err := s.find(c, op, name); err != nil {
			return err
		}
		disk, err := c.StatVFS(s.at(name))
		if err != nil {
			return err
		}
		space = pfs.Space{
			Total: int64(disk.Blocks * disk.Frsize),
			Used:  int64((disk.Blocks - disk.Bfree) * disk.Frsize),
			Free:  int64(disk.Bavail * disk.Frsize),
		}
		return nil
	})
	return space, err
}
