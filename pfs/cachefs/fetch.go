package cachefs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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

// fetch brings one block into the cache. All readers of the block share it. They read from its buffer while
// the buffer is written to the disk. The buffer of a block that was read ahead stays until it is read: otherwise the
// reader would wait for the disk, which is busy with later blocks.
type fetch struct {
	ticket *ticket
	loaded chan struct{} // closed when the buffer is there; stays open after an error
	done   chan struct{} // closed at the end
	err    error         // once done is closed
	early  bool          // counted in entry.early; guarded by entry.mu

	sum pfs.LeafDigest // of the block; set before early is

	mu     sync.Mutex // guards the following
	buf    []byte
	users  int     // of buf
	unread int     // bytes
	kept   *ticket // of a buffer that stays; nil if it does not
}

// publish lets readers use buf. The caller calls release afterwards.
func (f *fetch) publish(buf []byte) {
	f.mu.Lock()
	f.buf, f.users, f.unread = buf, 1, len(buf)
	f.mu.Unlock()
	close(f.loaded)
}

// copy fills p from offset off of the block, if the buffer is still there.
func (f *fetch) copy(fs *FS, p []byte, off int64) bool {
	f.mu.Lock()
	if f.users == 0 {
		f.mu.Unlock()
		return false
	}
	f.users++
	f.mu.Unlock()
	copy(p, f.buf[off:])
	f.release(fs)
	f.mu.Lock()
	f.unread -= len(p)
	kept := f.kept
	over := kept != nil && f.unread <= 0
	f.mu.Unlock()
	if over {
		fs.queue.unkeep(kept)
	}
	return true
}

// keep leaves the buffer to readers, with the memory of t, and reports whether it does.
func (f *fetch) keep(fs *FS, t *ticket) bool {
	f.mu.Lock()
	f.kept = t
	unread := f.unread > 0
	f.mu.Unlock()
	if !unread {
		return false
	}
	fs.queue.keep(t, func() { f.release(fs) })
	f.mu.Lock()
	unread = f.unread > 0
	f.mu.Unlock()
	if !unread { // by now
		fs.queue.unkeep(t)
	}
	return true
}

// release gives the buffer back.
func (f *fetch) release(fs *FS) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users == 0 {
		fs.recycle(f.buf)
		f.buf = nil
	}
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

// claim returns the fetch of block b and whether the caller must run it; nil if the block is cached.
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
	f = &fetch{done: make(chan struct{}), loaded: make(chan struct{})}
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
	lost := err != nil
	if err == nil && !f.early {
		e.awaitEarly()
	}
	e.mu.Lock()
	proven := e.proven
	e.mu.Unlock()
	if err == nil && (!f.early || proven) { // else the fetch of the last block does it, whose reader gets the error
		err = e.finish()
	}
	e.mu.Lock()
	delete(e.fetches, b)
	if f.early {
		e.early--
		if lost {
			e.remember(b, f.sum)
		}
	}
	f.err = err
	e.mu.Unlock()
	close(f.done)
	e.drop()
}

// awaitEarly waits until the blocks that readers have already are on the disk.
func (e *entry) awaitEarly() {
	var early []*fetch
	e.mu.Lock()
	for _, f := range e.fetches {
		if f.early {
			early = append(early, f)
		}
	}
	e.mu.Unlock()
	for _, f := range early {
		<-f.done
	}
}

// checkWhole is called when a reader has got a block that is on the disk. If no block is missing any more,
// it checks the file as a whole, and returns Integrity if it is not right.
func (e *entry) checkWhole() error {
	if e.whole.Load() {
		return nil
	}
	e.mu.Lock()
	over := e.unknown()-e.early > 0 || e.proven // else the fetch of the last block does it
	if !over {
		e.proven = e.isRight(-1, pfs.LeafDigest{})
		over = e.proven
	}
	e.mu.Unlock()
	if over {
		return nil
	}
	e.awaitEarly()
	return e.finish()
}

