package transfer

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// makeDirs creates the missing directories, in one request if the target supports that. With an
// Include rule, a directory is created only when a file is copied into it.
func (r *run) makeDirs(ctx context.Context, subs []*directory) {
	var missing []*directory
	for _, d := range subs {
		if d.failure == nil && d.choice == taken && !d.isThere() {
			missing = append(missing, d)
		}
	}
	if len(missing) == 0 {
		return
	}
	if above := missing[0].above; above != nil {
		if err := above.ensure(ctx); err != nil {
			for _, d := range missing {
				d.fail(err)
			}
			return
		}
	}
	for len(missing) > 0 {
		n := min(len(missing), maxEntries)
		r.makeBatch(ctx, missing[:n])
		missing = missing[n:]
	}
}

// makeBatch makes directories of one parent.
func (r *run) makeBatch(ctx context.Context, dirs []*directory) {
	todo := dirs
	err := r.j.retry(ctx, dirs[0].name, func(ctx context.Context) error {
		entries := make([]pfs.BatchEntry, len(todo))
		for i, d := range todo {
			entries[i] = pfs.BatchEntry{Path: d.target.Path, Mode: d.mode()}
		}
		var left []*directory
		var first error
		for i, err := range pfs.WriteBatch(ctx, todo[0].target.FS, entries) {
			d, kind := todo[i], pfs.KindOf(err)
			switch {
			case err == nil:
				d.wasMade()
			case kind.Temporary():
				left, first = append(left, d), err
			default:
				d.fail(err)
			}
		}
		todo = left
		return first
	})
	for _, d := range todo {
		d.fail(err)
	}
}
