package transfer

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// pieceTries is how often a piece is sent again. A piece is long, and one faulty machine loses all of
// it until the target notices.
const pieceTries = unitTries + maxPasses

// pieces is an upload of a stream, which cannot be read again, to a target with long units
// (Staged.Unit), written in order. A unit that the target loses is sent again from a local file.
// Each unit is durable before the next one begins.
type pieces struct {
	pfs.Staged // the current handle
	target     End

	retried func(err error) // called with errors about bytes that the target has lost
	budget  func(context.Context) *retry.Budget

	kept *spool // of the bytes [from, to)
	from int64  // start of the piece
	to   int64  // end of the written bytes
	lost bool   // the target lacks some of the piece
}

// Resending returns w, a new upload of target, such that bytes that target loses are sent again.
// WriteAt, Sync and Commit return Integrity or Conflict only after several attempts. The caller
// writes in order from the start, from one goroutine at a time, and closes the result.
//
// If Unit is at most pfs.ChunkSize, the failure of one machine does not lose a successful write,
// and Resending returns w. Otherwise up to Unit bytes are kept in a file of os.TempDir until
// Suspend or Close.
func Resending(target End, w pfs.Staged) pfs.Staged {
	if w.Unit() <= pfs.ChunkSize {
		return w
	}
	return &pieces{Staged: w, target: target, retried: func(error) {}, budget: budgetOf, kept: newSpool(w.Unit())}
}

// budgetOf returns the budget of ctx, or a new one.
func budgetOf(ctx context.Context) *retry.Budget {
	if b := retry.From(ctx); b != nil {
		return b
	}
	return retry.New(retry.Default, nil)
}

// resending is Resending for a stream of the job.
func (j *Job) resending(target End, w pfs.Staged) pfs.Staged {
	w = Resending(target, w)
	if s, ok := w.(*pieces); ok {
		s.retried = func(err error) { j.retried(target.Path, 0, err) }
		s.budget = j.budgetOf
	}
	return w
}

// WriteAt writes p at offset off, where the write before ended. After an error it may be
// repeated.
func (s *pieces) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "transfer.Staged.WriteAt"
	if off > s.to || off+int64(len(p)) < s.to {
		return 0, pfs.Errorf(op, s.target.Path, pfs.Invalid, "bytes come at %d, and %d is next", off, s.to)
	}
	for n = int(s.to - off); n < len(p); {
		if err := s.advance(ctx); err != nil {
			return n, err
		}
		chunk := p[n:min(int64(len(p)), int64(n)+pfs.ChunkSize, int64(n)+s.from+s.Unit()-s.to)]
		s.kept.keep(chunk, s.to)
		err := s.secure(ctx, func(w pfs.Staged) error {
			_, err := w.WriteAt(ctx, chunk, s.to)
			return err
		})
		if err != nil {
			return n, err
		}
		s.to += int64(len(chunk))
		n += len(chunk)
	}
	return n, nil
}

// advance begins the next piece if this one is full.
func (s *pieces) advance(ctx context.Context) error {
	if s.to-s.from < s.Unit() {
		return nil
	}
	if err := s.Sync(ctx); err != nil {
		return err
	}
	s.from = s.to
	return nil
}

// Sync returns when all written bytes are durable.
func (s *pieces) Sync(ctx context.Context) error {
	return s.secure(ctx, func(w pfs.Staged) error { return w.Sync(ctx) })
}

// Commit publishes the file.
func (s *pieces) Commit(ctx context.Context, opts pfs.CommitOptions) (info pfs.Info, err error) {
	err = s.secure(ctx, func(w pfs.Staged) (err error) {
		info, err = w.Commit(ctx, opts)
		return err
	})
	return info, err
}

// Suspend closes the upload and keeps it. Staged bytes that the target loses later are not sent
// again.
func (s *pieces) Suspend(ctx context.Context) error {
	s.kept.close()
	return s.Staged.Suspend(ctx)
}

// Close discards the upload, unless Commit or Suspend came first.
func (s *pieces) Close(ctx context.Context) error {
	s.kept.close()
	return s.Staged.Close(ctx)
}

// secure calls do with the current handle of the upload. While the target has lost bytes of the
// unit, it sends them again and repeats do.
func (s *pieces) secure(ctx context.Context, do func(pfs.Staged) error) error {
	for try := 0; ; try++ {
		err := s.mend(ctx)
		if err == nil {
			err = do(s.Staged)
		}
		if err == nil || !isLost(err) && !errors.Is(err, pfs.Integrity) {
			return err
		}
		s.lost = true
		var gone *notKept
		if try == pieceTries || errors.As(err, &gone) {
			return err
		}
		s.retried(err)
		if isLost(err) {
			if err := s.reopen(ctx); err != nil {
				return err
			}
		}
		if s.budget(ctx).Wait(ctx, try) != nil {
			return err
		}
	}
}

// reopen opens the upload again, or begins a new one if all bytes are still kept here.
func (s *pieces) reopen(ctx context.Context) error {
	_ = s.Staged.Suspend(ctx)
	opts := pfs.CreateOptions{ID: s.ID(), Reopen: true}
	w, err := s.target.FS.Create(ctx, s.target.Path, opts)
	if errors.Is(err, pfs.Conflict) && s.from == 0 {
		opts.Reopen = false
		w, err = s.target.FS.Create(ctx, s.target.Path, opts)
	}
	if err == nil {
		s.Staged = w
	}
	return err
}

// mend sends the piece again from its start, if some of it was lost.
func (s *pieces) mend(ctx context.Context) error {
	if !s.lost {
		return nil
	}
	buf := make([]byte, min(s.to-s.from, pfs.ChunkSize))
	for off := s.from; off < s.to; off += int64(len(buf)) {
		p := buf[:min(int64(len(buf)), s.to-off)]
		if err := s.kept.read(p, off); err != nil {
			return err
		}
		if _, err := s.Staged.WriteAt(ctx, p, off); err != nil {
			return err
		}
	}
	s.lost = false
	return nil
}
