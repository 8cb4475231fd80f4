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
	// maxAsked is the number of leaves that a worker asks the target about at once.
	maxAsked = 16

	// maxRun is the number of leaves that a worker copies in a row in a new file, because
	// stores read consecutive bytes fastest. Each worker gets at least runsEach such runs, so
	// that all workers end at about the same time.
	maxRun, runsEach = 8, 4
)

// pass goes once through all leaves of a file and sends those that the target lacks.
//
// A worker takes a work range, which consists of whole upload units, which consist of whole leaves.
// The bytes of an upload unit are written in order from its start, as Staged.Unit requires. Units
// are independent: sending one again does not delay the others.
type pass struct {
	*fileCopy
	leaves     int64 // of the file
	uploadUnit int64 // leaves of an upload unit
	workRange  int64 // leaves of a work range
	next       atomic.Int64
	ordered    *orderedDigests
}

// sendMissing makes one pass and computes the digest of the source.
func (c *fileCopy) sendMissing(ctx context.Context) error {
	tree, err := digest.NewTree(digest.XXH3, c.info.Size)
	if err != nil {
		return err
	}
	leaves := pfs.Leaves(c.info.Size)
	p := &pass{fileCopy: c, leaves: leaves, uploadUnit: uploadUnitOf(c.staged.Unit(), leaves), ordered: newOrderedDigests(tree)}
	workers := int64(c.j.opts.Parallel)
	p.workRange = workRangeOf(p.uploadUnit, leaves/(runsEach*workers), maxRun)
	if c.compare {
		p.workRange = workRangeOf(p.uploadUnit, leaves/workers, maxAsked)
	}
	if err := p.sendAll(ctx); err != nil {
		return err
	}
	c.digest = tree.Sum()
	return nil
}

// uploadUnitOf returns the smallest number of leaves that end together with a piece of unit
// bytes, at most all leaves.
func uploadUnitOf(unit, leaves int64) int64 {
	if unit <= 0 {
		return 1
	}
	a, b := unit, int64(pfs.ChunkSize)
	for b != 0 {
		a, b = b, a%b
	}
	return max(1, min(unit/a, leaves))
}

// workRangeOf returns the leaves of a work range: whole upload units, and if possible at most
// most leaves and at most a worker's share.
func workRangeOf(uploadUnit, share, most int64) int64 {
	return uploadUnit * max(1, min(most, share)/uploadUnit)
}

// sendAll works on the ranges in parallel.
func (p *pass) sendAll(ctx context.Context) error {
	ranges := (p.leaves + p.workRange - 1) / p.workRange
	workers := min(int64(p.j.opts.Parallel), ranges)
	if workers <= 1 {
		return p.work(ctx)
	}
	g, ctx := errgroup.WithContext(ctx)
	for range workers {
		g.Go(func() error { return pfs.Guard("transfer.Copy", p.name, func() error { return p.work(ctx) }) })
	}
	return g.Wait()
}

// work takes ranges until none is left.
func (p *pass) work(ctx context.Context) error {
	for {
		first := (p.next.Add(1) - 1) * p.workRange
		if first >= p.leaves {
			return nil
		}
		if err := p.sendRange(ctx, first, min(first+p.workRange, p.leaves)); err != nil {
			return err
		}
	}
}

// sendRange sends the leaves [first, end), unit by unit.
func (p *pass) sendRange(ctx context.Context, first, end int64) error {
	var s *staging
	if p.compare {
		var err error
		if s, err = p.lookUp(ctx, first, end); err != nil {
			return err
		}
	}
	for at := first; at < end; at += p.uploadUnit {
		if err := p.sendUnit(ctx, s, at, min(at+p.uploadUnit, end)); err != nil {
			return err
		}
	}
	return nil
}

// sendUnit sends the leaves [first, end) of one upload unit, unless the target has all of them.
func (p *pass) sendUnit(ctx context.Context, s *staging, first, end int64) error {
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
	return p.fillUnit(ctx, &l, first, end)
}

// fillUnit sends the leaves [first, end) of one upload unit. If the target loses bytes of the unit,
// fillUnit sends it again from its start, because only the source still has them.
func (p *pass) fillUnit(ctx context.Context, l *leafBuffer, first, end int64) error {
	for {
		digests, err := p.writeUnit(ctx, l, first, end)
		if err == nil {
			for k, d := range digests {
				p.finish(ctx, first+int64(k), d)
			}
			return nil
		}
		var failed *endError
		if !errors.As(err, &failed) || failed.source || !errors.Is(err, pfs.Integrity) {
			return err
		}
		if err := p.repair(ctx, 0, first, failed.err); err != nil {
			return &endError{err: err}
		}
		p.takeBack(int64(len(digests)) * pfs.ChunkSize)
	}
}

// writeUnit reads and writes the leaves [first, end) in order and returns the digests of the
// written ones. They are final only if all were written, because a leaf that is sent again is read
// again.
func (p *pass) writeUnit(ctx context.Context, l *leafBuffer, first, end int64) ([]pfs.LeafDigest, error) {
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

// finish records that the target has leaf i, whose digest is d.
func (p *pass) finish(ctx context.Context, i int64, d pfs.LeafDigest) {
	p.ordered.add(i, d)
	p.log.add(ctx, i, d)
}

// bounds returns the part of the file that leaf i covers.
func (p *pass) bounds(i int64) (off int64, n int) {
	off = i * pfs.ChunkSize
	return off, int(min(pfs.ChunkSize, p.info.Size-off))
}
