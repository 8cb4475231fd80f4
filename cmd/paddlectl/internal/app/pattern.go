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

// IsPattern reports whether an operand is to be matched with what there is. A name
// that exists as it was typed is not.
func (a *App) IsPattern(ctx context.Context, o Operand) (bool, error) {
	switch {
	case o.Side == Local && pfs.HasMagic(filepath.ToSlash(o.Local)):
		_, err := os.Lstat(o.Local)
		return err != nil, nil // on Windows that is another error than "not found"
	case o.Side == Remote && pfs.HasMagic(string(o.Path)):
		conn, err := a.Remotes.At(ctx, o.Path)
		if err != nil {
			return false, err
		}
		exists, err := pfs.Exists(ctx, conn.FS, o.Path)
		if errors.Is(err, pfs.NotDir) || errors.Is(err, pfs.Permission) {
			// A file on the way, or somebody else's home named "*": the pattern is not about
			// that. A directory that may not be listed ends the match with that error.
			err = nil
		}
		return !exists, err
	}
	return false, nil
}

// IsMany reports whether the sources may be more than one.
func (a *App) IsMany(ctx context.Context, from []Operand) (bool, error) {
	if len(from) > 1 {
		return true, nil
	}
	return a.IsPattern(ctx, from[0])
}

// globSorted calls fn for each path that pattern matches, sorted as a shell does,
// whatever their number, and reports whether there was one. The Name that fn gets is
// the whole path.
func globSorted(ctx context.Context, fsys pfs.FileSystem, pattern string, fn func(pfs.Info) error) (found bool, err error) {
	s := sorter.New(ByName)
	defer s.Close() // what cannot be removed is in the folder for temporary files
	err = pfs.Glob(ctx, fsys, pattern, func(name pfs.Path, info pfs.Info) error {
		found, info.Name = true, string(name)
		return s.Add(info)
	})
	if err != nil {
		return false, err
	}
	return found, s.Each(fn)
}

// localPattern is a pattern of this machine. It is matched below a directory, since
// pfs.Glob takes patterns of whole paths, without "..".
type localPattern struct {
	base string       // the elements without magic that it begins with, as typed
	dir  transfer.End // what base means
	rest string       // the pattern below it
}

// localPattern divides a pattern as it was typed.
func (l *LocalSide) pattern(text string) (localPattern, error) {
	typed := filepath.ToSlash(text)
	plain := strings.IndexAny(typed, `*?[{\`)
	slash := strings.LastIndexByte(typed[:plain], '/') + 1
	p := localPattern{base: filepath.FromSlash(typed[:slash]), rest: typed[slash:]}
	var err error
	p.dir, err = l.End(cmp.Or(p.base, "."))
	return p, err
}

// glob returns the pattern as pfs.Glob takes it.
func (p localPattern) glob() string {
	return strings.TrimSuffix(escaped.Replace(string(p.dir.Path)), "/") + "/" + p.rest
}

// escaped takes the meaning from the special characters of a name.
var escaped = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`)

// text returns the path that was matched as it would have been typed.
func (p localPattern) text(name pfs.Path) string {
	below := strings.TrimPrefix(string(name), strings.TrimSuffix(string(p.dir.Path), "/")+"/")
	return filepath.Join(p.base, filepath.FromSlash(below))
}

// localMatches calls fn for each path of this machine that the pattern o matches. No
// match is an error of Kind NotExist.
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
		err = pfs.Errorf("paddlectl.expand", "", pfs.NotExist, "nothing matches %s", o.Text)
	}
	return err
}

// ByName compares the names of two entries.
func ByName(a, b pfs.Info) int { return strings.Compare(a.Name, b.Name) }
