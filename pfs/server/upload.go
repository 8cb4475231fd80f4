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

// uploadKey names a staged write. The whole identity is part of it: after a change of
// its role, or of its accounts on the stores, a user does not reach staged writes that
// were opened with the rights from before.
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

// exclusive is the weight with which a request is the only one to use a staging.
const exclusive = 1 << 30

func newStaging(identity any) *staging {
	return &staging{identity: identity, use: semaphore.NewWeighted(exclusive), chunks: map[int64]*chunk{}}
}

// lock waits until the upload may be used with a weight. The caller calls unlock once.
func (u *upload) lock(ctx context.Context, weight int64) (unlock func(), err error) {
	if err := u.use.Acquire(ctx, weight); err != nil {
		return nil, pfs.E("server.lock", u.key.path, pfs.Canceled, err)
	}
	return func() { u.use.Release(weight) }, nil
}

// chunk is one leaf of an upload. Its lock keeps two requests from writing it at the
// same time: when a connection broke, its request may still be at work while the
// repeated one arrives, and must not write over bytes that this one has verified.
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

// known returns the digest of leaf n if it arrived here with size bytes. None is known
// if the store does not identify staged writes, since this may be another one than
// before.
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
	// Ask for the last byte first: if size is too large by far, reading all before it
	// would be in vain.
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
