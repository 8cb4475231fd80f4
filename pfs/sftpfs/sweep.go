package sftpfs

import (
	"context"
	"errors"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Sweep removes the uploads below dir that were last written to before age. It continues after an
// error and returns the first one.
func (s *store) Sweep(ctx context.Context, dir pfs.Path, age time.Duration) (n int, bytes int64, err error) {
	const op = "sftpfs.Sweep"
	if err := pfs.CheckPath(op, dir); err != nil {
		return 0, 0, err
	}
	before := time.Now().Add(-age)
	var first error
	for dirs := []pfs.Path{dir}; len(dirs) > 0; {
		at := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		err := s.call(ctx, op, at, func(c *connection) error {
			return s.each(ctx, c, op, at, func(e entry) error {
				mode := e.attrs.FileMode()
				switch {
				case mode.IsDir() && pfs.CheckName(e.name) == "":
					dirs = append(dirs, at.Join(e.name))
				case pfs.IsTemp(e.name, mode) && e.attrs.ModTime().Before(before):
					switch err := c.Remove(s.at(at) + "/" + e.name); {
					case err == nil:
						n++
						bytes += int64(e.attrs.Size)
					case kindOf(err) != pfs.NotExist && first == nil:
						first = err
					}
				}
				return nil
			})
		})
		if ctx.Err() != nil {
			return n, bytes, err
		}
		gone := errors.Is(err, pfs.NotExist) && at != dir
		if err != nil && !gone && first == nil {
			first = err
		}
	}
	return n, bytes, first
}
