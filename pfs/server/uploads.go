package server

import (
	"container/list"
	"context"
	"io"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/digest"
	"golang.org/x/sync/semaphore"
)

const (
	// idleUpload is how long a staged write stays open without a request. After
	// that it is suspended, and opened again when one comes.
	idleUpload = time.Minute
	// mostUploads bounds the staged writes held open; the least recently used one
	// that is idle is suspended first.
	mostUploads = 1024
)

// uploadKey names a staged write. All of who asks is part of it: nobody reaches a staged
// write that the permission check did not open for the same user, and who loses a role,
// or becomes somebody else on the stores, loses what was opened as that.
type uploadKey struct {
	who  auth.Identity
	path pfs.Path
	id   string
}

// upload is a staged write held open between requests, with the digests of the
// chunks that arrived through this server. Both only save work: an upload that is
// not here is opened again by its ID, and digests not here are read back.
type upload struct {
	key    uploadKey
	staged pfs.Staged
	*staging

	// Guarded by uploads.mu.
	last    func() error // what the last user does; nil while the upload is open
	users   int
	used    time.Time
	element *list.Element
}

// staging is what the uploads of one staged write have in common: several, where it is
// reached by several names (a home and its old spelling, a link).
type staging struct {
	identity any // nil if the store does not tell staged writes apart

	// use is held, with weight 1, by requests that write, and exclusively by what
	// ends the staged write: between the check of the digest and the rename nothing
	// changes. It is taken before the lock of a chunk.
	use  *semaphore.Weighted
	over bool // committed or discarded; guarded by use

	mu     sync.Mutex
	chunks map[int64]*chunk // by leaf number
}

// exclusive is the weight of who wants nobody else to use a staging.
const exclusive = 1 << 30

func newStaging(identity any) *staging {
	return &staging{identity: identity, use: semaphore.NewWeighted(exclusive), chunks: map[int64]*chunk{}}
}

// enter waits until the upload may be used with a weight. The caller calls leave once.
func (u *upload) enter(ctx context.Context, weight int64) (leave func(), err error) {
	if err := u.use.Acquire(ctx, weight); err != nil {
		return nil, pfs.E("server.enter", u.key.path, pfs.Canceled, err)
	}
	return func() { u.use.Release(weight) }, nil
}

// chunk is one leaf of an upload. Its lock keeps two requests from writing it at the
// same time: one whose connection broke may still be at work when its successor
// comes, and must not write over what that one has verified.
type chunk struct {
	lock   chan struct{} // holds one token while a request has the chunk
	size   int           // bytes verified; 0 if they are not to be trusted
	digest pfs.LeafDigest
}

// take waits for the chunk, or for ctx.
func (c *chunk) take(ctx context.Context, name pfs.Path) error {
	select {
	case c.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return pfs.CheckContext(ctx, "server.chunk", name)
	}
}

func (c *chunk) release() { <-c.lock }

// chunk returns the leaf number n, making it if needed.
func (s *staging) chunk(n int64) *chunk {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chunks[n]
	if c == nil {
		c = &chunk{lock: make(chan struct{}, 1)}
		s.chunks[n] = c
	}
	return c
}

// distrust forgets what arrived: the store is asked from now on. The caller uses the
// staging exclusively, so that nobody holds one of the chunks to write it.
func (s *staging) distrust() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.chunks)
}

// known returns the digest of leaf n if it arrived here with size bytes. Where the
// store does not tell staged writes apart another one may be meant, and none is known.
func (u *upload) known(ctx context.Context, n int64, size int) (pfs.LeafDigest, bool) {
	if u.identity == nil {
		return pfs.LeafDigest{}, false
	}
	u.mu.Lock()
	c := u.chunks[n]
	u.mu.Unlock()
	if c == nil || c.take(ctx, u.key.path) != nil {
		return pfs.LeafDigest{}, false
	}
	defer c.release()
	return c.digest, c.size == size && size > 0
}

