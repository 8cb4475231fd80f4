package hdfsfs

import (
	"context"
	"io/fs"
)

// layout is the layout of new files.
type layout struct {
	block, unit int64
	replicas    int
	coding      coding
	perm        fs.FileMode
}

// code makes files erasure-coded. A part is then a whole block group.
func (l *layout) code(c coding) {
	l.coding = c
	l.unit *= c.spread()
}

// stored is the number of bytes that HDFS needs for size bytes.
func (l layout) stored(size int64) int64 {
	if l.coding.policy != nil {
		return size + size*l.coding.parity/l.coding.data
	}
	return size * int64(l.replicas)
}

// layout returns the layout from the options, or else from the cluster.
func (f *FS) layout(ctx context.Context) (layout, error) {
	l := layout{block: f.opts.BlockSize, unit: f.opts.PartSize, replicas: f.opts.Replication, perm: 0o644}
	if l.block == 0 || l.replicas == 0 {
		d, err := f.serverDefaults(ctx)
		if err != nil {
			return l, err
		}
		if l.block == 0 {
			l.block = int64(d.GetBlockSize())
		}
		if l.replicas == 0 {
			l.replicas = max(1, int(d.GetReplication()))
		}
	}
	if l.unit == 0 {
		l.unit = l.block
	}
	return l, nil
}

// replication is the number of replicas of new files.
func (f *FS) replication(ctx context.Context) (int64, error) {
	if n := f.opts.Replication; n > 0 {
		return int64(n), nil
	}
	d, err := f.serverDefaults(ctx)
	return int64(max(1, d.GetReplication())), err
}
