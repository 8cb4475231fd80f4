package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// uploadKey names an upload. It includes the whole identity: after a change of its role, or
// of its accounts on the stores, a user cannot use uploads that were opened with the old
// rights.
type uploadKey struct {
	who  auth.Identity
	path pfs.Path
	id   string // see stagedID
}

// upload is an upload that this server keeps open between requests, with the digests of
// the chunks that arrived here. Both only save work: another upload is opened again by its
// ID, and other digests are computed from the store.
type upload struct {
	kept[uploadKey]
	staged pfs.Staged
	*staging
	ended bool // committed or discarded by this upload; guarded by uploadCache.mu
}

// Prefixes of the IDs of uploads in the store.
const (
	uploadPrefix = "up"
	copyPrefix   = "copy" // of the service's own copies
)

// stagedID returns the ID in the store of a user's upload. Several users may write in one
// directory: the same path and ID name another upload for each of them, at every replica.
func stagedID(user, id string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", user, id))
	return uploadPrefix + hex.EncodeToString(sum[:20])
}

// create begins or opens an upload of the request's user. opts.ID is the client's.
func (r *request) create(ctx context.Context, op string, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	if err := opts.Check(op, name); err != nil {
		return nil, err
	}
	opts.ID = stagedID(r.id.Name, opts.ID)
	return r.tree.Create(ctx, name, opts)
}

// upload returns the upload id of path for the request's user, opened again if it is not
// held open here. Release it.
func (s *Server) upload(ctx context.Context, r *request, path, id string) (*upload, error) {
	const op = "server.upload"
	name, err := pfs.ParsePath(path)
	if err != nil {
		return nil, err
	}
	return s.uploads.acquire(r.uploadKey(name, id), func() (pfs.Staged, error) {
		return r.create(ctx, op, name, pfs.CreateOptions{ID: id, Reopen: true})
	})
}

// uploadKey names an upload of the request's user; id is the client's.
func (r *request) uploadKey(name pfs.Path, id string) uploadKey {
	return uploadKey{r.id, name, stagedID(r.id.Name, id)}
}

// lock waits until the upload may be used with a weight. The caller calls unlock once.
func (u *upload) lock(ctx context.Context, weight int64) (unlock func(), err error) {
	if err := u.use.Acquire(ctx, weight); err != nil {
		return nil, pfs.E("server.lock", u.key.path, pfs.Canceled, err)
	}
	return func() { u.use.Release(weight) }, nil
}

// known returns the digest of leaf n if it arrived here, through this handle, with size bytes. If
// the store does not identify uploads, no digest is known, because this may be another upload.
func (u *upload) known(ctx context.Context, n int64, size int) (pfs.LeafDigest, bool) {
	if u.identity == nil {
		return pfs.LeafDigest{}, false
	}
	c, err := u.take(ctx, u.key.path, n)
	if err != nil {
		return pfs.LeafDigest{}, false
	}
	defer u.leave(n, c)
	return c.digest, c.by == u && c.size == size && size > 0
}

// arrived reports whether all size bytes arrived here, through this handle.
func (u *upload) arrived(ctx context.Context, size int64) bool {
	for n := range pfs.Leaves(size) {
		if _, ok := u.known(ctx, n, int(min(pfs.ChunkSize, size-n*pfs.ChunkSize))); !ok {
			return false
		}
	}
	return true
}

// notKept is the Integrity error of a commit whose bytes did not all arrive here: bytes that were
// staged before the service was restarted may be lost.
type notKept struct{ error }

func (e *notKept) Unwrap() error { return e.error }

// leaf returns the digest of leaf n of a file of size bytes. If it is unknown, the leaf is read
// back from the store.
func (u *upload) leaf(ctx context.Context, n, size int64) (pfs.LeafDigest, error) {
	off := n * pfs.ChunkSize
	length := min(pfs.ChunkSize, size-off)
	if d, ok := u.known(ctx, n, int(length)); ok {
		return d, nil
	}
	d, k, err := digest.LeafAt(ctx, u.staged.ReadAt, off, length)
	if err != nil || k < length {
		return pfs.LeafDigest{}, u.short(size, err)
	}
	return d, nil
}

// short is the error of an upload that ends before size, or could not be read.
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
	if err != io.EOF {
		return int64(n), err
	}
	_, there, err := digest.LeafAt(ctx, u.staged.ReadAt, off, length)
	return there, err
}

// sum returns the xxh3 digest of the first size bytes.
func (u *upload) sum(ctx context.Context, size int64, progress func(int64)) (string, error) {
	tree, err := digest.NewTree(digest.XXH3, size)
	if err != nil {
		return "", err
	}
	// Ask for the last byte first, so that a size that is far too large fails early.
	if n, err := u.stagedAt(ctx, max(0, size-1), min(1, size)); err != nil || n < min(1, size) {
		return "", u.short(size, err)
	}
	for n := range pfs.Leaves(size) {
		if err := pfs.CheckContext(ctx, "server.sum", u.key.path); err != nil {
			return "", err
		}
		d, err := u.leaf(ctx, n, size)
		if err != nil {
			return "", err
		}
		tree.Add(d[:])
		progress(min(size, (n+1)*pfs.ChunkSize))
	}
	return tree.Sum(), nil
}
