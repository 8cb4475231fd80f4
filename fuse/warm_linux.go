package fuse

import (
	"context"
	"encoding/json"
	"errors"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

// warmXattr is an extended attribute of every file. Reading it fetches part of the file into the cache. Its
// value is an answer in JSON.
const warmXattr = "user.pfs.warm"

// warm calls Options.Warm for the file n.
func (s *server) warm(ctx context.Context, n *node, name pfs.Path) answer {
	if s.opts.Warm == nil {
		return answerOf(nil, pfs.Errorf("fuse.warm", "", pfs.Unsupported, "this mount has no cache"))
	}
	info, known := s.current(n)
	var err error
	if !known {
		info, err = s.fs.Stat(ctx, name)
	}
	var result any
	if err == nil {
		result, err = s.opts.Warm(ctx, name, info)
	}
	return answerOf(result, err)
}

// Warm makes the mount of the file name fetch part of the file into its cache, and stores the result of Options.Warm in to. It
// takes about a second at most.
func Warm(name string, to any) error {
	const op = "fuse.Warm"
	buf := make([]byte, 4<<10)
	n, err := 0, error(syscall.EINTR)
	for err == syscall.EINTR {
		n, err = syscall.Getxattr(name, warmXattr, buf)
	}
	if errors.Is(err, syscall.ENODATA) || errors.Is(err, syscall.EOPNOTSUPP) {
		return pfs.Errorf(op, pfs.Path(name), pfs.Unsupported, "it is not in a mount of this program")
	}
	if err != nil {
		return pfs.E(op, pfs.Path(name), pfs.KindOf(err), err)
	}
	a := answer{Result: to}
	if err := json.Unmarshal(buf[:n], &a); err != nil {
		return pfs.E(op, pfs.Path(name), pfs.Other, err)
	}
	a.Path = pfs.Path(name)
	return a.failure(op)
}
