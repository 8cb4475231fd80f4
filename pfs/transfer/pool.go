package transfer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// minBuffers is the smallest pool with which the stages of a job do not wait for each
// other.
const minBuffers = 4

// Pool is a budget of memory for content, shared by any number of jobs. It provides buffers of
// pfs.ChunkSize bytes, which are allocated on first use.
//
// To avoid a deadlock, nothing that waits for a buffer may hold one that others wait for. So a
// batch of small files is sent after a moment even if it is not full, and a stream drops its window
// before it waits.
type Pool struct {
	slots chan struct{} // one for each buffer handed out
	free  chan []byte   // made before and not in use; of the whole, if this is a share
	moves atomic.Int64  // of buffers: given back, or filled and sent on

	whole    *Pool         // that this is a share of, or nil
	patience time.Duration // of a job that waits; 0 means no bound
}

// NewPool returns a pool of the given size, at least 4 chunks.
func NewPool(bytes int64) *Pool {
	n := buffersOf(bytes)
	return &Pool{slots: make(chan struct{}, n), free: make(chan []byte, n)}
}

// Share returns a budget within p: a buffer of it counts for both, so that the jobs of one share
// cannot take all of p, even if they hang. A job that waits gets Limit if no buffer is taken or
// released for the time of patience.
func (p *Pool) Share(bytes int64, patience time.Duration) *Pool {
	return &Pool{slots: make(chan struct{}, buffersOf(bytes)), free: p.free, whole: p, patience: patience}
}

func buffersOf(bytes int64) int64 { return max(bytes/pfs.ChunkSize, minBuffers) }

// reserve counts a buffer that the caller makes itself, waiting until there may be
// one more.
func (p *Pool) reserve(ctx context.Context) error {
	if err := pfs.CheckContext(ctx, "transfer.Pool", ""); err != nil {
		return err
	}
	if err := p.wait(ctx, p.patience); err != nil {
		return err
	}
	if p.whole == nil {
		return nil
	}
	err := p.whole.wait(ctx, p.patience)
	if err != nil {
		<-p.slots
	}
	return err
}

// wait takes a slot of p only. It returns an error if no buffer is taken or released for the time
// of patience.
func (p *Pool) wait(ctx context.Context, patience time.Duration) error {
	if p.trySlot() {
		return nil
	}
	var late <-chan time.Time
	if patience > 0 {
		ticker := time.NewTicker(patience)
		defer ticker.Stop()
		late = ticker.C
	}
	for before := p.moves.Load(); ; before = p.moves.Load() {
		select {
		case p.slots <- struct{}{}:
			return nil
		case <-ctx.Done():
			return pfs.CheckContext(ctx, "transfer.Pool", "")
		case <-late:
			if p.moves.Load() == before {
				return pfs.Errorf("transfer.Pool", "", pfs.Limit, "%d chunks are being copied, and none of them has moved for %v: try again", cap(p.slots), patience)
			}
		}
	}
}

// cancel frees the memory of a buffer without reusing the buffer: after reserve, or after get if
// something may still write to it.
func (p *Pool) cancel() {
	if p.whole != nil {
		p.whole.cancel()
	}
	p.moves.Add(1)
	<-p.slots
}

// moved notes progress of a job that holds a buffer for long.
func (p *Pool) moved() {
	p.moves.Add(1)
	if p.whole != nil {
		p.whole.moved()
	}
}

// get returns a buffer, waiting for one if need be.
func (p *Pool) get(ctx context.Context) ([]byte, error) {
	if err := p.reserve(ctx); err != nil {
		return nil, err
	}
	return p.buffer(), nil
}

// trySlot takes a slot of p alone, without waiting.
func (p *Pool) trySlot() bool {
	select {
	case p.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// tryReserve is reserve without waiting.
func (p *Pool) tryReserve() bool {
	if !p.trySlot() {
		return false
	}
	if p.whole != nil && !p.whole.trySlot() {
		<-p.slots
		return false
	}
	return true
}

func (p *Pool) buffer() []byte {
	select {
	case b := <-p.free:
		return b
	default:
		return make([]byte, pfs.ChunkSize)
	}
}

// put takes back a buffer of get.
func (p *Pool) put(b []byte) {
	select {
	case p.free <- b[:pfs.ChunkSize]:
	default: // a Writer made it beyond the budget
	}
	p.cancel()
}

// Trim frees the memory of unused buffers.
func (p *Pool) Trim() {
	for {
		select {
		case <-p.free:
		default:
			return
		}
	}
}
