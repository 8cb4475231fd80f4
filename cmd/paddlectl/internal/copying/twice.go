package copying

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/sorter"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// CheckTwice refuses sources of which two would become one file in the directory to: the
// later would replace the earlier without a word. Memory does not grow with what
// patterns match.
func CheckTwice(ctx context.Context, a *app.App, from []app.Operand, to pfs.Path) error {
	s := sorter.New(app.ByName)
	defer s.Close() // what cannot be removed is in the folder for temporary files
	for _, op := range from {
		// The command itself tells what cannot be found.
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

// checkPatterns is checkTwice for what patterns match; check does it for operands that
// are no patterns. What is in a directory that was named with a slash is merged.
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