// leaf returns the digest of leaf n of a file of size bytes, read back from the store
// if it is not known. It makes buf, which is then the next one's, when it first needs it.
func (u *upload) leaf(ctx context.Context, n, size int64, buf *[]byte) (pfs.LeafDigest, error) {
	off := n * pfs.ChunkSize
	length := int(min(pfs.ChunkSize, size-off))
	if d, ok := u.known(ctx, n, length); ok {
		return d, nil
	}
	if *buf == nil {
		*buf = make([]byte, min(pfs.ChunkSize, size))
	}
	p := (*buf)[:length]
	if k, err := u.staged.ReadAt(ctx, p, off); k < length {
		return pfs.LeafDigest{}, u.short(size, err)
	}
	return digest.Leaf(p), nil
}

// short is the error of a staged write that ends before size, or could not be read.
func (u *upload) short(size int64, err error) error {
	if err != nil && err != io.EOF {
		return err
	}
	return pfs.Errorf("server.short", u.key.path, pfs.Integrity, "fewer than %d bytes were staged: send the rest and commit again", size)
}

// empty reports whether nothing is staged.
func (u *upload) empty(ctx context.Context) bool {
	n, err := u.staged.ReadAt(ctx, make([]byte, 1), 0)
	return n == 0 && err == io.EOF
}

// stagedAt returns how many of the length bytes at off are staged.
func (u *upload) stagedAt(ctx context.Context, off, length int64) (int64, error) {
	if length == 0 {
		return 0, nil
	}
	n, err := u.staged.ReadAt(ctx, make([]byte, 1), off+length-1)
	if n == 1 {
		return length, nil
	}
	if err == io.EOF {
		n, err = u.staged.ReadAt(ctx, make([]byte, length), off)
	}
	if err == io.EOF {
		err = nil
	}
	return int64(n), err
}

// sum returns the xxh3 digest of the first size bytes.
func (u *upload) sum(ctx context.Context, size int64, progress func(int64)) (string, error) {
	tree, err := digest.NewTree(digest.XXH3, size)
	if err != nil {
		return "", err
	}
	// Asked first, since all before a size that is far off would be read in vain.
	if n, err := u.stagedAt(ctx, max(0, size-1), min(1, size)); err != nil || n < min(1, size) {
		return "", u.short(size, err)
	}
	var buf []byte
	for n := range pfs.Leaves(size) {
		if err := pfs.CheckContext(ctx, "server.sum", u.key.path); err != nil {
			return "", err
		}
		d, err := u.leaf(ctx, n, size, &buf)
		if err != nil {
			return "", err
		}
		tree.Add(d[:])
		progress(min(size, (n+1)*pfs.ChunkSize))
	}
	return tree.Sum(), nil
}

// uploads holds the open staged writes.
type uploads struct {
	mu     sync.Mutex
	open   map[uploadKey]*upload
	recent *list.List // of *upload, most recently used first
	stop   chan struct{}
	once   sync.Once
}

func newUploads() *uploads {
	us := &uploads{open: map[uploadKey]*upload{}, recent: list.New(), stop: make(chan struct{})}
	go us.suspendIdle()
	return us
}

// acquire returns the upload of key, opening it if it is not open. Call release when
// the request is done.
func (us *uploads) acquire(key uploadKey, open func() (pfs.Staged, error)) (*upload, error) {
	if u := us.find(key); u != nil {
		return u, nil
	}
	staged, err := open()
	if err != nil {
		return nil, err
	}
	return us.install(key, staged), nil
}

// install returns the upload of key over staged, or, if requests are at work on it
// already, the one that they use. Call release when the request is done.
func (us *uploads) install(key uploadKey, staged pfs.Staged) *upload {
	us.mu.Lock()
	old := us.open[key]
	if old != nil && old.users > 0 {
		us.use(old)
		us.mu.Unlock()
		_ = staged.Suspend()
		return old
	}
	var spare []*upload
	if old != nil {
		us.forget(old)
		spare = append(spare, old)
	}
	u := &upload{key: key, staged: staged, staging: us.stagingOf(key, staged)}
	us.open[key] = u
	us.use(u)
	spare = append(spare, us.spare(mostUploads, 0)...)
	us.mu.Unlock()
	suspend(spare)
	return u
}

