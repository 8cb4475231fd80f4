package localfs

import (
	"context"
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// Sweep removes the uploads below dir that were last written to before age, and leftovers of a
// RemoveTree of that time. It continues after an error and returns the first one.
func (f *FS) Sweep(ctx context.Context, name pfs.Path, age time.Duration) (n int, bytes int64, err error) {
	const op = "localfs.Sweep"
	if err := f.check(ctx, op, name); err != nil {
		return 0, 0, err
	}
	p, err := f.openPlace(relative(name))
	if err != nil {
		return 0, 0, fail(op, name, err)
	}
	defer p.dir.Close()
	s := sweep{ctx: ctx, f: f, op: op, before: time.Now().Add(-age)}
	w := walker{f: f, visit: s.visit, top: name, denied: s.note}
	err = w.walk(ctx, p)
	if err == nil {
		err = s.failed
	}
	return s.n, s.bytes, fail(op, name, err)
}

// sweep is the state of one Sweep.
type sweep struct {
	ctx    context.Context
	f      *FS
	op     string
	before time.Time

	n      int
	bytes  int64
	failed error // the first
}

func (s *sweep) note(err error) {
	if s.failed == nil {
		s.failed = err
	}
}

// visit removes an entry that is due.
func (s *sweep) visit(p place, entry string, st stat) (enter bool, err error) {
	if !pfs.IsTemp(entry, st.mode) || st.touched().After(s.before) {
		return true, nil
	}
	if st.mode.IsDir() {
		err = s.tree(p, entry)
	} else {
		err = s.staged(p, entry, st)
	}
	if err != nil {
		s.note(err)
	}
	return false, nil
}

// staged removes an upload and books that. A claim counts an upload that is open here.
func (s *sweep) staged(p place, temp string, st stat) error {
	release, err := s.f.hold(named{p, temp})
	if err != nil {
		return err
	}
	defer release()
	now, err := p.dir.stat(temp, false)
	if err != nil || !now.same(st) || now.touched().After(s.before) { // it was resumed
		return posix.UnlessMissing(err)
	}
	if err := p.dir.unlink(temp); err != nil {
		return posix.UnlessMissing(err)
	}
	s.n++
	s.bytes += now.size
	for _, t := range p.trees {
		if !s.f.quotas.claimedIn(t)(newTempID(temp, st)) {
			t.book(stagedSums(now).negated())
		}
	}
	return nil
}

// tree finishes an interrupted RemoveTree.
func (s *sweep) tree(p place, entry string) error {
	d := emptied{s.ctx, s.f, s.op, p.dir, p}
	return posix.NewRemover(d).Tree(child{entry, stat{mode: fs.ModeDir}})
}
