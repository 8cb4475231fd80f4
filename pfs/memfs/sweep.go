package memfs

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Sweep removes the uploads below dir whose last write is older than age: a user's own, or those of
// all.
func (s *FS) Sweep(ctx context.Context, dir pfs.Path, age time.Duration) (n int, bytes int64, err error) {
	err = s.on(ctx, &s.mu, "memfs.Sweep", dir, (*FS).findDir, 0, 0, func(top *node) error {
		n, bytes = s.sweep(top, now().Add(-age))
		return nil
	})
	return n, bytes, err
}

// sweep discards the uploads below top that were last touched before until.
func (s *FS) sweep(top *node, until time.Time) (n int, bytes int64) {
	for _, st := range top.dir.staged {
		if !st.touched.After(until) && (s.acting == st.key.acting || s.acting == acting{owner: s.user}) {
			n, bytes = n+1, bytes+st.size
			s.discard(st)
		}
	}
	for _, e := range top.dir.entries {
		if e.node.mode.IsDir() {
			k, b := s.sweep(e.node, until)
			n, bytes = n+k, bytes+b
		}
	}
	return n, bytes
}
