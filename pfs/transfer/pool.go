package transfer

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// minBuffers keeps the stages of a job from waiting for each other.
const minBuffers = 4

// Pool is a budget of memory for content, shared by any number of jobs. It hands
// out buffers of pfs.ChunkSize bytes, which are made when they are first needed.
//
// Who holds a buffer and waits for something else must not be what that waits for;
// so a batch of small files is sent after a moment even if it is not full, and a
// stream gives up its window before it waits for more.
type Pool struct {
	slots chan struct{} // one for each buffer handed out
	free  chan []byte   // made before and not in use
}

// NewPool returns a budget of so many bytes, at least 4 chunks.
func NewPool(bytes int64) *Pool {
	n := max(bytes/pfs.ChunkSize, minBuffers)
	return &Pool{slots: make(chan struct{}, n), free: make(chan []byte, n)}
}

// reserve counts a buffer that the caller makes itself, waiting until there may be
// one more.
func (p *Pool) reserve(ctx context.Context) error {
	if err := pfs.CheckContext(ctx, "transfer.Pool", ""); err != nil {
		return err
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return pfs.CheckContext(ctx, "transfer.Pool", "")
	}
}

// cancel takes back a reserve; or a get, if somebody may still write to the buffer.
func (p *Pool) cancel() { <-p.slots }

// get returns a buffer, waiting for one if need be.
func (p *Pool) get(ctx context.Context) ([]byte, error) {
	if err := p.reserve(ctx); err != nil {
		return nil, err
	}
	return p.buffer(), nil
}

// tryReserve is reserve without waiting.
func (p *Pool) tryReserve() bool {
	select {
	case p.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// try returns a buffer if there is one now.
func (p *Pool) try() ([]byte, bool) {
	if !p.tryReserve() {
		return nil, false
	}
	return p.buffer(), true
}

func (p *Pool) buffer() []byte {
	select {
	case b := <-p.free:
		return b
	default:
		return make([]byte, pfs.ChunkSize)
	}
}

// put takes back a buffer of get or try.
func (p *Pool) put(b []byte) {
	p.free <- b[:pfs.ChunkSize]
	<-p.slots
}
