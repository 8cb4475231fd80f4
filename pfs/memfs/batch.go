package memfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// WriteBatch makes the entries in order.
func (s *FS) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	errs := make([]error, len(entries))
	for i, e := range entries {
		errs[i] = s.writeEntry(ctx, e)
	}
	return errs
}

func (s *FS) writeEntry(ctx context.Context, e pfs.BatchEntry) error {
	const op = "memfs.WriteBatch"
	if err := begin(ctx, op, e.Path); err != nil {
		return err
	}
	data := contentOf(e.Data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Mode.IsDir() {
		return s.mkdir(op, e.Path, e.Mode)
	}
	if err := s.checkSpace(op, e.Path, data.size); err != nil {
		return err
	}
	_, err := s.publish(op, e.Path, data, "", e.Commit())
	return err
}
