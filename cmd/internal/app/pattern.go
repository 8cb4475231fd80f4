package app

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/internal/sorter"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// IsPattern reports whether an operand is a pattern. An existing name is not.
func (a *App) IsPattern(ctx context.Context, o Operand) (bool, error) {
	switch {
	case o.Side == Local && pfs.HasMagic(filepath.ToSlash(o.Local)):
		_, err := os.Lstat(o.Local)
		return err != nil, nil // Windows has another error than "not found" for a pattern
	case o.Side == Remote && pfs.HasMagic(string(o.Path)):
		conn, err := a.Remotes.At(ctx, o.Path)
		if err != nil {
			return false, err
		}
		exists, err := pfs.Exists(ctx, conn.FS, o.Path)
		if errors.Is(err, pfs.NotDir) || errors.Is(err, pfs.Permission) {
			// These errors concern the literal name: a parent that is a file, or a home named
			// "*". A directory that the user may not list fails the match later.
			err = nil
		}
		return !exists, err
	}
	return false, nil
}

// IsMany reports whether there may be more than one source.
func (a *App) IsMany(ctx context.Context, from []Operand) (bool, error) {
	if len(from) > 1 {
		return true, nil
	}
	return a.IsPattern(ctx, from[0])
}

// globSorted calls fn for each path that pattern matches, sorted as a shell does, and reports
// whether there was one. Its memory does not depend on the number of matches. The Name passed
// to fn is the whole path.
func globSorted(ctx context.Context, fsys pfs.FileSystem, pattern string, fn func(pfs.Info) error) (found bool, err error) {
	s := sorter.New(ByName)
	defer s.Close() // a file that cannot be removed stays in the temporary directory
	err = pfs.Glob(ctx, fsys, pattern, func(name pfs.Path, info pfs.Info) error {
		found, info.Name = true, string(name)
		return s.Add(info)
	})
	if err != nil {
		return false, err
	}
	return found, s.Each(fn)
}

// localPattern is a pattern of local paths. It is matched below a directory because pfs.Glob
// takes patterns of absolute paths without "..".
type localPattern struct {
	base string       // the leading elements without magic, as typed
	dir  transfer.End // the directory base
	rest string       // the pattern below it
}

// pattern parses a pattern as the user typed it.
func (l *LocalSide) pattern(text string) (localPattern, error) {
	typed := filepath.ToSlash(text)
	plain := strings.IndexAny(typed, `*?[{\`)
	slash := strings.LastIndexByte(typed[:plain], '/') + 1
	p := localPattern{base: filepath.FromSlash(typed[:slash]), rest: typed[slash:]}
	var err error
	p.dir, err = l.End(cmp.Or(p.base, "."))
	return p, err
}

// glob returns the pattern in the syntax of pfs.Glob.
func (p localPattern) glob() string {
	return strings.TrimSuffix(escaped.Replace(string(p.dir.Path)), "/") + "/" + p.rest
}

// escaped escapes the special characters of a name.
var escaped = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`)

// text returns a matched path as the user would type it.
func (p localPattern) text(name pfs.Path) string {
	below := strings.TrimPrefix(string(name), strings.TrimSuffix(string(p.dir.Path), "/")+"/")
	return filepath.Join(p.base, filepath.FromSlash(below))
}

// localMatches calls fn for each local path that the pattern o matches. No match is a NotExist
// error.
func (a *App) localMatches(ctx context.Context, o Operand, fn func(e transfer.End, text string) error) error {
	p, err := a.Local.pattern(o.Local)
	if err != nil {
		return err
	}
	found, err := globSorted(ctx, p.dir.FS, p.glob(), func(info pfs.Info) error {
		name := pfs.Path(info.Name)
		return fn(transfer.End{FS: p.dir.FS, Path: name}, p.text(name))
	})
	if err == nil && !found {
		err = pfs.Errorf("app.expand", "", pfs.NotExist, "nothing matches %s", o.Text)
	}
	return err
}

// ByName compares the names of two entries.
func ByName(a, b pfs.Info) int { return strings.Compare(a.Name, b.Name) }
