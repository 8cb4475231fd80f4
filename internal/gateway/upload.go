package gateway

import (
	"context"
	"hash"
	"io"
	"net/http"
	"sync"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// Body is the body of a request, which must keep coming.
type Body struct {
	io.ReadCloser
	pace pace.Pace
}

// NewBody returns the body of r. Bytes count for its pace only when they arrive, so that a long body may not be slower.
func NewBody(w http.ResponseWriter, r *http.Request) *Body {
	return &Body{r.Body, pace.OfBody(w, 0)}
}

func (b *Body) Read(p []byte) (int, error) {
	b.pace.Next()
	n, err := b.ReadCloser.Read(p)
	b.pace.More(n)
	if err == io.EOF {
		b.pace.Done()
	}
	return n, err
}

var pieces = sync.Pool{New: func() any { return new([Step]byte) }}

// Receive reads r to its end, passes it to write in buffers, and returns its length. If r reads from the body of a
// request, the time of write does not count as the client's; else body is nil. name is for errors.
func Receive(name pfs.Path, r io.Reader, body *Body, write func(p []byte, off int64) error) (size int64, err error) {
	buf := pieces.Get().(*[Step]byte)
	defer pieces.Put(buf)
	var client *pace.Pace
	if body != nil {
		client = &body.pace
	}
	for err == nil {
		n := 0 // not io.ReadFull, which has one error for a short rest and for a body that was cut
		for n < len(buf) && err == nil {
			var k int
			k, err = r.Read(buf[n:])
			n += k
		}
		if err != nil && err != io.EOF {
			if pfs.KindOf(err) == pfs.Other {
				err = pfs.Errorf("gateway.Receive", name, pfs.Unavailable, "the body broke off at byte %d: %w", size+int64(n), err)
			}
			return size, err
		}
		if n > 0 {
			if err := client.Wait(func() error { return write(buf[:n], size) }); err != nil {
				return size, err
			}
		}
		size += int64(n)
	}
	return size, nil
}

// Upload is a file that is received in order and published whole.
type Upload struct {
	Also hash.Hash // gets the bytes, too; may be nil

	s    Session
	name pfs.Path
	w    pfs.Staged
	sum  *digest.Hash
	size int64
}

// NewUpload returns an Upload through w, which publishes it as name. The caller calls Discard at the end.
func NewUpload(s Session, name pfs.Path, w pfs.Staged) *Upload {
	sum, _ := digest.NewHash(digest.XXH3, digest.Unknown)
	return &Upload{s: s, name: name, w: w, sum: sum}
}

// Receive stages the bytes of r, as the function Receive does.
func (u *Upload) Receive(ctx context.Context, r io.Reader, body *Body) (size int64, err error) {
	return Receive(u.name, r, body, func(p []byte, off int64) error {
		err := u.s.Do(ctx, "write", func(ctx context.Context) error {
			return pfs.InTurn(ctx, func() error {
				_, _ = u.sum.Write(p)
				if u.Also != nil {
					u.Also.Write(p)
				}
				_, err := u.w.WriteAt(ctx, p, off)
				return err
			})
		})
		if err == nil {
			u.size += int64(len(p))
			u.s.Moved(int64(len(p)), 0)
		}
		return err
	})
}

// Digest returns the digest of the bytes so far.
func (u *Upload) Digest() string { return u.sum.Sum() }

// Commit publishes the file. It fills in the size and the digest of opts.
func (u *Upload) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	opts.Size, opts.Digest = u.size, u.Digest()
	return Commit(ctx, u.s.FS(), u.name, u.w, opts)
}

// Discard removes staged bytes that were not published, also if the client has left or lost its rights.
func (u *Upload) Discard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pace.Stall)
	defer cancel()
	_ = u.w.Close(ctx) // else it is swept
}
