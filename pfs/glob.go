package pfs

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// HasMagic reports whether pattern has a special character that is not escaped. Without one,
// Glob looks up one path only.
func HasMagic(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '*', '?', '[', '{':
			return true
		}
	}
	return false
}

// Glob calls fn once for each path that pattern matches, in the store's order. The pattern is a
// path with these special elements:
//
//	?          one character
//	*          any characters of one name
//	[a-z]      one character of the class; [!a-z] or [^a-z]: one that is not
//	{x,y}      x or y, which may hold slashes, patterns and more braces
//	**         as a whole element, any directories or none; at the end, everything below
//	\          the next character without its special meaning
//
// Only a pattern with a leading dot matches a name with a leading dot. Glob lists only
// directories that may hold a match. It follows a link that the pattern names if fsys follows
// it, but "**" never does.
//
// Missing names, and files or links in place of directories, are not errors. A pattern without
// magic is a Stat, whose error is returned. Any other error ends Glob, as does an error of fn;
// fs.SkipAll ends it with success. A malformed pattern answers Invalid, as does a match whose
// name cannot be in a Path; a pattern of too many alternatives answers Limit.
func Glob(ctx context.Context, fsys FileSystem, pattern string, fn func(name Path, info Info) error) error {
	g := globber{fsys: fsys, fn: fn}
	if err := g.compile(pattern); err != nil {
		return err
	}
	err := g.start(ctx, HasMagic(pattern))
	if err == fs.SkipAll {
		return nil
	}
	return err
}

// globber matches a tree against all alternatives of a pattern at once, so that it lists no
// directory twice and reports no path twice.
type globber struct {
	fsys FileSystem
	fn   func(Path, Info) error
	alts [][]globElem
}

// globPos is a position in an alternative: the elements before at are matched.
type globPos struct{ alt, at int }

// start begins at the root, or at the path that a pattern without magic names.
func (g *globber) start(ctx context.Context, magic bool) error {
	if !magic {
		name := Root
		for _, e := range g.alts[0] {
			name = name.Join(e.text)
		}
		return g.report(ctx, name)
	}
	var at []globPos
	for i := range g.alts {
		at = g.enter(at, globPos{alt: i})
	}
	if g.matched(at) {
		if err := g.report(ctx, Root); err != nil {
			return err
		}
	}
	return g.walk(ctx, Root, at)
}

// enter adds pos to at, and the position after it if "**" may match nothing.
func (g *globber) enter(at []globPos, pos globPos) []globPos {
	if slices.Contains(at, pos) {
		return at
	}
	at = append(at, pos)
	if elems := g.alts[pos.alt]; pos.at < len(elems) && elems[pos.at].kind == globDirs {
		pos.at++
		return g.enter(at, pos)
	}
	return at
}

// matched reports whether at has the end of an alternative.
func (g *globber) matched(at []globPos) bool {
	return slices.ContainsFunc(at, func(p globPos) bool { return p.at == len(g.alts[p.alt]) })
}

// open returns the positions of at that are not at an end.
func (g *globber) open(at []globPos) []globPos {
	return slices.DeleteFunc(at, func(p globPos) bool { return p.at == len(g.alts[p.alt]) })
}

// walk matches the entries below dir from the positions at.
func (g *globber) walk(ctx context.Context, dir Path, at []globPos) error {
	at = g.open(at)
	if names, ok := g.literals(at); ok {
		for _, name := range names {
			if err := g.named(ctx, dir.Join(name), g.step(at, name, false)); err != nil {
				return err
			}
		}
		return nil
	}
	var unnamed string // quoted; the pattern matches it
	note := func(quoted string) {
		if name, err := strconv.Unquote(quoted); err != nil || len(g.step(at, name, true)) > 0 {
			unnamed = quoted
		}
	}
	for e, err := range Entries(ctx, g.fsys, dir, note) {
		if err != nil {
			return unlessNoMatch(err)
		}
		if unnamed != "" {
			break
		}
		if err := g.listed(ctx, dir.Join(e.Name), e, g.step(at, e.Name, e.IsDir())); err != nil {
			return err
		}
	}
	if unnamed != "" {
		return Errorf("pfs.Glob", dir, Invalid, "entry %s matches and cannot be named here: rename it", unnamed)
	}
	return nil
}

// literals returns the names that can follow at, if they are known without a listing.
func (g *globber) literals(at []globPos) (names []string, ok bool) {
	for _, pos := range at {
		e := g.alts[pos.alt][pos.at]
		if e.kind != globLiteral {
			return nil, false
		}
		if !slices.Contains(names, e.text) {
			names = append(names, e.text)
		}
	}
	return names, true
}

// step returns the positions that an entry of this name leads to from at. "**" enters only
// directories.
func (g *globber) step(at []globPos, name string, dir bool) (next []globPos) {
	hidden := strings.HasPrefix(name, ".")
	for _, pos := range at {
		after := globPos{pos.alt, pos.at + 1}
		switch e := g.alts[pos.alt][pos.at]; e.kind {
		case globLiteral:
			if e.text == name {
				next = g.enter(next, after)
			}
		case globMatch:
			ok, _ := path.Match(e.text, name) // compile has checked the pattern
			if ok && (!hidden || e.dot) {
				next = g.enter(next, after)
			}
		case globDirs:
			if dir && !hidden {
				next = g.enter(next, pos)
			}
		}
	}
	return next
}

// named continues at a path that the pattern names and no listing has returned.
func (g *globber) named(ctx context.Context, name Path, at []globPos) error {
	if g.matched(at) {
		info, err := g.fsys.Stat(ctx, name)
		if err != nil {
			return unlessNoMatch(err)
		}
		if err := g.fn(name, info); err != nil {
			return err
		}
	}
	return g.walk(ctx, name, at)
}

// listed continues at an entry of a listing.
func (g *globber) listed(ctx context.Context, name Path, info Info, at []globPos) error {
	if g.matched(at) {
		if err := g.fn(name, info); err != nil {
			return err
		}
	}
	if !info.IsDir() && !info.IsLink() {
		return nil
	}
	return g.walk(ctx, name, at)
}

// report calls fn with name and its Info.
func (g *globber) report(ctx context.Context, name Path) error {
	info, err := g.fsys.Stat(ctx, name)
	if err != nil {
		return err
	}
	return g.fn(name, info)
}

// unlessNoMatch drops errors that mean that nothing matches.
func unlessNoMatch(err error) error {
	if errors.Is(err, NotExist) || errors.Is(err, NotDir) || errors.Is(err, Symlink) {
		return nil
	}
	return err
}
