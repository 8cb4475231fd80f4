package app

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// StdinText is what messages call standard input.
const StdinText = "standard input"

// End returns the file system and path of an operand.
func (a *App) End(ctx context.Context, o Operand) (transfer.End, error) {
	if o.Side == Local {
		return a.Local.End(o.Local)
	}
	conn, err := a.Remotes.At(ctx, o.Path)
	if err != nil {
		return transfer.End{}, err
	}
	return transfer.End{FS: conn.FS, Path: o.Path}, nil
}

// Followed describes e, or with follow what e leads to if it is a link.
func Followed(ctx context.Context, e transfer.End, follow bool) (transfer.End, pfs.Info, error) {
	info, err := e.FS.Stat(ctx, e.Path)
	if err != nil || !info.IsLink() || !follow {
		return e, info, err
	}
	to, err := transfer.ResolveLink(ctx, e.FS, e.Path)
	if err != nil {
		return e, info, err
	}
	e.Path = to
	info, err = e.FS.Stat(ctx, to)
	return e, info, err
}

// Source calls fn for each path that one operand names.
func (a *App) Source(ctx context.Context, op Operand, fn func(e transfer.End, text string) error) error {
	if op.Side == Local {
		return a.LocalSource(ctx, op, fn)
	}
	return a.Expand(ctx, op, func(t Target) error { return fn(t.End(), string(t.Path)) })
}

// LocalSource calls fn for the local path, or for what it matches if it is a
// pattern that no shell has expanded.
func (a *App) LocalSource(ctx context.Context, op Operand, fn func(e transfer.End, text string) error) error {
	pattern, err := a.IsPattern(ctx, op)
	if err != nil {
		return err
	}
	if pattern {
		return a.localMatches(ctx, op, fn)
	}
	e, err := a.Local.End(op.Local)
	if err != nil {
		return err
	}
	return fn(e, op.Local)
}

// IsMissing reports whether err says that a file is not there.
func IsMissing(err error) bool { return errors.Is(err, pfs.NotExist) }

// ReadSmall reads a file of at most so many bytes; of a longer one, only these.
func ReadSmall(ctx context.Context, fsys pfs.FileSystem, name pfs.Path, most int64) ([]byte, error) {
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, min(most, f.Info().Size))
	return text, pfs.ReadFull(ctx, f, text, 0)
}