// want begins to fetch block b unless it is cached or being fetched. It returns nil if the block is cached.
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

// need fills p from offset off, in block b, once the block is fetched. It returns false if the cache
// cannot provide the block.
func (e *entry) need(ctx context.Context, b int64, p []byte, off int64) (bool, error) {
	for range 4 {
		f := e.want(ctx, b, demand)
		if f == nil {
			if e.readKept(b, p, off) {
				return true, e.checkWhole()
			}
			err := e.disk.read(p, off)
			if err != nil {
				e.lose(b)
				e.dir.fail(err)
				return false, nil
			}
			return true, e.checkWhole()
		}
		loaded, err := e.await(ctx, f)
		switch {
		case err != nil || !loaded:
			return false, err
		case f.copy(e.fs, p, off-b*blockSize):
			return true, nil
		}
	}
	return false, nil
}

// readKept fills p from block b if that is still in memory.
func (e *entry) readKept(b int64, p []byte, off int64) bool {
	e.mu.Lock()
	f := e.kept[b]
	other := f != nil && f.sum != e.sums[b] // it was fetched again since, and is another
	e.mu.Unlock()
	if f == nil || other {
		return false
	}
	got := f.copy(e.fs, p, off-b*blockSize)
	f.mu.Lock()
	gone := f.users == 0
	f.mu.Unlock()
	if gone {
		e.mu.Lock()
		if e.kept[b] == f {
			delete(e.kept, b)
		}
		e.mu.Unlock()
	}
	return got
}

// await waits until the block of f is readable. It returns false if the fetch fails, or if the disk has
// become so slow that the store is faster.
func (e *entry) await(ctx context.Context, f *fetch) (bool, error) {
	slow := time.NewTicker(time.Second)
	defer slow.Stop()
	for {
		select {
		case <-f.loaded:
			return true, nil
		case <-f.done:
			if f.err == nil || errors.Is(f.err, errAgain) {
				return true, nil
			}
			if errors.Is(f.err, errPassed) {
				return false, nil
			}
			return false, f.err
		case <-slow.C:
			if !e.dir.usable() {
				return false, nil
			}
		case <-ctx.Done():
			return false, pfs.CheckContext(ctx, "cachefs.File.ReadAt", e.name)
		}
	}
}

// load brings block b into the cache.
func (e *entry) load(ctx context.Context, f *fetch, b int64, p priority) error {
	q := e.fs.queue
	if q.wait(ctx, f.ticket) != nil {
		return errPassed
	}
	t := f.ticket
	defer func() {
		if t != nil {
			q.leave(t)
		}
	}()
	if p != demand && e.readers.Load() == 0 {
		return errAgain
	}
	if e.check(b) {
		return nil
	}
	if !e.dir.begin(e.length(b)) {
		return errPassed
	}
	defer e.dir.end(e.length(b))
	for try := 0; ; try++ {
		var buf []byte
		var err error
		if buf, t, err = e.download(ctx, t, b); err != nil {
			return err
		}
		q.answered(t)
		sum := digest.Leaf(buf)
		if err = e.checkOnly(sum); err == nil {
			f.sum = sum
			if !e.mayPublish(f, b) {
				defer e.fs.recycle(buf)
				return e.fill(b, buf, sum)
			}
			f.publish(buf)
			err = e.fill(b, buf, sum)
			if err == nil && p == prefetch && e.readers.Load() > 0 && e.retain(f, b, t) {
				t = nil
			} else {
				f.release(e.fs)
			}
			return err
		}
		e.fs.recycle(buf)
		if try > 0 {
			return err
		}
		q.leave(t)
		t = q.enter(demand, e.length(b))
		if q.wait(ctx, t) != nil {
			t = nil
			return errPassed
		}
	}
}

// check uses the bytes on the disk for block b if they match its checksum.
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
	e.compare(b, sum)
	delete(e.unkept, b)
	e.sums[b], e.filled = sum, true
	e.setState(b, good)
}

