package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// checkTwice refuses sources of which two would become one file: the later would
// replace the earlier without a word. check sees to plain operands as they are met;
// what patterns match is sorted by name here, in bounded memory, where it can come
// from more than one directory.
func (c *copier) checkTwice(ctx context.Context, from []operand) error {
	if !c.mayMeet(from) {
		return nil
	}
	s := newSorter(byName)
	defer s.close() // what cannot be removed is in the folder for temporary files
	for _, op := range from {
		if op.contents {
			continue // directories may be merged
		}
		// Of what cannot be found the copy tells.
		_ = c.d.source(ctx, op, func(e transfer.End, text string) error {
			return s.add(pfs.Info{Name: e.Path.Base(), Target: text})
		})
	}
	var before pfs.Info
	return s.each(func(f pfs.Info) error {
		if f.Name == before.Name {
			return cliargs.Usagef("%s and %s would both become %s", before.Target, f.Target, localText(c.to.end.Path.Join(f.Name)))
		}
		before = f
		return nil
	})
}

// mayMeet reports whether what the operands name can have one name in two directories.
func (c *copier) mayMeet(from []operand) bool {
	for _, op := range from {
		typed := filepath.ToSlash(op.text)
		if !pfs.HasMagic(typed) {
			continue
		}
		if len(from) > 1 {
			return true
		}
		magic := strings.IndexAny(typed, "*?[{")
		return strings.Contains(strings.TrimRight(typed[magic:], "/"), "/")
	}
	return false
}
