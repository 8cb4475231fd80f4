package pfs

import (
	"context"
)

// WriteBatch finds out where each entry goes, hands runs of entries of one file
// system down together, and does one by one what needs a second look (a link on
// the way, a store that was busy).
func (l *Layer) WriteBatch(ctx context.Context, entries []BatchEntry) []error {
	const op = "pfs.WriteBatch"
	errs := make([]error, len(entries))
	access := func(e BatchEntry) Access {
		if e.Mode.IsDir() {
			return Make
		}
		return Write
	}
	for i := 0; i < len(entries); {
		var run FileSystem
		var inner []BatchEntry
		start := i
		for ; i < len(entries); i++ {
			var to FileSystem
			e := entries[i]
			err := l.one(ctx, op, access(e), e.Path, func(fsys FileSystem, p Path) error {
				to, e.Path = fsys, p
				return nil
			})
			if err != nil {
				if i == start {
					errs[i] = err
					i++
				}
				break
			}
			if run != nil && to != run {
				break
			}
			run = to
			inner = append(inner, e)
		}
		if run == nil {
			continue
		}
		for j, err := range WriteBatch(ctx, run, inner) {
			e := entries[start+j]
			if k := KindOf(err); err != nil && (k == Symlink || k.Temporary()) {
				err = l.one(ctx, op, access(e), e.Path, func(fsys FileSystem, p Path) error {
					again := e
					again.Path = p
					return writeEntry(ctx, fsys, again)
				})
			}
			errs[start+j] = renamed(err, inner[j].Path, e.Path)
		}
	}
	return errs
}
