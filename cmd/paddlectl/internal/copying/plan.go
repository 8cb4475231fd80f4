package copying

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/internal/sorter"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// Source is one thing to copy.
type Source struct {
	text     string // as typed, or the path that a pattern matched
	End      transfer.End
	isDir    bool
	contents bool // the entries of the directory, not the directory
}

// Target is the destination of a copy.
type Target struct {
	Text   string
	End    transfer.End
	Exists bool
	IsDir  bool
	Slash  bool // the operand ends in a slash
	Many   bool // several sources, or a pattern
}

// destination returns the path of the copy of s at t. The rules (see docs/scripting.md):
//
//   - A file becomes DEST, or DEST/NAME if DEST is a directory or ends in a slash.
//   - The entries of SRC/ (a directory with a slash at the end) go into DEST.
//   - SRC (a directory without a slash) becomes DEST/NAME, whether DEST exists or not.
//
// So a copy is resumed by running the same command again.
func (t Target) destination(s Source) (pfs.Path, error) {
	inside := s.End.Path.Base()
	switch {
	case s.contents && !s.isDir:
		return "", pfs.Errorf("paddlectl.cp", s.End.Path, pfs.NotDir, "%q ends in a slash, but is a file", s.text)
	case t.Exists && !t.IsDir && (s.isDir || t.Slash):
		return "", pfs.Errorf("paddlectl.cp", t.End.Path, pfs.NotDir, "it is a file, and %q needs a directory", s.text)
	case s.contents:
		return t.End.Path, nil
	case s.isDir, t.IsDir, t.Slash:
		return t.End.Path.Join(inside), nil
	}
	return t.End.Path, nil
}

// checkMany refuses several sources for a target that is not a directory.
func (t Target) checkMany() error {
	if t.Many && !t.IsDir && !t.Slash {
		return cliargs.Usagef("%q is not a directory, and several sources need one: end it with a slash to make it", t.Text)
	}
	return nil
}

// makesDir reports whether DEST itself must be a directory before s is copied.
func (t Target) makesDir(s Source) bool {
	return !t.Exists && !s.contents && (s.isDir || t.Slash)
}

// LookAt returns the target that the last operand of a copy names.
func LookAt(ctx context.Context, a *app.App, o app.Operand, many bool) (Target, error) {
	t := Target{Text: o.Text, Slash: o.Contents, Many: many}
	var err error
	if t.End, err = a.End(ctx, o); err != nil {
		return t, err
	}
	end, info, err := t.End.Follow(ctx)
	if errors.Is(err, pfs.NotExist) {
		return t, nil
	}
	t.Exists, t.IsDir = err == nil, info.IsDir()
	if t.IsDir {
		t.End = end // a link to a directory counts as a directory
	}
	return t, err
}

// Sources yields the sources that the operands of a copy name. It does not collect the matches of
// a pattern, of which there may be any number.
func Sources(ctx context.Context, a *app.App, operands []app.Operand, o *Options) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		for _, op := range operands {
			err := a.Source(ctx, op, func(e transfer.End, text string) error {
				s, err := o.source(ctx, e, text, op.Contents)
				if !yield(s, err) {
					return app.ErrStop
				}
				return nil
			})
			if err == app.ErrStop || err != nil && !yield(Source{text: op.Text}, err) {
				return
			}
		}
	}
}

// source returns the Source for e.
func (o *Options) source(ctx context.Context, e transfer.End, text string, contents bool) (Source, error) {
	s := Source{text: text, End: e, contents: contents}
	var info pfs.Info
	var err error
	if contents || !o.Links && !o.skipLinks {
		_, info, err = e.Follow(ctx)
	} else {
		info, err = e.FS.Stat(ctx, e.Path)
	}
	if err != nil {
		return s, err
	}
	s.isDir = info.IsDir()
	if s.isDir && !o.Recursive {
		return s, errNeedsRecursive{text}
	}
	return s, nil
}

// errNeedsRecursive is the refusal to copy a directory without -r.
type errNeedsRecursive struct{ text string }

func (e errNeedsRecursive) Error() string {
	return e.text + " is a directory: -r copies directories with all their content"
}

// Unwrap makes e a usage error.
func (e errNeedsRecursive) Unwrap() error { return pfs.Invalid }

// CheckTwice refuses two sources that would become one file in the directory to, where the later
// would silently replace the earlier. Its memory does not depend on the number of matches.
func CheckTwice(ctx context.Context, a *app.App, from []app.Operand, to pfs.Path) error {
	s := sorter.New(app.ByName)
	defer s.Close() // a file that cannot be removed stays in the temporary directory
	for _, op := range from {
		// The copy itself reports missing sources.
		_ = a.Source(ctx, op, func(e transfer.End, text string) error {
			return s.Add(pfs.Info{Name: e.Path.Base(), Target: text})
		})
	}
	var before pfs.Info
	return s.Each(func(f pfs.Info) error {
		if f.Name == before.Name {
			return cliargs.Usagef("%s and %s would both become %s", before.Target, f.Target, app.LocalText(to.Join(f.Name)))
		}
		before = f
		return nil
	})
}

// checkPatterns is CheckTwice for the matches of patterns; checkSources does it for other operands.
// The contents of directories that are named with a slash are merged.
func (c *Copier) checkPatterns(ctx context.Context, from []app.Operand) error {
	if !slices.ContainsFunc(from, hasMagic) || len(from) == 1 && !IsScattered(from[0]) {
		return nil
	}
	named := slices.DeleteFunc(slices.Clone(from), func(o app.Operand) bool { return o.Contents })
	return CheckTwice(ctx, c.App, named, c.To.End.Path)
}

// hasMagic reports whether o may be a pattern.
func hasMagic(o app.Operand) bool { return pfs.HasMagic(filepath.ToSlash(o.Text)) }

// IsScattered reports whether o may be a pattern that matches in several directories.
func IsScattered(o app.Operand) bool {
	typed := filepath.ToSlash(strings.TrimRight(o.Text, "/"))
	magic := strings.IndexAny(typed, "*?[{")
	return hasMagic(o) && strings.Contains(typed[magic:], "/")
}