// compare notes that the file is damaged if readers have got block b with another checksum. The caller holds e.mu.
func (e *entry) compare(b int64, sum pfs.LeafDigest) {
	if read, ok := e.unkept[b]; ok && read != sum {
		e.damaged.Add(1)
		e.proven = false
	}
}

// remember keeps the checksum of a block that readers have and the disk has not: the file is checked
// with it. The caller holds e.mu.
func (e *entry) remember(b int64, sum pfs.LeafDigest) {
	if e.unkept == nil {
		e.unkept = map[int64]pfs.LeafDigest{}
	}
	e.unkept[b] = sum
}

// unknown returns the number of blocks whose checksums are not known. The caller holds e.mu.
func (e *entry) unknown() int64 { return e.left.Load() - int64(len(e.unkept)) }

// retain keeps block b in memory for its reader, and reports whether it does.
func (e *entry) retain(f *fetch, b int64, t *ticket) bool {
	e.mu.Lock()
	keep := e.states[b].Load() == good // else the file was wrong
	if keep {
		if e.kept == nil {
			e.kept = map[int64]*fetch{}
		}
		e.kept[b] = f
	}
	e.mu.Unlock()
	return keep && f.keep(e.fs, t)
}

// isRight reports whether the checksums of the blocks give the digest of the file. sum is the checksum of block b, unless b is
// less than 0. Without the checksums of all other blocks, it returns false. The caller holds e.mu.
func (e *entry) isRight(b int64, sum pfs.LeafDigest) bool {
	sums := slices.Clone(e.sums)
	for i := range sums {
		at := int64(i)
		kept, known := e.unkept[at]
		f := e.fetches[at]
		switch {
		case at == b:
			sums[i] = sum
		case e.states[i].Load() == good:
		case f != nil && f.early:
			sums[i] = f.sum
		case known:
			sums[i] = kept
		default:
			return false
		}
	}
	return e.checkDigest(sums...) == nil
}

// mayPublish reports whether readers may have block b before the file is on the disk: not the last one, unless the file is
// right with it.
func (e *entry) mayPublish(f *fetch, b int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.unkept[b]; known {
		e.compare(b, f.sum) // before a reader gets the other bytes
		e.unkept[b] = f.sum
	}
	f.early = e.unknown()-e.early > 1
	if !f.early && len(e.states) > 1 {
		e.proven = e.isRight(b, f.sum)
		f.early = e.proven
	}
	if f.early {
		e.early++
	}
	return f.early || len(e.states) == 1
}

// checkOnly returns Integrity if the file has one block, whose checksum is not that of its digest.
func (e *entry) checkOnly(sum pfs.LeafDigest) error {
	if len(e.states) > 1 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.checkDigest(sum)
}

// slowDisk is how long a write to the disk may take until reads bypass the disk.
const slowDisk = 10 * time.Second

// fill puts the bytes of block b into the cache.
func (e *entry) fill(b int64, p []byte, sum pfs.LeafDigest) error {
	late := time.AfterFunc(slowDisk, func() { e.dir.fail(fmt.Errorf("a write takes longer than %v", slowDisk)) })
	defer late.Stop()
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

// hedgeCheck is how often a request is compared with the usual time of others.
const hedgeCheck = 20 * time.Millisecond

// download reads block b from the store. If that takes unusually long, it sends a second request and takes
// the first answer. It returns the ticket of the answered request, which the caller gives back.
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
	if e.length(b) == blockSize {
		ticker := time.NewTicker(hedgeCheck)
		defer ticker.Stop()
		hedge = ticker.C
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
			if after, known := e.fs.slow.hedgeAfter(); !known || time.Since(start) < after {
				continue
			}
			second := e.fs.queue.try(e.length(b))
			switch {
			case second == nil:
			case !e.fs.slow.mayHedge():
				e.fs.queue.leave(second)
			default:
				e.fs.stats.hedged.Add(1)
				begin(second)
				running++
				hedge = nil
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
