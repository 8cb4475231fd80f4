package pfs

import (
	"context"
	"errors"
)

const batchOp = "pfs.WriteBatch"

// WriteBatch resolves each entry and passes runs of entries of one file system down together.
// Entries that failed with a link on the way or on a busy store are tried again, one by one. If
// the store is still busy for one entry, the others are not tried: each could take as long as
// the store's timeout.
func (l *Layer) WriteBatch(ctx context.Context, entries []BatchEntry) []error {
	errs := l.writeBatch(ctx, entries)
	for i := range errs {
		if errs[i] == nil || l.hooks.Again == nil || !l.hooks.Again(ctx, entries[i].Path, errs[i]) {
			continue
		}
		var failed []BatchEntry
		var at []int
		for k := i; k < len(errs); k++ {
			if errs[k] != nil {
				failed, at = append(failed, entries[k]), append(at, k)
			}
		}
		for n, err := range l.writeBatch(ctx, failed) {
			errs[at[n]] = err
		}
	}
	for _, e := range entries {
		l.wrote(e.Path)
	}
	return errs
}

func (l *Layer) writeBatch(ctx context.Context, entries []BatchEntry) []error {
	errs := make([]error, len(entries))
	for i := 0; i < len(entries); {
		fsys, inner, err := l.batchRun(ctx, entries[i:])
		if err != nil {
			errs[i] = err
			i++
			continue
		}
		busy := false
		for j, err := range WriteBatch(ctx, fsys, inner) {
			if temporary(err) && !busy || errors.Is(err, Symlink) {
				errs[i+j] = l.lookAgain(ctx, entries[i+j])
				busy = busy || temporary(errs[i+j])
			} else {
				errs[i+j] = renamed(err, inner[j].Path, entries[i+j].Path)
			}
		}
		i += len(inner)
	}
	return errs
}

// batchRun returns the leading entries that go to one file system, with their names there. The
// error is that of the very first.
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

// temporary reports whether what failed with err may succeed later.
func temporary(err error) bool { return err != nil && KindOf(err).Temporary() }

// lookAgain makes e alone.
func (l *Layer) lookAgain(ctx context.Context, e BatchEntry) error {
	return l.one(ctx, batchOp, accessOf(e), e.Path, func(fsys FileSystem, p Path) error {
		again := e
		again.Path = p
		return writeEntry(ctx, fsys, again)
	})
}

// accessOf returns the access to its path that e needs.
func accessOf(e BatchEntry) Access {
	if e.Mode.IsDir() {
		return Make
	}
	return Write
}
