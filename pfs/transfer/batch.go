package transfer

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/retry"
)

const (
	// maxEntries is the largest number of files in a batch. Their content shares
	// one buffer of pfs.ChunkSize bytes.
	maxEntries = 500

	// linger is how long a batch waits for more files.
	linger = 20 * time.Millisecond
)

// batch is a group of small files that few requests read and write, or that one request copies
// within its file system.
type batch struct {
	from, to pfs.FileSystem
	buf      []byte // for their content; nil if they are copied within
	used     int    // bytes of content
	slots    []*slot
}

// within reports whether the files are copied within their file system.
func (b *batch) within() bool { return b.buf == nil }

// slot is the place of a file in a batch.
type slot struct {
	it    *item
	data  []byte
	entry pfs.BatchEntry
	err   error
}

// fits reports whether it can go into the batch.
func (b *batch) fits(it *item) bool {
	return sameFS(b.from, it.source.FS) && sameFS(b.to, it.target.FS) &&
		len(b.slots) < maxEntries && b.used+int(it.info.Size) <= pfs.ChunkSize
}

// add puts it into the batch.
func (b *batch) add(it *item) {
	end := b.used + int(it.info.Size)
	s := &slot{it: it}
	if !b.within() {
		s.data = b.buf[b.used:end:end]
	}
	b.slots = append(b.slots, s)
	b.used = end
}

// batcher collects small files into batches.
type batcher struct {
	r      *run
	b      *batch        // being collected; nil if none
	flying chan struct{} // one for each batch being read and written
	work   sync.WaitGroup
}

// batchSmall sends the small files in batches until their queue is closed.
func (r *run) batchSmall(ctx context.Context) {
	s := &batcher{r: r, flying: make(chan struct{}, r.j.opts.Parallel)}
	for it, ok := s.next(ctx); ok; it, ok = s.next(ctx) {
		s.add(ctx, it)
	}
	s.flush(ctx)
	s.work.Wait()
}

// next returns the next small file. If none comes within linger, next sends the batch anyway,
// because other parts of the job may wait for its buffer.
func (s *batcher) next(ctx context.Context) (*item, bool) {
	if s.b == nil {
		it, ok := <-s.r.small
		return it, ok
	}
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case it, ok := <-s.r.small:
		return it, ok
	case <-timer.C:
		s.flush(ctx)
	}
	it, ok := <-s.r.small
	return it, ok
}

// add puts a small file into the batch.
func (s *batcher) add(ctx context.Context, it *item) {
	if s.b != nil && !s.b.fits(it) {
		s.flush(ctx)
	}
	if s.b == nil {
		b := &batch{from: it.source.FS, to: it.target.FS}
		if !sameFS(b.from, b.to) {
			var err error
			if b.buf, err = s.r.j.pool.get(ctx); err != nil {
				s.r.failItem(it, err)
				s.r.release(ctx, it)
				return
			}
		}
		s.b = b
	}
	s.b.add(it)
}

// flush starts to copy the batch. Files that must be copied alone need buffers of their own, so
// they are passed on after the batch has returned its buffer.
func (s *batcher) flush(ctx context.Context) {
	b := s.b
	if b == nil {
		return
	}
	s.b = nil
	s.flying <- struct{}{}
	s.work.Go(func() {
		ready, alone := s.r.readyBatch(ctx, b)
		alone = append(alone, s.r.writeBatch(ctx, b, ready)...)
		if !b.within() {
			s.r.j.pool.put(b.buf)
		}
		<-s.flying
		for _, it := range alone {
			s.r.put(ctx, s.r.large, it)
		}
	})
}

// readyBatch reads the files of the batch, unless they are copied within, and returns the files
// that are ready to be written. A file with any problem is copied alone, which retries
// it or reports its error.
func (r *run) readyBatch(ctx context.Context, b *batch) (ready []*slot, alone []*item) {
	if b.within() {
		for _, s := range b.slots {
			if s.it.dir.ensure(ctx) == nil {
				s.entry = r.batchEntry(s.it, s.it.info)
				ready = append(ready, s)
			} else {
				alone = append(alone, s.it)
			}
		}
		return ready, alone
	}
	files := make([]pfs.BatchFile, len(b.slots))
	for i, s := range b.slots {
		files[i] = pfs.BatchFile{Path: s.it.source.Path, Data: s.data}
	}
	for i, err := range guarded(b.slots, func() []error { return pfs.ReadBatch(retry.Once(ctx), b.from, files) }) {
		s := b.slots[i]
		if err == nil && r.prepare(ctx, s, files[i].Info) {
			ready = append(ready, s)
		} else {
			alone = append(alone, s.it)
		}
	}
	return ready, alone
}

