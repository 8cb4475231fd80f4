package transfer

import (
	"context"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// mostEntries is the largest number of files in a batch. Their content shares
	// one buffer of pfs.ChunkSize bytes.
	mostEntries = 500

	// linger is how long a batch waits for more files.
	linger = 20 * time.Millisecond
)

// batch is a number of small files that are written by one request.
type batch struct {
	fs    pfs.FileSystem
	buf   []byte
	used  int
	slots []*slot
	reads sync.WaitGroup
}

// slot is the place of a file in a batch.
type slot struct {
	it    *item
	entry pfs.BatchEntry
	out   bool // not in the batch any more
	err   error
}

// fits reports whether it can go into the batch.
func (b *batch) fits(it *item) bool {
	return sameFS(b.fs, it.target.FS) && len(b.slots) < mostEntries && b.used+int(it.info.Size) <= len(b.buf)
}

// batcher collects small files into batches.
type batcher struct {
	r       *run
	b       *batch        // being collected; nil if none
	reading chan struct{} // one for each file being read
	flying  chan struct{} // one for each batch being written
	work    sync.WaitGroup
}

// batchSmall sends the small files in batches until their queue is closed.
func (r *run) batchSmall(ctx context.Context) {
	s := &batcher{
		r:       r,
		reading: make(chan struct{}, 4*r.j.opts.Parallel),
		flying:  make(chan struct{}, r.j.opts.Parallel),
	}
	for it, ok := s.next(ctx); ok; it, ok = s.next(ctx) {
		s.add(ctx, it)
	}
	s.flush(ctx)
	s.work.Wait()
}

// next returns the next small file. If none comes for a while, what there is is
// sent, so that no batch holds memory that somebody else waits for.
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

// add reads a small file into the batch.
func (s *batcher) add(ctx context.Context, it *item) {
	if s.b != nil && !s.b.fits(it) {
		s.flush(ctx)
	}
	if s.b == nil {
		buf, err := s.r.j.pool.get(ctx)
		if err != nil {
			s.r.release(ctx, it)
			return
		}
		s.b = &batch{fs: it.target.FS, buf: buf}
	}
	b, place := s.b, &slot{it: it}
	p := b.buf[b.used:][:it.info.Size]
	b.used += len(p)
	b.slots = append(b.slots, place)
	b.reads.Add(1)
	s.reading <- struct{}{}
	s.work.Go(func() {
		s.r.readSmall(ctx, place, p)
		<-s.reading
		// From here on the batch does not wait for this file, so that this file
		// may wait for memory that the batch holds.
		out := place.out
		b.reads.Done()
		if out {
			s.r.put(ctx, s.r.large, it)
		}
	})
}

// flush sends the batch.
func (s *batcher) flush(ctx context.Context) {
	b := s.b
	if b == nil {
		return
	}
	s.b = nil
	s.flying <- struct{}{}
	s.work.Go(func() {
		b.reads.Wait()
		again := s.r.writeBatch(ctx, b)
		s.r.j.pool.put(b.buf)
		<-s.flying
		for _, it := range again {
			s.r.put(ctx, s.r.large, it)
		}
	})
}

// readSmall reads a file into p. A file with which anything is out of the ordinary
// leaves the batch: copied by itself it is retried, or fails, with all due care.
func (r *run) readSmall(ctx context.Context, s *slot, p []byte) {
	sum, info, err := r.j.readWhole(ctx, s.it.source, p)
	if err == nil {
		err = s.it.dir.ensure(ctx)
	}
	if err != nil {
		s.out = true
		return
	}
	o := r.j.opts
	s.entry = pfs.BatchEntry{
		Path: s.it.target.Path, Mode: info.Mode.Perm(), ModTime: info.ModTime,
		Data: p, Digest: sum, NoReplace: o.Overwrite == NoReplace,
	}
	if o.NewMode {
		s.entry.Mode = 0
	}
	if o.NewTime {
		s.entry.ModTime = time.Time{}
	}
}

// writeBatch writes what is in the batch. It returns the files that must be copied
// by themselves.
func (r *run) writeBatch(ctx context.Context, b *batch) (again []*item) {
	var todo []*slot
	for _, s := range b.slots {
		if !s.out {
			todo = append(todo, s)
		}
	}
	if len(todo) == 0 || r.j.pay(ctx, b.used) != nil {
		for _, s := range todo {
			r.release(ctx, s.it)
		}
		return nil
	}
	tries := 0
	_ = r.j.retry(ctx, todo[0].it.name, func() error {
		tries++
		var err error
		todo, err = r.tryBatch(ctx, b.fs, todo, tries, &again)
		return err
	})
	for _, s := range todo {
		r.failItem(s.it, s.err)
		r.release(ctx, s.it)
	}
	return again
}

// tryBatch writes the files of todo. It returns those for which another try may
// help, and an error of one of them.
func (r *run) tryBatch(ctx context.Context, fsys pfs.FileSystem, todo []*slot, try int, again *[]*item) (left []*slot, first error) {
	entries := make([]pfs.BatchEntry, len(todo))
	for i, s := range todo {
		entries[i] = s.entry
	}
	for i, err := range pfs.WriteBatch(ctx, fsys, entries) {
		s := todo[i]
		s.err = err
		kind := pfs.KindOf(err)
		switch {
		case err == nil:
			r.wroteSmall(ctx, s)
		case kind.Temporary() || kind == pfs.Integrity || kind == pfs.Canceled:
			left, first = append(left, s), err
		case s.entry.NoReplace && kind == pfs.Exist:
			r.existsSmall(ctx, s, try)
		case kind == pfs.Unsupported:
			*again = append(*again, s.it)
		default:
			r.failItem(s.it, err)
			r.release(ctx, s.it)
		}
	}
	return left, first
}

// wroteSmall reports a file of a batch as done.
func (r *run) wroteSmall(ctx context.Context, s *slot) {
	r.j.count.bytesDone.Add(s.it.info.Size)
	r.done(s.it, Event{Digest: s.entry.Digest})
	r.release(ctx, s.it)
}

// existsSmall ends a file that exists and must not be replaced. Perhaps it is there
// because an earlier try was done and its answer lost.
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
