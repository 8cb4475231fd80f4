package hdfsfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// batchWorkers is the number of files of a batch that are written at once.
const batchWorkers = 16

// WriteBatch creates the entries: directories in order, and the files between two directories
// concurrently. Files need no directory and parts of an upload, and the information that they share
// is requested once.
func (f *FS) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	errs := make([]error, len(entries))
	var t batchFailures
	for i := 0; i < len(entries); {
		n := independent(entries[i:])
		f.writeTogether(ctx, &t, entries[i:i+n], errs[i:i+n])
		i += n
	}
	return errs
}

// independent returns the number of leading entries that do not depend on each other:
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
func (f *FS) writeTogether(ctx context.Context, t *batchFailures, entries []pfs.BatchEntry, errs []error) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, batchWorkers)
	b := &batch{FS: f, places: map[string]*place{}}
	for i, e := range entries {
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = pfs.Guard("hdfsfs.WriteBatch", e.Path, func() error {
				if err := t.err(); err != nil {
					return fail("hdfsfs.WriteBatch", e.Path, err)
				}
				return t.judge(b.write(ctx, e))
			})
			<-slots
		})
	}
	wg.Wait()
}

// batch is the shared state of the files of one WriteBatch.
type batch struct {
	*FS
	mu     sync.Mutex
	places map[string]*place // by path in HDFS
}

// batchFailures counts the failures of a WriteBatch. It gives up as soon as the NameNode does not
// answer a call, or when batchWorkers files in a row could not be stored: each further file
// would take as long again, and the sender can retry all of them later.
type batchFailures struct {
	mu   sync.Mutex
	late error  // of a NameNode that did not answer
	vain int    // files in a row
	why  string // the last of them failed
}

// err returns why the batch gave up; nil if it did not.
func (t *batchFailures) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.late != nil:
		return t.late
	case t.vain >= batchWorkers:
		return fmt.Errorf("not tried, since %d others in a row failed%s", t.vain, t.why)
	}
	return nil
}

// judge returns err, and counts it if other files would fail the same way.
func (t *batchFailures) judge(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var late *rpc.NoAnswer
	switch {
	case errors.As(err, &late):
		t.late = late
	case is(err, pfs.Unavailable):
		t.vain++
		var e *pfs.Error
		if errors.As(err, &e) && e.Cause() != "" {
			t.why = ": " + e.Cause()
		}
	default:
		t.vain = 0
	}
	return err
}

// place is the target directory of files, or the one in which they are staged.
type place struct {
	once  sync.Once
	st    status
	stage *stageRoot // for files in it
	err   error
}

// place describes a directory in HDFS.
func (b *batch) place(ctx context.Context, at string) (*place, error) {
	b.mu.Lock()
	p := b.places[at]
	if p == nil {
		p = &place{}
		b.places[at] = p
	}
	b.mu.Unlock()
	p.once.Do(func() {
		if p.st, p.err = b.statusAt(ctx, at); p.err == nil {
			p.stage, p.err = b.stageAt(ctx, at, p.st)
		}
	})
	return p, p.err
}

// write makes one entry.
func (b *batch) write(ctx context.Context, e pfs.BatchEntry) error {
	const op = "hdfsfs.WriteBatch"
	if err := b.check(ctx, op, e.Path); err != nil {
		return err
	}
	if e.Mode.IsDir() {
		return b.Mkdir(ctx, e.Path, e.Mode.Perm())
	}
	if e.Path == pfs.Root {
		return pfs.E(op, e.Path, pfs.IsDir, nil)
	}
	opts := e.Commit()
	dir := e.Path.Parent()
	p, err := b.place(ctx, b.at(dir))
	if err != nil {
		return b.placeError(ctx, op, e.Path, fail(op, dir, err))
	}
	at, err := b.store(ctx, p.stage, e.Data, opts.Perm())
	if err == nil {
		err = b.publish(ctx, op, p, at, e.Path, opts)
	}
	return fail(op, e.Path, err)
}

// store stores data under a temporary name. It retries once if the cluster lost the data,
// but not if the write never began, which was retried already.
func (b *batch) store(ctx context.Context, stage *stageRoot, data []byte, perm fs.FileMode) (at string, err error) {
	l, err := b.layout(ctx)
	if err != nil {
		return "", err
	}
	l.perm = perm
	for range 2 {
		err = stage.within(ctx, func() (err error) {
			at, err = b.storeOnce(ctx, stage.temporary(tempFile), l, data)
			return err
		})
		if err == nil || at == "" || !is(err, pfs.Unavailable, pfs.Integrity) || nameNodeSilent(err) || retry.From(ctx).Spent() {
			return at, err
		}
	}
	return "", err
}

// storeOnce returns the path of the new file, even with an error.
func (b *batch) storeOnce(ctx context.Context, at string, l layout, data []byte) (string, error) {
	first := data[:min(len(data), pfs.ChunkSize)]
	a, err := b.beginWith(ctx, at, l, first)
	if err != nil {
		return "", err
	}
	for rest := data[len(first):]; len(rest) > 0; {
		p := rest[:min(len(rest), pfs.ChunkSize)]
		if err := a.write(p); err != nil {
			a.discard()
			return a.path, err
		}
		rest = rest[len(p):]
	}
	// The last DataNode of the pipeline has compared the bytes with their checksums, and all DataNodes keep the checksums. A
	// request for them would cost as much as writing the file.
	return a.path, a.close(ctx)
}

// publish gives a stored file its attributes and its name.
func (b *batch) publish(ctx context.Context, op string, p *place, at string, name pfs.Path, opts pfs.CommitOptions) error {
	err := b.finalizeNew(ctx, p, at, opts)
	if err == nil {
		if err = b.move(ctx, at, b.at(name), opts.NoReplace); err == nil {
			return nil
		}
		err = b.publishError(ctx, op, at, name, err)
	} else {
		err = b.placeError(ctx, op, name, err)
	}
	b.discardTemporary(context.WithoutCancel(ctx), at)
	return err
}

// finalizeNew is finalize for a new file, which already has these permission bits, and the owner
// and group of all new entries of the directory in which it is staged.
func (b *batch) finalizeNew(ctx context.Context, p *place, at string, opts pfs.CommitOptions) error {
	home, err := b.place(ctx, p.stage.home())
	if err != nil {
		return err
	}
	return together(
		func() error { return b.giveTo(ctx, at, home.st, p.st) },
		func() error { return b.date(ctx, at, "", opts) },
	)
}
