package hdfsfs

import (
	"context"
	"io"
	"path"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// part is a part of an upload: its stored bytes and those in transit.
type part struct {
	w      *staged
	number int64

	mu      sync.Mutex
	now     *attempt // nil if none is being written
	storing *storing // nil if none is being stored while others are written

	// failed is set if accepted bytes were lost, until the part is written again from its start;
	// now is nil meanwhile. Call await before reading it.
	failed error
}

// storing is the last step of a part that the DataNodes have: a few round trips, for which
// the next part does not wait.
type storing struct {
	done chan struct{} // closed at the end
	err  error         // valid from then on
}

// maxStoring is the number of parts of one handle that are stored while others are written.
const maxStoring = 4

// path is where the part is stored.
func (pt *part) path() string { return partPath(pt.w.dir, pt.number) }

// start is the offset of the part in the file.
func (pt *part) start() int64 { return pt.number * pt.w.lay.unit }

// write writes p at off in the part; pt.mu is held. Bytes may be written again, but not after a
// gap.
func (pt *part) write(ctx context.Context, p []byte, off int64) error {
	if err := pt.await(); err != nil {
		return err
	}
	if pt.now == nil {
		return pt.open(ctx, p, off)
	}
	known := min(int64(len(p)), pt.now.n-off)
	switch {
	case known < 0:
		return pt.gap(pt.now.n)
	case known == 0:
		return pt.add(ctx, p)
	}
	switch v := pt.now.compare(p[:known], off); {
	case v == same:
		return pt.add(ctx, p[known:])
	case v == unsure && off == 0:
		// The new bytes may be a prefix of the stored ones: keep these.
		if err := pt.settle(ctx); err != nil {
			return err
		}
	default:
		pt.drop()
		pt.failed = pt.gap(0)
	}
	return pt.open(ctx, p, off)
}

// open begins an attempt with p at off.
func (pt *part) open(ctx context.Context, p []byte, off int64) error {
	if off == 0 {
		return pt.begin(ctx, p)
	}
	if pt.failed != nil {
		return pt.failed
	}
	stored, err := pt.stored(ctx)
	if err != nil {
		return err
	}
	if off > stored {
		return pt.gap(stored)
	}
	known := min(int64(len(p)), stored-off)
	equal, err := pt.holds(ctx, p[:known], off)
	if err != nil {
		return err
	}
	if !equal {
		return pt.gap(0)
	}
	if p = p[known:]; len(p) == 0 {
		return nil
	}
	a, err := pt.again(ctx, stored)
	if err != nil {
		return err
	}
	if err := a.write(p); err != nil {
		a.discard() // the stored bytes stay
		return err
	}
	pt.now = a
	return pt.full(ctx)
}

// gap returns the error of a write after a gap.
func (pt *part) gap(have int64) error {
	from := pt.start()
	return pfs.Errorf("hdfsfs.Staged.WriteAt", pt.w.name, pfs.Integrity,
		"of the part at byte %d only %d bytes are staged: write it again from its start", from, have)
}

// begin begins an attempt with p, the first bytes of the part.
func (pt *part) begin(ctx context.Context, p []byte) error {
	a, err := pt.attempt(ctx, p)
	if err != nil {
		return err
	}
	pt.now, pt.failed = a, nil
	return pt.full(ctx)
}

// attempt begins to write a file with p, its first bytes.
func (pt *part) attempt(ctx context.Context, p []byte) (*attempt, error) {
	return pt.w.fs.beginWith(ctx, path.Join(pt.w.dir, attemptPrefix+pfs.NewID()), pt.w.lay, p)
}

// add appends p to the attempt.
func (pt *part) add(ctx context.Context, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	n := pt.now.n
	if err := pt.now.write(p); err != nil {
		pt.drop()
		return pt.lost(n, err)
	}
	return pt.full(ctx)
}

// lost records that an attempt with n accepted bytes failed: only the sender still has them. At the
// first failure it returns the cause, such as an exceeded quota. It does not return Unavailable,
// because callers would retry without success.
func (pt *part) lost(n int64, err error) error {
	if err == nil {
		return nil
	}
	pt.failed = pfs.Errorf("hdfsfs.Staged.WriteAt", pt.w.name, pfs.Integrity,
		"%d bytes of the part at byte %d were lost on their way: write it again from its start (%v)", n, pt.start(), cause(err))
	if is(err, pfs.Unavailable) {
		return pt.failed
	}
	return err
}

// full closes the part once it is complete, and begins to store it. The next call on the
// part returns the error of that.
func (pt *part) full(ctx context.Context) error {
	if pt.now.n < pt.w.lay.unit {
		return nil
	}
	a, err := pt.close(ctx)
	if err != nil {
		return err
	}
	if pt.w.storingParts.Add(1) > maxStoring {
		defer pt.w.storingParts.Add(-1)
		return pt.store(ctx, a)
	}
	s := &storing{done: make(chan struct{})}
	pt.storing = s
	go func() {
		defer pt.w.storingParts.Add(-1)
		defer close(s.done)
		s.err = pfs.Guard("hdfsfs.Staged.WriteAt", pt.w.name, func() error { return pt.store(ctx, a) })
	}()
	return nil
}

// await waits until the part is stored, if storing has begun.
func (pt *part) await() error {
	s := pt.storing
	if s == nil {
		return nil
	}
	<-s.done
	pt.storing = nil
	return s.err
}

// drop discards the attempt.
func (pt *part) drop() {
	_ = pt.await()
	if pt.now != nil {
		pt.now.discard()
		pt.now = nil
	}
}

// settle closes the attempt and stores it as the part. It returns why a part failed before.
func (pt *part) settle(ctx context.Context) error {
	if err := pt.await(); err != nil {
		return err
	}
	if pt.now == nil {
		return pt.failed
	}
	a, err := pt.close(ctx)
	if err != nil {
		return err
	}
	return pt.store(ctx, a)
}

// close ends the attempt and returns it: the DataNodes have all of it.
func (pt *part) close(ctx context.Context) (*attempt, error) {
	a := pt.now
	pt.now = nil
	return a, pt.lost(a.n, a.close(ctx))
}

// store stores the closed attempt a as the part. It continues when the caller gives up, since
// otherwise all written bytes would be lost.
func (pt *part) store(ctx context.Context, a *attempt) error {
	ctx = context.WithoutCancel(ctx)
	err := a.confirm(ctx)
	if err == nil {
		err = pt.place(ctx, a)
	}
	return pt.lost(a.n, err)
}

// place renames a to the part, unless the stored part begins with the same bytes and is longer.
func (pt *part) place(ctx context.Context, a *attempt) error {
	begins, err := pt.beginsWith(ctx, a)
	if err == nil && !begins {
		err = pt.w.fs.move(ctx, a.path, pt.path(), false)
	}
	if err != nil || begins {
		a.remove()
	}
	return err
}

// read fills p from off in the part, which may be in the joined file. A part that failed has no
// bytes, whatever was stored of it before.
func (pt *part) read(ctx context.Context, p []byte, off int64) (int, error) {
	if err := pt.await(); err != nil {
		return 0, err
	}
	if pt.failed != nil {
		return 0, pt.w.nothing(ctx)
	}
	if err := pt.settle(ctx); err != nil {
		return 0, err
	}
	h, err := pt.reader(ctx)
	if is(err, pfs.NotExist) {
		off += pt.start()
		h, err = pt.w.openAt(ctx, path.Join(pt.w.dir, joinedName))
	}
	if is(err, pfs.NotExist) {
		return 0, pt.w.nothing(ctx)
	}
	if err != nil {
		return 0, err
	}
	defer h.Close()
	n, err := h.ReadAt(ctx, p, off)
	if n == len(p) {
		err = nil
	}
	return n, err
}

// stored returns the number of bytes of the stored part, or 0.
func (pt *part) stored(ctx context.Context) (int64, error) {
	st, err := pt.w.fs.statusAt(ctx, pt.path())
	if is(err, pfs.NotExist) {
		return 0, nil
	}
	return st.Size, err
}

// reader opens the stored part.
func (pt *part) reader(ctx context.Context) (*file, error) { return pt.w.openAt(ctx, pt.path()) }

// holds reports whether the stored part has p at off.
func (pt *part) holds(ctx context.Context, p []byte, off int64) (bool, error) {
	if len(p) == 0 {
		return true, nil
	}
	h, err := pt.reader(ctx)
	if err != nil {
		return false, err
	}
	defer h.Close()
	got := make([]byte, len(p))
	_, err = h.ReadAt(ctx, got, off)
	if err != nil && err != io.EOF {
		return false, err
	}
	return string(got) == string(p), nil
}

// beginsWith reports whether the stored part is longer than a's bytes and begins with them.
func (pt *part) beginsWith(ctx context.Context, a *attempt) (bool, error) {
	h, err := pt.reader(ctx)
	if is(err, pfs.NotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer h.Close()
	if h.st.Size <= a.n {
		return false, nil
	}
	buf := make([]byte, min(a.n, pfs.ChunkSize))
	for off := int64(0); off < a.n; off += int64(len(buf)) {
		p := buf[:min(int64(len(buf)), a.n-off)]
		if err := pfs.ReadFull(ctx, h, p, off); err != nil {
			return false, err
		}
		if a.compare(p, off) != same {
			return false, nil
		}
	}
	return true, nil
}

// again begins an attempt with the first n bytes of the stored part. It keeps the stored part,
// because HDFS can neither write into a file nor truncate it at any offset.
func (pt *part) again(ctx context.Context, n int64) (*attempt, error) {
	h, err := pt.reader(ctx)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	var a *attempt
	buf := make([]byte, min(n, pfs.ChunkSize))
	for off := int64(0); off < n; off += int64(len(buf)) {
		p := buf[:min(int64(len(buf)), n-off)]
		err := pfs.ReadFull(ctx, h, p, off)
		if err == nil && a == nil {
			a, err = pt.attempt(ctx, p)
		} else if err == nil {
			err = a.write(p)
		}
		if err != nil {
			return nil, pt.w.giveUp(a, err)
		}
	}
	return a, nil
}
