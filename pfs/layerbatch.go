package pfs

import (
	"context"
)

const batchOp = "pfs.WriteBatch"

// WriteBatch finds out where each entry goes, hands runs of entries of one file
// system down together, and does one by one what needs a second look (a link on
// the way, a store that was busy).
func (l *Layer) WriteBatch(ctx context.Context, entries []BatchEntry) []error {
	errs := make([]error, len(entries))
	for i := 0; i < len(entries); {
		fsys, inner, err := l.batchRun(ctx, entries[i:])
		if err != nil {
			errs[i] = err
			i++
			continue
		}
		for j, err := range WriteBatch(ctx, fsys, inner) {
			errs[i+j] = l.batchResult(ctx, entries[i+j], inner[j].Path, err)
		}
		i += len(inner)
	}
	return errs
}

// batchRun returns those of the first entries that go to one file system, as they are
// called there. The error is that of the very first.
func (l *Layer) batchRun(ctx context.Context, entries []BatchEntry) (run FileSystem, inner []BatchEntry, err error) {
	for _, e := range entries {
		var to FileSystem
		err := l.one(ctx, batchOp, accessOf(e), e.Path, func(fsys FileSystem, p Path) error {
			to, e.Path = fsys, p
			return nil
		})
		if err != nil && run == nil {
			return nil, nil, err
		}
		if err != nil || run != nil && to != run {
			break // the next run begins here
		}
		run, inner = to, append(inner, e)
	}
	return run, inner, nil
}

// batchResult returns the error of e, which ended with err under the name inner, after a
// second look if that may help.
func (l *Layer) batchResult(ctx context.Context, e BatchEntry, inner Path, err error) error {
	if err == nil {
		return nil
	}
	if k := KindOf(err); k != Symlink && !k.Temporary() {
		return renamed(err, inner, e.Path)
	}
	return l.one(ctx, batchOp, accessOf(e), e.Path, func(fsys FileSystem, p Path) error {
		again := e
		again.Path = p
		return writeEntry(ctx, fsys, again)
	})
}

// accessOf returns what making e does to its path.
func accessOf(e BatchEntry) Access {
	if e.Mode.IsDir() {
		return Make
	}
	return Write
}