// stagingOf returns the staging of the upload to be opened under key. us.mu is held.
func (us *uploads) stagingOf(key uploadKey, staged pfs.Staged) *staging {
	identity := pfs.IdentityOf(staged)
	for _, u := range us.open {
		if u.key.id == key.id && u.identity == identity {
			return u.staging
		}
	}
	return newStaging(identity)
}

func (us *uploads) find(key uploadKey) *upload {
	us.mu.Lock()
	defer us.mu.Unlock()
	u := us.open[key]
	if u != nil {
		us.use(u)
	}
	return u
}

// use counts one more user of u. us.mu is held.
func (us *uploads) use(u *upload) {
	u.users++
	if u.element == nil {
		u.element = us.recent.PushFront(u)
	} else {
		us.recent.MoveToFront(u.element)
	}
}

// release ends one use of u.
func (us *uploads) release(u *upload) {
	us.mu.Lock()
	u.users--
	u.used = time.Now()
	var last func() error
	if u.users == 0 {
		last = u.last
	}
	us.mu.Unlock()
	if last != nil {
		_ = last() // nothing of it is left but the handle
	}
}

// end forgets u, which was committed or discarded by a request that still uses it, and
// the other uploads of its staging: whoever comes next opens them again, and finds
// them gone if they were of the same staged write.
func (us *uploads) end(u *upload) {
	us.mu.Lock()
	u.last = u.staged.Close
	us.forget(u)
	var spare []*upload
	for _, other := range us.open {
		if other.staging != u.staging {
			continue
		}
		us.forget(other)
		if other.last = other.staged.Suspend; other.users == 0 {
			spare = append(spare, other)
		}
	}
	us.mu.Unlock()
	suspend(spare)
}

// forget takes u out. us.mu is held.
func (us *uploads) forget(u *upload) {
	if us.open[u.key] == u {
		delete(us.open, u.key)
		us.recent.Remove(u.element)
	}
}

// spare takes out the idle uploads beyond the most recent keep, and those idle for
// longer than age, if it is not 0. us.mu is held.
func (us *uploads) spare(keep int, age time.Duration) []*upload {
	var out []*upload
	for e := us.recent.Back(); e != nil; {
		u, before := e.Value.(*upload), e.Prev()
		old := age > 0 && time.Since(u.used) > age
		if u.users == 0 && (old || us.recent.Len() > keep) {
			us.forget(u)
			out = append(out, u)
		}
		e = before
	}
	return out
}

// suspendIdle suspends what nobody uses, until closeAll.
func (us *uploads) suspendIdle() {
	ticker := time.NewTicker(idleUpload / 4)
	defer ticker.Stop()
	for {
		select {
		case <-us.stop:
			return
		case <-ticker.C:
		}
		us.mu.Lock()
		spare := us.spare(mostUploads, idleUpload)
		us.mu.Unlock()
		suspend(spare)
	}
}

// suspendBelow suspends what no request uses now of the uploads below dir, as their users
// have written their paths.
func (us *uploads) suspendBelow(dir pfs.Path) {
	us.mu.Lock()
	var below []*upload
	for key, u := range us.open {
		if u.users == 0 && key.path.Within(dir) {
			us.forget(u)
			below = append(below, u)
		}
	}
	us.mu.Unlock()
	suspend(below)
}

// closeAll suspends everything.
func (us *uploads) closeAll() {
	us.once.Do(func() { close(us.stop) })
	us.mu.Lock()
	var all []*upload
	for _, u := range us.open {
		all = append(all, u)
	}
	us.open = map[uploadKey]*upload{}
	us.recent.Init()
	us.mu.Unlock()
	suspend(all)
}

// count returns the number of uploads held open.
func (us *uploads) count() int {
	us.mu.Lock()
	defer us.mu.Unlock()
	return len(us.open)
}

func suspend(us []*upload) {
	for _, u := range us {
		// What it lost is found when it is opened again.
		_ = pfs.Guard("server.suspend", u.key.path, u.staged.Suspend)
	}
}
