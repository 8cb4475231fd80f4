package transfer

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

const (
	// maxSpan is the number of leaves that a worker asks the target about at once.
	maxSpan = 16

	// maxRun is the number of leaves that a worker copies in a row in a new file:
	// stores read fastest what is consecutive. There are runsEach runs or more for each
	// worker, so that all workers end at about the same time.
	maxRun, runsEach = 8, 4

	// laneTries is how often a lane of several leaves is sent again from its start
	// within a pass, because the target lost what it had of it.
	laneTries = 5
)

// pass goes once through all leaves of a file and sends those that the target lacks.
//
// Workers take spans, which are rows of lanes, which are rows of leaves. Within a
// lane bytes are written in order from its start, as Staged.Unit wants it; lanes are
// independent, and one that has to be tried again does not hold up the others.
type pass struct {
	*fileCopy
	leaves int64 // of the file
	lane   int64 // leaves a lane
	span   int64 // leaves a span, whole lanes
	next   atomic.Int64
	row    *row
}

// sendMissing makes one pass and computes the digest of the source.
func (c *fileCopy) sendMissing(ctx context.Context) error {
	tree, err := digest.NewTree(digest.XXH3, c.info.Size)
	if err != nil {
		return err
	}
	leaves := pfs.Leaves(c.info.Size)
	p := &pass{fileCopy: c, leaves: leaves, lane: laneOf(c.staged.Unit(), leaves)}
	workers := int64(c.j.opts.Parallel)
	p.span = spanOf(p.lane, leaves/(runsEach*workers), maxRun)
	if c.compare {
		p.span = spanOf(p.lane, leaves/workers, maxSpan)
	}
	p.row = newRow(tree)
	if err := p.sendSpans(ctx); err != nil {
		return err
	}
	c.digest = tree.Sum()
	return nil
}

// laneOf returns the shortest row of leaves that ends where a piece of unit bytes
// does: all of them if there is none.
func laneOf(unit, leaves int64) int64 {
	if unit <= 0 {
		return 1
	}
	a, b := unit, int64(pfs.ChunkSize)
	for b != 0 {
		a, b = b, a%b
	}
	return max(1, min(unit/a, leaves))
}

// spanOf returns the leaves that a worker takes at once: whole lanes, no more than most
// leaves nor than its share if that can be.
func spanOf(lane, share, most int64) int64 {
	return lane * max(1, min(most, share)/lane)
}

// sendSpans works on the spans in parallel.
func (p *pass) sendSpans(ctx context.Context) error {
	spans := (p.leaves + p.span - 1) / p.span
	workers := min(int64(p.j.opts.Parallel), spans)
	if workers <= 1 {
		return p.work(ctx)
	}
	g, ctx := errgroup.WithContext(ctx)
	for range workers {
		g.Go(func() error { return pfs.Guard("transfer.Copy", p.name, func() error { return p.work(ctx) }) })
	}
	return g.Wait()
}

// work takes spans until none is left.
func (p *pass) work(ctx context.Context) error {
	for {
		first := (p.next.Add(1) - 1) * p.span
		if first >= p.leaves {
			return nil
		}
		if err := p.sendSpan(ctx, first, min(first+p.span, p.leaves)); err != nil {
			return err
		}
	}
}

// sendSpan sends the leaves [first, end), lane by lane.
func (p *pass) sendSpan(ctx context.Context, first, end int64) error {
	var s *staging
	if p.compare {
		var err error
		if s, err = p.lookUp(ctx, first, end); err != nil {
			return err
		}
	}
	for at := first; at < end; at += p.lane {
		if err := p.sendLane(ctx, s, at, min(at+p.lane, end)); err != nil {
			return err
		}
	}
	return nil
}

// sendLane sends the leaves [first, end) of one lane, unless all of them are there.
func (p *pass) sendLane(ctx context.Context, s *staging, first, end int64) error {
	release, err := p.j.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	buf, err := p.j.pool.get(ctx)
	if err != nil {
		return err
	}
	defer p.j.pool.put(buf)
	l := leafBuffer{pass: p, buf: buf, at: -1}
	if s != nil {
		if whole, err := p.holds(ctx, s, &l, first, end); whole || err != nil {
			return err
		}
	}
	return p.fillLane(ctx, &l, first, end)
}

// fillLane sends the leaves [first, end) of one lane, again from its start if the target
// lost what it had of it: only the source still has those bytes, and the other lanes
// need not wait for them.
func (p *pass) fillLane(ctx context.Context, l *leafBuffer, first, end int64) error {
	for try := 0; ; try++ {
		digests, err := p.writeLane(ctx, l, first, end)
		if err == nil {
			for k, d := range digests {
				p.finish(ctx, first+int64(k), d)
			}
			return nil
		}
		if !lostLane(err) || end-first == 1 || try == laneTries || ctx.Err() != nil {
			return err
		}
		p.j.retried(p.name, 0, err)
		p.takeBack(int64(len(digests)) * pfs.ChunkSize)
		if p.j.budgetOf(ctx).Wait(ctx, try) != nil {
			return err
		}
	}
}

// lostLane reports whether the target has to be given the lane from its start.
func lostLane(err error) bool {
	var end *endError
	return errors.As(err, &end) && !end.source && errors.Is(err, pfs.Integrity)
}

// writeLane reads and writes the leaves [first, end) in order. It returns the digests of
// those that were written. None of them is final before all are: a leaf that is sent
// again is read again.
func (p *pass) writeLane(ctx context.Context, l *leafBuffer, first, end int64) ([]pfs.LeafDigest, error) {
	digests := make([]pfs.LeafDigest, 0, end-first)
	for i := first; i < end; i++ {
		if err := l.load(ctx, i); err != nil {
			return digests, err
		}
		if err := l.write(ctx); err != nil {
			return digests, err
		}
		digests = append(digests, l.digest)
	}
	return digests, nil
}

// finish notes that the target has leaf i, whose digest is d.
func (p *pass) finish(ctx context.Context, i int64, d pfs.LeafDigest) {
	p.row.add(i, d)
	p.log.add(ctx, i, d)
}

// bounds returns the part of the file that leaf i is.
func (p *pass) bounds(i int64) (off int64, n int) {
	off = i * pfs.ChunkSize
	return off, int(min(pfs.ChunkSize, p.info.Size-off))
}
