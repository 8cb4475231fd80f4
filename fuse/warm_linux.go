package fuse

import (
	"context"
	"encoding/json"
	"errors"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

// warmXattr is an extended attribute of every file. Reading it fetches part of the file into the cache. Its
// value is a warmAnswer in JSON.
const warmXattr = "user.pfs.warm"

// warmAnswer is a result of Options.Warm. An error keeps its text, which an errno has not.
type warmAnswer struct {
	Result any      `json:"result,omitempty"`
	Error  string   `json:"error,omitempty"`
	Kind   pfs.Kind `json:"kind,omitempty"`
}

// warm calls Options.Warm for the file n.
func (s *server) warm(ctx context.Context, n *node, name pfs.Path) warmAnswer {
	if s.opts.Warm == nil {
		return warmAnswer{Error: "this mount has no cache", Kind: pfs.Unsupported}
	}
	info, known := s.current(n)
	var err error
	if !known {
		info, err = s.fs.Stat(ctx, name)
	}
	var a warmAnswer
	if err == nil {
		a.Result, err = s.opts.Warm(ctx, name, info)
	}
	if err != nil {
		a = warmAnswer{Error: pfs.Detail(err), Kind: pfs.KindOf(err)}
	}
	return a
}

// Warm makes the mount of the file name fetch part of it into its cache, and stores what Options.Warm returned in to. It
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
		return pfs.E(op, pfs.Path(name), kindOf(err), err)
	}
	a := warmAnswer{Result: to}
	if err := json.Unmarshal(buf[:n], &a); err != nil {
		return pfs.E(op, pfs.Path(name), pfs.Other, err)
	}
	if a.Error != "" {
		return pfs.E(op, pfs.Path(name), a.Kind, errors.New(a.Error))
	}
	return nil
}
