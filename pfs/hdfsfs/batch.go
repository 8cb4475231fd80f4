package hdfsfs

import (
	"context"
	"sync"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
)

// batchWorkers is the number of files of a batch that are written at once.
const batchWorkers = 16

// WriteBatch makes the entries: directories in their order, and the files between two
// of them at once. Files need no directory of a staged write and no parts.
func (f *FS) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	errs := make([]error, len(entries))
	for i := 0; i < len(entries); {
		n := independent(entries[i:])
		f.writeTogether(ctx, entries[i:i+n], errs[i:i+n])
		i += n
	}
	return errs
}

// independent is the number of entries at the start that do not depend on each other:
// files of different names, or one directory.
func independent(entries []pfs.BatchEntry) int {
	if entries[0].Mode.IsDir() {
		return 1
	}
	seen := map[pfs.Path]bool{}
	for i, e := range entries {
		if e.Mode.IsDir() || seen[e.Path] {
			return i
		}
		seen[e.Path] = true
	}
	return len(entries)
}

// writeTogether makes entries that do not depend on each other.
func (f *FS) writeTogether(ctx context.Context, entries []pfs.BatchEntry, errs []error) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, batchWorkers)
	for i, e := range entries {
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = f.writeEntry(ctx, e)
			<-slots
		})
	}
	wg.Wait()
}

// writeEntry makes one entry.
func (f *FS) writeEntry(ctx context.Context, e pfs.BatchEntry) error {
	const op = "hdfsfs.WriteBatch"
	if err := f.check(ctx, op, e.Path); err != nil {
		return err
	}
	if e.Mode.IsDir() {
		return f.Mkdir(ctx, e.Path, e.Mode.Perm())
	}
	if e.Path == pfs.Root {
		return pfs.E(op, e.Path, pfs.IsDir, nil)
	}
	if e.NoReplace && !f.hasWeb() {
		return fail(op, e.Path, errWebOff)
	}
	opts := pfs.CommitOptions{Size: int64(len(e.Data)), Mode: e.Mode, ModTime: e.ModTime, Digest: e.Digest, NoReplace: e.NoReplace}
	at, err := f.writeLoose(ctx, e.Data)
	if err == nil {
		err = f.publishLoose(ctx, op, at, e.Path, opts)
	}
	return fail(op, e.Path, err)
}

// writeLoose stores data under a name of its own, once more if the cluster lost it.
func (f *FS) writeLoose(ctx context.Context, data []byte) (at string, err error) {
	l, err := f.layout(ctx)
	if err != nil {
		return "", err
	}
	for range 2 {
		err = f.stage.within(ctx, func() (err error) {
			at, err = f.writeOnce(ctx, l, data)
			return err
		})
		if err == nil || !is(err, pfs.Unavailable, pfs.Integrity) {
			return at, err
		}
	}
	return "", err
}

func (f *FS) writeOnce(ctx context.Context, l layout, data []byte) (string, error) {
	first := data[:min(len(data), pfs.ChunkSize)]
	a, err := f.beginWith(ctx, l, first, func() string { return f.stage.loose("b") })
	if err != nil {
		return "", err
	}
	for rest := data[len(first):]; len(rest) > 0; {
		p := rest[:min(len(rest), pfs.ChunkSize)]
		if err := a.write(p); err != nil {
			a.discard()
			return "", err
		}
		rest = rest[len(p):]
	}
	return a.path, a.finish(ctx)
}

// publishLoose gives what writeLoose stored its properties and its name.
func (f *FS) publishLoose(ctx context.Context, op, at string, name pfs.Path, opts pfs.CommitOptions) error {
	err := f.dress(ctx, at, name.Parent(), "", opts)
	if err == nil {
		if err = f.move(ctx, at, f.at(name), opts.NoReplace); err == nil {
			return nil
		}
		err = f.publishError(ctx, op, at, name, err)
	} else {
		err = f.placeError(ctx, op, name, err)
	}
	f.discardLoose(context.WithoutCancel(ctx), at)
	return err
}

// discardLoose removes what could not be published. If that fails it is swept one day.
func (f *FS) discardLoose(ctx context.Context, at string) {
	_ = f.call(ctx, often, func(c *hdfs.Client) error { return c.Remove(at) })
}
