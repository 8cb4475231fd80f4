package sftpfs

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
	"github.com/pkg/sftp"
)

// appendSize is the length in bytes of a write that pkg/sftp sends as one packet. Packets of a longer
// one could be appended in another order.
const appendSize = 32 << 10

// handle is a file that is changed in place. The server's own handle binds it to the file.
type handle struct {
	rules.Handle
	s *store
	c *connection
	f *sftp.File
}

// OpenHandle opens the file name.
func (s *store) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (pfs.Handle, error) {
	const op = "sftpfs.OpenHandle"
	if err := pfs.CheckPath(op, name); err != nil {
		return nil, err
	}
	if err := flags.Check(op, name); err != nil {
		return nil, err
	}
	h := &handle{Handle: rules.Handle{Name: name, Flags: flags}, s: s}
	if err := s.call(ctx, op, name, func(c *connection) error { return h.open(c, op, perm) }); err != nil {
		return nil, err
	}
	return h, nil
}

// open opens the file, or makes it.
func (h *handle) open(c *connection, op string, perm fs.FileMode) error {
	for try := 0; ; try++ {
		info, there, err := h.s.look(c, op, h.Name)
		switch {
		case err != nil:
			return err
		case there && h.Flags&pfs.OpenExclusive != 0:
			return pfs.E(op, h.Name, pfs.Exist, nil)
		case !there && h.Flags&pfs.OpenCreate == 0:
			return pfs.E(op, h.Name, pfs.NotExist, nil)
		case there && !info.IsRegular():
			err := rules.Open(op, h.Name, info.Mode)
			if errors.Is(err, pfs.Unsupported) {
				err = pfs.E(op, h.Name, pfs.Invalid, errors.Unwrap(err))
			}
			return err
		}
		flags := h.systemFlags()
		if !there {
			flags |= os.O_CREATE | os.O_EXCL
		}
		f, err := c.OpenFile(h.s.at(h.Name), flags)
		switch {
		case err == nil:
			h.c, h.f = c, f
			if !there {
				return f.Chmod(perm.Perm())
			}
			return nil
		case try == 10 || there && kindOf(err) != pfs.NotExist || !there && !failed(err):
			return h.s.full(c, op, h.Name, err)
		}
		// Another client has made or removed it.
		if _, again, err := h.s.look(c, op, h.Name); err != nil || again == there {
			return h.s.full(c, op, h.Name, err)
		}
	}
}

func (h *handle) systemFlags() int {
	flags := os.O_RDONLY
	if h.Flags&pfs.OpenWrite != 0 {
		flags = os.O_RDWR
	}
	if h.Flags&pfs.OpenWrite != 0 && h.Flags&pfs.OpenRead == 0 {
		flags = os.O_WRONLY
	}
	if h.Flags&pfs.OpenAppend != 0 {
		flags |= os.O_APPEND
	}
	if h.Flags&pfs.OpenTruncate != 0 {
		flags |= os.O_TRUNC
	}
	return flags
}

// do does one step on the connection of the handle.
func (h *handle) do(op string, do func(c *connection) error) error {
	if h.c.lost.Load() {
		return pfs.Errorf(op, h.Name, pfs.Stale, "the connection to %s was lost", h.s.options.Address)
	}
	err := h.s.on(h.c, op, h.Name, do)
	if errors.Is(err, pfs.Unavailable) {
		return pfs.Errorf(op, h.Name, pfs.Stale, "the connection to %s was lost", h.s.options.Address)
	}
	return err
}

func (h *handle) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "sftpfs.Handle.ReadAt"
	if err := h.Check(ctx, op, pfs.OpenRead); err != nil {
		return 0, err
	}
	return pfs.InChunks(ctx, op, h.Name, p, off, func(p []byte, off int64) (n int, err error) {
		err = h.do(op, func(*connection) error { n, err = readAt(h.f, p, off); return err })
		return n, err
	})
}

func (h *handle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "sftpfs.Handle.WriteAt"
	if err := h.Check(ctx, op, pfs.OpenWrite); err != nil {
		return 0, err
	}
	return pfs.InChunks(ctx, op, h.Name, p, off, func(p []byte, off int64) (n int, err error) {
		size := len(p)
		if h.Flags&pfs.OpenAppend != 0 {
			size = appendSize
		}
		err = h.do(op, func(c *connection) error {
			for n < len(p) {
				k, err := h.f.WriteAt(p[n:min(len(p), n+size)], off+int64(n))
				n += k
				if err != nil {
					return h.s.full(c, op, h.Name, err)
				}
			}
			return nil
		})
		return n, err
	})
}

func (h *handle) Truncate(ctx context.Context, size int64) error {
	const op = "sftpfs.Handle.Truncate"
	if err := h.CheckTruncate(ctx, op, size); err != nil {
		return err
	}
	return h.do(op, func(c *connection) error { return h.s.full(c, op, h.Name, h.f.Truncate(size)) })
}

// Allocate is not in the protocol.
func (h *handle) Allocate(ctx context.Context, off, n int64) error {
	const op = "sftpfs.Handle.Allocate"
	if err := h.CheckAllocate(ctx, op, off, n); err != nil {
		return err
	}
	return pfs.Errorf(op, h.Name, pfs.Unsupported, "SFTP cannot reserve space")
}

func (h *handle) Sync(ctx context.Context) error {
	const op = "sftpfs.Handle.Sync"
	if err := h.Check(ctx, op, 0); err != nil {
		return err
	}
	return h.do(op, func(c *connection) error { return h.s.full(c, op, h.Name, h.f.Sync()) })
}

func (h *handle) Stat(ctx context.Context) (info pfs.Info, err error) {
	const op = "sftpfs.Handle.Stat"
	if err := h.Check(ctx, op, 0); err != nil {
		return info, err
	}
	err = h.do(op, func(c *connection) error {
		found, err := h.f.Stat()
		if err == nil {
			info = h.s.info(c, h.Name, attrs(found))
		}
		return err
	})
	return info, err
}

// SetAttr sets the size and permission bits. pkg/sftp sets times by name only, and the name may be that
// of another file by now.
func (h *handle) SetAttr(ctx context.Context, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "sftpfs.Handle.SetAttr"
	if err := h.CheckSetAttr(ctx, op, mask, attrs); err != nil {
		return err
	}
	if mask&^(pfs.AttrMode|pfs.AttrSize) != 0 {
		return pfs.Errorf(op, h.Name, pfs.Unsupported, "an open file of an SFTP host has only permission bits and a size to set")
	}
	return h.do(op, func(c *connection) (err error) {
		if mask&pfs.AttrSize != 0 {
			err = h.s.full(c, op, h.Name, h.f.Truncate(attrs.Size))
		}
		if err == nil && mask&pfs.AttrMode != 0 {
			err = h.f.Chmod(bits(attrs.Mode, pfs.Info{}))
		}
		return err
	})
}

func (h *handle) Close(context.Context) error {
	if !h.End() || h.c.lost.Load() {
		return nil
	}
	return h.do("sftpfs.Handle.Close", func(*connection) error { return h.f.Close() })
}
