package localfs

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// tempMode is the mode of temporaries.
const tempMode = 0o600

// Create begins an upload of name, or resumes one.
func (f *FS) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := f.create(ctx, "localfs.Create", name, opts)
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (f *FS) create(ctx context.Context, op string, name pfs.Path, opts pfs.CreateOptions) (*staged, error) {
	if err := f.check(ctx, op, name); err != nil {
		return nil, err
	}
	if err := opts.Check(op, name); err != nil {
		return nil, err
	}
	opts.ID = cmp.Or(opts.ID, pfs.NewID())
	p, base, err := f.parentPlace(name)
	if err != nil {
		return nil, fail(op, name, err)
	}
	w := &staged{fs: f, name: name, id: opts.ID, dir: p.dir, in: p.trees, base: base, temp: digest.StagedName(base, opts.ID)}
	if err := w.begin(ctx, op, opts); err != nil {
		p.dir.Close()
		return nil, fail(op, name, err)
	}
	return w, nil
}

// begin checks the target, claims quota and opens the temporary.
func (w *staged) begin(ctx context.Context, op string, opts pfs.CreateOptions) error {
	switch st, err := w.dir.stat(w.base, false); {
	case err == nil && st.mode.IsDir():
		return pfs.E(op, w.name, pfs.IsDir, nil)
	case err == nil:
		w.spare = st.size
	case missing(err):
		w.extra = 1
	default:
		return err
	}
	if err := w.fs.ready(ctx, w.in); err != nil {
		return err
	}
	made, err := w.open(op, opts)
	if err != nil {
		return err
	}
	if err := w.fits(op, opts.Size); err != nil {
		w.undo(made)
		w.leave(!made)
		return err
	}
	return nil
}

// undo closes the temporary, and removes it if this handle made it.
func (w *staged) undo(made bool) {
	w.file.Close()
	if made {
		w.dir.unlink(w.temp)
	}
}

// open opens the temporary, or makes it, and claims quota for it. It registers the temporary first,
// so that a concurrent removal knows that a claim counts it.
func (w *staged) open(op string, opts pfs.CreateOptions) (made bool, err error) {
	release, err := w.fs.hold(w.named(w.temp))
	if err != nil {
		return false, err
	}
	defer release()
	w.file, err = w.openTemp()
	if missing(err) && opts.Reopen {
		return false, pfs.Errorf(op, w.name, pfs.Conflict, "there is no upload %q: it was committed or discarded, or it expired", w.id)
	}
	made = missing(err)
	if made {
		w.file, err = w.dir.openFile(w.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, tempMode)
	}
	if errors.Is(err, fs.ErrExist) { // another handle has just made it
		made = false
		w.file, err = w.openTemp()
	}
	if err != nil {
		return false, err
	}
	if err := w.opened(op, opts, made); err != nil {
		w.undo(made)
		return false, err
	}
	return made, nil
}

// openTemp opens the temporary. An interrupted Commit may have left it with the mode of the final
// file, which need not let its owner write.
func (w *staged) openTemp() (*os.File, error) {
	file, err := w.dir.openFile(w.temp, os.O_RDWR, 0)
	if err == nil || kindOf(err) != pfs.Permission {
		return file, err
	}
	left, failed := w.dir.openFile(w.temp, os.O_RDONLY, 0)
	if failed != nil {
		return nil, err
	}
	defer left.Close()
	if err := w.makeWritable(left); err != nil {
		return nil, err
	}
	return w.dir.openFile(w.temp, os.O_RDWR, 0)
}

// makeWritable gives left, open for reading only, the mode of a temporary again, if it still is the
// temporary once no Commit is running.
func (w *staged) makeWritable(left *os.File) error {
	if err := lockFile(left, true); err != nil {
		return err
	}
	st, err := statFile(left)
	if err != nil {
		return err
	}
	if now, err := w.dir.stat(w.temp, false); err != nil || !now.same(st) || !untouched(st) {
		return err
	}
	return left.Chmod(tempMode)
}

// untouched reports whether st can be a temporary that this package made.
func untouched(st stat) bool { return st.mode.IsRegular() && st.links <= 1 }

// opened checks the opened file and prepares it.
func (w *staged) opened(op string, opts pfs.CreateOptions, made bool) (err error) {
	if w.from, err = statFile(w.file); err != nil {
		return err
	}
	if !untouched(w.from) {
		return pfs.Errorf(op, w.name, pfs.Conflict, "the upload %q was tampered with: use another ID", w.id)
	}
	w.resumed = w.from.size > 0
	w.lock.file = w.file
	return w.claimSize(opts.Size, made)
}

// fits refuses a file that does not fit on the disk before it is sent. It reserves nothing: an
// upload that is never sent must not keep others out.
func (w *staged) fits(op string, size int64) error {
	space, err := w.dir.space()
	if err != nil || space.Total <= 0 { // unknown
		return nil
	}
	if more := size - max(w.from.size, w.from.disk); more > space.Free {
		return w.fs.noSpace(op, w.name, more, space)
	}
	return nil
}

// claimSize claims the quota for a file of size bytes, or joins the claim of the temporary's other
// handles. Staged bytes are in the totals while no handle is open; the first handle moves them to
// its claim.
//
// The caller holds the name of the temporary.
func (w *staged) claimSize(size int64, made bool) error {
	o := w.fs.quotas.enter(w.tempID())
	var kept sums
	if w.claimed = o.claimed.Load(); w.claimed == nil {
		w.claimed = &claim{trees: w.in}
		if !made {
			kept = stagedSums(w.from)
		}
	}
	book(w.in, kept.negated())
	if err := w.claimed.reach(w.needs(max(size, w.from.size))); err != nil {
		book(w.in, kept)
		w.fs.quotas.leave(w.tempID())
		return err
	}
	o.claimed.Store(w.claimed)
	return nil
}
