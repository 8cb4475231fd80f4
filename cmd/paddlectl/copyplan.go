package main

import (
	"context"
	"errors"
	"iter"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// copySource is one thing to be copied.
type copySource struct {
	text     string // as it was typed, or the path that a pattern matched
	end      transfer.End
	isDir    bool
	contents bool // what is in the directory, not the directory itself
}

// copyTarget is where it goes.
type copyTarget struct {
	text   string
	end    transfer.End
	exists bool
	isDir  bool
	slash  bool // the user says that it is a directory
	many   bool // there are several sources, or a pattern
}

// destination says what s becomes at t. The rules, which docs/scripting.md states:
//
//   - A file becomes DEST, or DEST/NAME if DEST is a directory or ends in a slash.
//   - SRC/ (a directory with a slash at the end): what is in it goes into DEST.
//   - SRC (a directory without one) becomes DEST/NAME, whether DEST exists or not.
//
// So the same command run again does the same, which is how a copy goes on.
func (t copyTarget) destination(s copySource) (pfs.Path, error) {
	inside := s.end.Path.Base()
	switch {
	case s.contents && !s.isDir:
		return "", pfs.Errorf("paddlectl.cp", s.end.Path, pfs.NotDir, "%q ends in a slash, but is a file", s.text)
	case t.exists && !t.isDir && (s.isDir || t.slash):
		return "", pfs.Errorf("paddlectl.cp", t.end.Path, pfs.NotDir, "it is a file, and %q needs a directory", s.text)
	case s.contents:
		return t.end.Path, nil
	case s.isDir, t.isDir, t.slash:
		return t.end.Path.Join(inside), nil
	}
	return t.end.Path, nil
}

// checkMany refuses several sources for what is no directory.
func (t copyTarget) checkMany() error {
	if t.many && !t.isDir && !t.slash {
		return cliargs.Usagef("%q is no directory, and several sources need one: end it with a slash to make it", t.text)
	}
	return nil
}

// makesDir reports whether DEST itself has to be a directory before s is copied.
func (t copyTarget) makesDir(s copySource) bool {
	return !t.exists && !s.contents && (s.isDir || t.slash)
}

// end returns the file system and path of an operand.
func (d *deps) end(ctx context.Context, o operand) (transfer.End, error) {
	if o.side == local {
		return d.local.end(o.local)
	}
	conn, err := d.remotes.at(ctx, o.path)
	if err != nil {
		return transfer.End{}, err
	}
	return transfer.End{FS: conn.fs, Path: o.path}, nil
}

// target looks at the last operand of a copy.
func (d *deps) target(ctx context.Context, o operand, many bool) (copyTarget, error) {
	t := copyTarget{text: o.text, slash: o.contents, many: many}
	var err error
	if t.end, err = d.end(ctx, o); err != nil {
		return t, err
	}
	end, info, err := followed(ctx, t.end, true)
	if errors.Is(err, pfs.NotExist) {
		return t, nil
	}
	t.exists, t.isDir = err == nil, info.IsDir()
	if t.isDir {
		t.end = end // so that a link to a directory is one
	}
	return t, err
}

// followed describes e, or with follow what e leads to if it is a link.
func followed(ctx context.Context, e transfer.End, follow bool) (transfer.End, pfs.Info, error) {
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

// sources yields what the operands of a copy name. What a pattern matches is not
// collected: there may be any number.
func (d *deps) sources(ctx context.Context, operands []operand, o *copyOptions) iter.Seq2[copySource, error] {
	return func(yield func(copySource, error) bool) {
		for _, op := range operands {
			err := d.source(ctx, op, func(e transfer.End, text string) error {
				s, err := o.source(ctx, e, text, op.contents)
				if !yield(s, err) {
					return errStop
				}
				return nil
			})
			if err == errStop || err != nil && !yield(copySource{text: op.text}, err) {
				return
			}
		}
	}
}

// source calls fn for each path that one operand names.
func (d *deps) source(ctx context.Context, op operand, fn func(e transfer.End, text string) error) error {
	if op.side == local {
		return d.localSource(ctx, op, fn)
	}
	return d.expand(ctx, op, func(t target) error { return fn(t.end(), string(t.path)) })
}

// localSource calls fn for the local path, or for what it matches if it is a
// pattern that no shell has expanded.
func (d *deps) localSource(ctx context.Context, op operand, fn func(e transfer.End, text string) error) error {
	pattern, err := d.isPattern(ctx, op)
	if err != nil {
		return err
	}
	if pattern {
		return d.localMatches(ctx, op, fn)
	}
	e, err := d.local.end(op.local)
	if err != nil {
		return err
	}
	return fn(e, op.local)
}

// source describes one thing to be copied.
func (o *copyOptions) source(ctx context.Context, e transfer.End, text string, contents bool) (copySource, error) {
	s := copySource{text: text, end: e, contents: contents}
	_, info, err := followed(ctx, e, contents || !o.links && !o.skipLinks)
	if err != nil {
		return s, err
	}
	s.isDir = info.IsDir()
	if s.isDir && !o.recursive {
		return s, errNeedsRecursive{text}
	}
	return s, nil
}

// errNeedsRecursive says that a directory is to be copied without -r.
type errNeedsRecursive struct{ text string }

func (e errNeedsRecursive) Error() string {
	return e.text + " is a directory: -r copies directories with all that is in them"
}

// Unwrap makes it an error of usage.
func (e errNeedsRecursive) Unwrap() error { return pfs.Invalid }
