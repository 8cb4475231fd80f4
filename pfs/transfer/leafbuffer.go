package transfer

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// leafBuffer is a buffer with one leaf of the source in it.
type leafBuffer struct {
	pass   *pass
	buf    []byte
	at     int64 // which leaf; -1 for none
	p      []byte
	digest pfs.LeafDigest
}

// load reads leaf i of the source unless it is loaded.
func (l *leafBuffer) load(ctx context.Context, i int64) error {
	if l.at == i {
		return nil
	}
	off, n := l.pass.bounds(i)
	l.at, l.p = -1, l.buf[:n]
	err := l.pass.j.retry(ctx, l.pass.name, func(ctx context.Context) error {
		if err := pfs.CheckContext(ctx, "transfer.Copy", l.pass.name); err != nil {
			return err
		}
		return pfs.ReadFull(ctx, l.pass.file, l.p, off)
	})
	if err != nil {
		return &endError{err: err, source: true}
	}
	l.at, l.digest = i, digest.Leaf(l.p)
	return nil
}

// write stages the leaf.
func (l *leafBuffer) write(ctx context.Context) error {
	if err := l.pass.j.pay(ctx, len(l.p)); err != nil {
		return err
	}
	err := l.pass.j.retry(ctx, l.pass.name, func(ctx context.Context) error {
		_, err := l.pass.staged.WriteAt(ctx, l.p, l.at*pfs.ChunkSize)
		return err
	})
	if err != nil {
		return &endError{err: err}
	}
	l.pass.j.pool.moved()
	l.pass.account(int64(len(l.p)), false)
	return nil
}
