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

// HasMagic reports whether pattern has a special character that is not escaped:
// if not, Glob asks for one path only.
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

// Glob calls fn once for each path that pattern matches, in the store's order.
// The pattern is a path of which
//
//   - stands for any characters of one name
//     ?          for one character
//     [a-z]      for one character of the class, [!a-z] or [^a-z] for one not of it
//     {x,y}      for x or y, which may hold slashes, patterns and more braces
//     **         as a whole element, for any directories or none; at the end, for all below
//     \          takes the meaning from the next character
//
// A name that begins with a dot is matched only by a pattern with that dot. Only
// directories that may hold a match are listed; links are followed where the
// pattern names one and fsys follows it, never by "**". What is not there, or
// stops at a file or a link, is no match and no error; but a pattern without
// magic is a Stat, whose error is returned. Any other error ends Glob, and so does
// fn's; fs.SkipAll ends it with success. A malformed pattern answers Invalid, as does
// a match whose name cannot be a Path; a pattern of too many alternatives answers Limit.
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

// globber matches a tree against all alternatives of a pattern at once, so that
// no directory is listed twice and no path is reported twice.
type globber struct {
	fsys FileSystem
	fn   func(Path, Info) error
	alts [][]globElem
}

// globPos is a place in an alternative: all before the element at is matched.
type globPos struct{ alt, at int }

// start begins at the root, or where a pattern without magic leads at once.
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

// enter adds pos to at, and what follows it where "**" stands for nothing.
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

// matched reports whether one alternative is matched to its end.
func (g *globber) matched(at []globPos) bool {
	return slices.ContainsFunc(at, func(p globPos) bool { return p.at == len(g.alts[p.alt]) })
}

// open returns those of at that go on.
func (g *globber) open(at []globPos) []globPos {
	return slices.DeleteFunc(at, func(p globPos) bool { return p.at == len(g.alts[p.alt]) })
}

// walk matches what is below dir, of which at says how far it got.
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

// literals returns the names that can go on from at, if no listing is needed to
// know them.
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

// step returns where at gets by an entry of that name; "**" goes on into it if it
// is a directory.
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

// named goes on at a path that the pattern names, and nobody has seen yet.
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

// listed goes on at an entry of a listing.
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

// report hands name to fn with what Stat says.
func (g *globber) report(ctx context.Context, name Path) error {
	info, err := g.fsys.Stat(ctx, name)
	if err != nil {
		return err
	}
	return g.fn(name, info)
}

// unlessNoMatch drops an error that only says that there is nothing.
func unlessNoMatch(err error) error {
	if errors.Is(err, NotExist) || errors.Is(err, NotDir) || errors.Is(err, Symlink) {
		return nil
	}
	return err
}
