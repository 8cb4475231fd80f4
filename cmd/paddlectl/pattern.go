package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// isPattern reports whether an operand is to be matched with what there is. A name
// that exists as it was typed is not.
func (d *deps) isPattern(ctx context.Context, o operand) (bool, error) {
	switch {
	case o.place == local && strings.ContainsAny(o.local, "*?["):
		_, err := os.Lstat(o.local)
		return errors.Is(err, os.ErrNotExist), nil
	case o.place == remote && pfs.HasMagic(string(o.path)):
		conn, err := d.remotes.at(ctx, o.path)
		if err != nil {
			return false, err
		}
		exists, err := pfs.Exists(ctx, conn.fs, o.path)
		if errors.Is(err, pfs.NotDir) {
			err = nil // a file on the way: the pattern is not about that
		}
		return !exists, err
	}
	return false, nil
}

// isMany reports whether the sources may be more than one.
func (d *deps) isMany(ctx context.Context, from []operand) (bool, error) {
	if len(from) > 1 {
		return true, nil
	}
	return d.isPattern(ctx, from[0])
}
