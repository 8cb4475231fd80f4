package cachefs

import (
	"context"
	"errors"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

var (
	// errPassed is the result of a fetch that the cache cannot keep: readers ask the store.
	errPassed = errors.New("the block cannot be cached")
	// errAgain is the result of a fetch that was given up: readers start another one.
	errAgain = errors.New("the block is not wanted any more")
)

// fetch is the way of one block into the cache. All readers of the block share it.
type fetch struct {
	ticket *ticket
	done   chan struct{}
	err    error // once done is closed
}

// length returns the number of bytes of block b.
func (e *entry) length(b int64) int64 { return min(blockSize, e.info.Size-b*blockSize) }

// hold counts one more user of e, which works in the background. It returns false if the file
// system is closed.
func (e *entry) hold() bool {
	e.fs.mu.Lock()
	defer e.fs.mu.Unlock()
	if !e.fs.closed {
		e.refs++
		e.fs.work.Add(1)
	}
	return !e.fs.closed
}

// drop ends what hold began.
func (e *entry) drop() {
	e.fs.release(e)
	e.fs.work.Done()
}

// claim returns the fetch of block b and whether the caller must run it; nil if the block is there.
func (e *entry) claim(b int64, p priority, enter func() *ticket) (f *fetch, run bool) {
	if e.states[b].Load() == good {
		return nil, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.states[b].Load() == good {
		return nil, false
	}
	if f := e.fetches[b]; f != nil {
		e.fs.queue.raise(f.ticket, p)
		return f, false
	}
	f = &fetch{done: make(chan struct{})}
	if !e.hold() {
		f.err = errPassed
		close(f.done)
		return f, false
	}
	f.ticket = enter()
	e.fetches[b] = f
	return f, true
}

// finished publishes the result of a claimed fetch.
func (e *entry) finished(f *fetch, b int64, err error) {
	if err == nil {
		err = e.finish()
	}
	e.mu.Lock()
	delete(e.fetches, b)
	f.err = err
	e.mu.Unlock()
	close(f.done)
	e.drop()
}

// want begins to fetch block b unless it is there or on its way. It returns nil if it is there.
func (e *entry) want(ctx context.Context, b int64, p priority) *fetch {
	f, run := e.claim(b, p, func() *ticket { return e.fs.queue.enter(p, e.length(b)) })
	if run {
		go func() {
			ctx, cancel := e.fs.detach(ctx)
			defer cancel()
			err := pfs.Guard("cachefs.fetch", e.name, func() error { return e.load(ctx, f, b, p) })
			e.finished(f, b, err)
		}()
	}
	return f
}

// detach returns a context with the values of ctx, which ends with the file system.
func (f *FS) detach(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(f.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// need waits until block b is in the cache. It returns false if the cache cannot keep the block.
func (e *entry) need(ctx context.Context, b int64) (bool, error) {
	for range 4 {
		f := e.want(ctx, b, demand)
		if f == nil {
			return true, nil
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return false, pfs.CheckContext(ctx, "cachefs.File.ReadAt", e.name)
		}
		switch {
		case f.err == nil:
			return true, nil
		case errors.Is(f.err, errAgain):
		case errors.Is(f.err, errPassed):
			return false, nil
		default:
			return false, f.err
		}
	}
	return false, nil
}

// load brings block b into the cache.
func (e *entry) load(ctx context.Context, f *fetch, b int64, p priority) error {
	q := e.fs.queue
	if q.wait(ctx, f.ticket) != nil {
		return errPassed
	}
	t := f.ticket
	defer func() { q.leave(t) }()
	if p != demand && e.readers.Load() == 0 {
		return errAgain
	}
	if e.check(b) {
		return nil
	}
	if !e.mayFill(e.length(b)) {
		return errPassed
	}
	for try := 0; ; try++ {
		var buf []byte
		var err error
		if buf, t, err = e.download(ctx, t, b); err != nil {
			return err
		}
		err = e.fill(b, buf)
		e.fs.recycle(buf)
		if !errors.Is(err, pfs.Integrity) || try > 0 {
			return err
		}
	}
}

// check uses what is on the disk for block b if it is right.
func (e *entry) check(b int64) bool {
	sum, err := e.disk.sum(b)
	if err != nil || sum == (pfs.LeafDigest{}) {
		return false
	}
	buf := e.fs.buffer(e.length(b))
	defer e.fs.recycle(buf)
	if _, err := e.disk.data.ReadAt(buf, b*blockSize); err != nil || digest.Leaf(buf) != sum {
		return false
	}
	e.keep(b, sum)
	return true
}

// keep makes block b good.
func (e *entry) keep(b int64, sum pfs.LeafDigest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sums[b] = sum
	e.setState(b, good)
}

// mayFill reports whether the directory takes n more bytes.
func (e *entry) mayFill(n int64) bool { return e.dir.usable() && !e.dir.full(n) }

// fill puts the bytes of block b into the cache. A file of one block is compared with its digest first.
func (e *entry) fill(b int64, p []byte) error {
	sum := digest.Leaf(p)
	if len(e.states) == 1 {
		e.mu.Lock()
		err := e.checkDigest(sum)
		e.mu.Unlock()
		if err != nil {
			return err
		}
	}
	if err := e.disk.fill(b, p, sum); err != nil {
		e.dir.fail(err)
		return errPassed
	}
	e.dir.worked()
	e.dir.add(int64(len(p)))
	e.fs.stats.fetched.Add(int64(len(p)))
	e.keep(b, sum)
	return nil
}

// checkDigest returns Integrity if a file whose blocks have these checksums has not the digest that
// the store has. The caller holds e.mu.
func (e *entry) checkDigest(sums ...pfs.LeafDigest) error {
	t, err := digest.NewTree(digest.XXH3, e.info.Size)
	if err != nil {
		return err
	}
	for _, sum := range sums {
		t.Add(sum[:])
	}
	return digest.CheckKept("cachefs.fill", e.name, pfs.Info{Digest: e.digest}, t.Sum())
}

// download reads block b from the store. If that takes unusually long, it sends a second request and takes
// the first answer. It returns the ticket of the request that answered, which the caller gives back.
func (e *entry) download(ctx context.Context, t *ticket, b int64) ([]byte, *ticket, error) {
	type answer struct {
		buf    []byte
		ticket *ticket
		err    error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, 2)
	begin := func(t *ticket) {
		e.fs.mu.Lock() // not hold: the caller holds e already, even if Close has begun
		e.refs++
		e.fs.work.Add(1)
		e.fs.mu.Unlock()
		go func() {
			defer e.drop()
			buf := e.fs.buffer(e.length(b))
			err := pfs.Guard("cachefs.download", e.name, func() error { return e.read(ctx, buf, b*blockSize) })
			answers <- answer{buf, t, err}
		}()
	}
	discard := func(a answer) {
		e.fs.recycle(a.buf)
		e.fs.queue.leave(a.ticket)
	}
	start := time.Now()
	begin(t)
	running := 1
	var hedge <-chan time.Time
	if after, known := e.fs.slow.hedgeAfter(); known && e.length(b) == blockSize {
		timer := time.NewTimer(after)
		defer timer.Stop()
		hedge = timer.C
	}
	for {
		select {
		case a := <-answers:
			running--
			if a.err != nil && running > 0 {
				discard(a)
				continue
			}
			if running > 0 { // the slower request may take long to end
				go func() { discard(<-answers) }()
			}
			if a.err != nil {
				e.fs.recycle(a.buf)
				return nil, a.ticket, a.err
			}
			if e.length(b) == blockSize {
				e.fs.slow.add(time.Since(start))
			}
			return a.buf, a.ticket, nil
		case <-hedge:
			hedge = nil
			if e.fs.slow.mayHedge() {
				if second := e.fs.queue.try(e.length(b)); second != nil {
					e.fs.stats.hedged.Add(1)
					begin(second)
					running++
				}
			}
		}
	}
}

// read fills p from the store.
func (e *entry) read(ctx context.Context, p []byte, off int64) error {
	if e.fs.batches && int64(len(p)) == e.info.Size && e.info.Size <= smallFile && !e.opened() {
		files := []pfs.BatchFile{{Path: e.name, Data: p}} // open and read in one request
		err := e.fs.readBatch(ctx, files)[0]
		if err == nil && !e.is(files[0].Info) {
			err = e.changed()
		}
		if err == nil {
			e.learn(files[0].Info)
		}
		return err
	}
	s, err := e.source(ctx)
	if err != nil {
		return err
	}
	err = pfs.ReadFull(ctx, s, p, off)
	e.done(s, err)
	return err
}

// smallBuffer is the longest buffer that is not kept for the next request.
const smallBuffer = 256 << 10

// buffer returns a buffer of n bytes, at most blockSize. The caller has a ticket for it.
func (f *FS) buffer(n int64) []byte {
	if n <= smallBuffer {
		return make([]byte, n)
	}
	select {
	case buf := <-f.buffers:
		return buf[:n]
	default:
		return make([]byte, n, blockSize)
	}
}

// recycle keeps a buffer for the next request.
func (f *FS) recycle(buf []byte) {
	if cap(buf) == blockSize {
		select {
		case f.buffers <- buf:
		default:
		}
	}
}
