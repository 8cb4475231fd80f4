package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// checkTwice refuses sources of which two would become one file in the directory to: the
// later would replace the earlier without a word. Memory does not grow with what
// patterns match.
func (d *deps) checkTwice(ctx context.Context, from []operand, to pfs.Path) error {
	s := newSorter(byName)
	defer s.close() // what cannot be removed is in the folder for temporary files
	for _, op := range from {
		// The command itself tells what cannot be found.
		_ = d.source(ctx, op, func(e transfer.End, text string) error {
			return s.add(pfs.Info{Name: e.Path.Base(), Target: text})
		})
	}
	var before pfs.Info
	return s.each(func(f pfs.Info) error {
		if f.Name == before.Name {
			return cliargs.Usagef("%s and %s would both become %s", before.Target, f.Target, localText(to.Join(f.Name)))
		}
		before = f
		return nil
	})
}

// checkPatterns is checkTwice for what patterns match; check does it for operands that
// are no patterns. What is in a directory that was named with a slash is merged.
func (c *copier) checkPatterns(ctx context.Context, from []operand) error {
	if !slices.ContainsFunc(from, operand.hasMagic) || len(from) == 1 && !from[0].isScattered() {
		return nil
	}
	named := slices.DeleteFunc(slices.Clone(from), func(o operand) bool { return o.contents })
	return c.d.checkTwice(ctx, named, c.to.end.Path)
}

// hasMagic reports whether o may be a pattern.
func (o operand) hasMagic() bool { return pfs.HasMagic(filepath.ToSlash(o.text)) }

// isScattered reports whether o may be a pattern that matches in several directories.
func (o operand) isScattered() bool {
	typed := filepath.ToSlash(strings.TrimRight(o.text, "/"))
	magic := strings.IndexAny(typed, "*?[{")
	return o.hasMagic() && strings.Contains(typed[magic:], "/")
}