// guarded runs do, which returns one error for each slot. A panic of do is the error of
// every slot.
func guarded(slots []*slot, do func() []error) (errs []error) {
	err := pfs.Guard("transfer.Copy", slots[0].it.name, func() error {
		errs = do()
		return nil
	})
	if err != nil {
		errs = slices.Repeat([]error{err}, len(slots))
	}
	return errs
}

// prepare makes the entry of a file that was read. It reports false if the bytes do not
// have the digest that the source keeps, or if the target directory cannot be made.
func (r *run) prepare(ctx context.Context, s *slot, info pfs.Info) bool {
	sum := digest.Bytes(s.data)
	if info.Digest != "" && info.Digest != sum || s.it.dir.ensure(ctx) != nil {
		return false
	}
	s.entry = r.batchEntry(s.it, info)
	s.entry.Data, s.entry.Digest = s.data, sum
	return true
}

// batchEntry returns the entry for a copy of the version info of it, without content.
func (r *run) batchEntry(it *item, info pfs.Info) pfs.BatchEntry {
	o := r.j.opts
	e := pfs.BatchEntry{Path: it.target.Path, Mode: info.Mode.Perm(), ModTime: info.ModTime, NoReplace: o.Overwrite == NoReplace}
	if o.NewMode {
		e.Mode = 0
	}
	if o.NewTime {
		e.ModTime = time.Time{}
	}
	return e
}

// writeBatch writes the files of todo. It returns those that must be copied alone.
func (r *run) writeBatch(ctx context.Context, b *batch, todo []*slot) (alone []*item) {
	bytes := 0
	for _, s := range todo {
		bytes += len(s.data)
	}
	if len(todo) == 0 {
		return nil
	}
	err := r.j.pay(ctx, bytes)
	if err == nil {
		err = pfs.CheckContext(ctx, "transfer.Copy", "")
	}
	if err != nil {
		for _, s := range todo {
			r.failItem(s.it, err)
			r.release(ctx, s.it)
		}
		return nil
	}
	tries := 0
	err = r.j.retry(ctx, todo[0].it.name, func(once context.Context) error {
		tries++
		errs := guarded(todo, func() []error { return b.write(once, todo) })
		var err error
		todo, err = r.tried(ctx, b, todo, errs, tries, &alone)
		return err
	})
	for _, s := range todo {
		r.failItem(s.it, cmp.Or(s.err, err)) // err if there was no attempt
		r.release(ctx, s.it)
	}
	return alone
}

// tried finishes the files of todo that were written or cannot be retried. It returns the files
// that another attempt may save, and one of their errors: a temporary one if there is any, because
// temporary errors are retried most often.
func (r *run) tried(ctx context.Context, b *batch, todo []*slot, errs []error, try int, alone *[]*item) (left []*slot, why error) {
	for i, err := range errs {
		s := todo[i]
		s.err = err
		kind := pfs.KindOf(err)
		switch {
		case err == nil:
			r.wroteSmall(ctx, s)
		case kind.Temporary() || kind == pfs.Canceled:
			left = append(left, s)
			if why == nil || kind.Temporary() {
				why = err
			}
		case s.entry.NoReplace && kind == pfs.Exist:
			r.existsSmall(ctx, s, try)
		case kind == pfs.Unsupported, kind == pfs.Integrity, b.within(), isFull(kind):
			// A file that did not fit may fit without the larger files of the batch.
			*alone = append(*alone, s.it)
		default:
			r.failItem(s.it, err)
			r.release(ctx, s.it)
		}
	}
	return left, why
}

// write makes the files of todo at the target.
func (b *batch) write(ctx context.Context, todo []*slot) []error {
	if b.within() {
		return copyBatch(ctx, b.to.(pfs.BatchCopier), todo)
	}
	entries := make([]pfs.BatchEntry, len(todo))
	for i, s := range todo {
		entries[i] = s.entry
	}
	return pfs.WriteBatch(ctx, b.to, entries)
}

// wroteSmall reports a file of a batch as done.
func (r *run) wroteSmall(ctx context.Context, s *slot) {
	r.j.count.bytesDone.Add(s.it.info.Size)
	r.done(s.it, Event{Digest: s.entry.Digest})
	r.release(ctx, s.it)
}

// existsSmall finishes a file that exists and must not be replaced. It may exist because
// an earlier attempt succeeded and the answer was lost.
func (r *run) existsSmall(ctx context.Context, s *slot, try int) {
	if try > 1 {
		if _, ok := r.j.published(ctx, s.it.target, s.it.info.Size, s.entry.Digest); ok {
			r.wroteSmall(ctx, s)
			return
		}
	}
	r.skipped(s.it, Exists)
	r.release(ctx, s.it)
}
