package memfs

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Sweep removes the uploads below dir whose last write is older than age: a user's own, or those of
// all.
func (s *FS) Sweep(ctx context.Context, dir pfs.Path, age time.Duration) (n int, bytes int64, err error) {
	const op = "memfs.Sweep"
	if err := begin(ctx, op, dir); err != nil {
		return 0, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	top, err := s.findDir(op, dir)
	if err != nil {
		return 0, 0, err
	}
	n, bytes = s.sweep(top, now().Add(-age))
	return n, bytes, nil
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
