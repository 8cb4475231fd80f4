package hdfsfs

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
)

// maxRounds bounds how often Commit starts over because another handle of the upload
// changed its files meanwhile.
const maxRounds = 5

// Commit publishes the file: it stores the parts, joins them in order, sets the
// attributes of the result, and renames it.
func (w *staged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	const op = "hdfsfs.Staged.Commit"
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return pfs.Info{}, err
	}
	if err := opts.Check(op, w.name); err != nil {
		return pfs.Info{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.state {
	case committed:
		return w.done, nil
	case ended:
		return pfs.Info{}, pfs.E(op, w.name, pfs.Closed, nil)
	}
	info, err := w.commit(ctx, op, opts)
	if err != nil {
		return pfs.Info{}, w.fail(op, err)
	}
	w.state, w.done = committed, info
	return info, nil
}

// commit is Commit; the caller holds w.mu.
func (w *staged) commit(ctx context.Context, op string, opts pfs.CommitOptions) (pfs.Info, error) {
	for _, pt := range w.touched() {
		err := pt.settle(ctx)
		if err != nil && pt.start() < opts.Size && !w.gone(ctx) {
			return pfs.Info{}, err
		}
	}
	var err error
	for range maxRounds {
		var info pfs.Info
		info, err = w.round(ctx, op, opts)
		var known *pfs.Error
		if err == nil || !is(err, pfs.NotExist) || errors.As(err, &known) {
			return info, err
		}
	}
	return pfs.Info{}, err
}

// round lists the upload and continues from its state. If the NameNode reports a missing
// file, another handle was faster.
func (w *staged) round(ctx context.Context, op string, opts pfs.CommitOptions) (pfs.Info, error) {
	c, err := w.fs.contentOf(ctx, w.dir)
	if err != nil && !is(err, pfs.NotExist) {
		return pfs.Info{}, err
	}
	gone := err != nil
	if have := c.length(w.lay.unit, opts.Size); gone || have < opts.Size {
		if info, ok, err := w.committedBefore(ctx, opts); ok || err != nil {
			return info, err
		}
		if err := w.inPlace(ctx, op); err != nil {
			return pfs.Info{}, err
		}
		if gone {
			return pfs.Info{}, pfs.Errorf(op, w.name, pfs.Conflict, "the upload %q is gone: another handle discarded it, or it expired", w.id)
		}
		return pfs.Info{}, pfs.Errorf(op, w.name, pfs.Integrity, "%d of %d bytes were staged", have, opts.Size)
	}
	if err := w.inPlace(ctx, op); err != nil {
		return pfs.Info{}, err
	}
	if info, done, err := w.replaces(ctx, op, opts); done || err != nil {
		return info, err
	}
	whole, err := w.join(ctx, op, c, opts.Size)
	if err != nil {
		return pfs.Info{}, err
	}
	return w.publish(ctx, whole, opts)
}

// length returns the number of bytes that are staged without a gap from the start, at most size.
func (c content) length(unit, size int64) int64 {
	have := c.joined
	for have < size && have%unit == 0 {
		n := c.parts[have/unit]
		have += n
		if n < unit {
			break
		}
	}
	return min(have, size)
}

// inPlace checks that the target's directory is the same as at Create.
func (w *staged) inPlace(ctx context.Context, op string) error {
	dir := w.name.Parent()
	st, err := w.fs.status(ctx, dir)
	switch {
	case err != nil:
		return w.fs.placeError(ctx, op, dir, err)
	case st.id != w.parent:
		return pfs.Errorf(op, w.name, pfs.Conflict, "its directory was moved or replaced since Create")
	}
	return nil
}

// replaces checks, before the parts are joined, that the file may take its name. It reports
// done if this upload has already been committed.
func (w *staged) replaces(ctx context.Context, op string, opts pfs.CommitOptions) (info pfs.Info, done bool, err error) {
	st, err := w.fs.status(ctx, w.name)
	switch {
	case is(err, pfs.NotExist):
		return pfs.Info{}, false, nil
	case err != nil:
		return pfs.Info{}, false, err
	case opts.NoReplace:
		if info, ok, err := w.committedBefore(ctx, opts); ok || err != nil {
			if err == nil {
				w.tidy(ctx)
			}
			return info, true, err
		}
		return pfs.Info{}, false, pfs.E(op, w.name, pfs.Exist, nil)
	case st.IsDir():
		return pfs.Info{}, false, pfs.E(op, w.name, pfs.IsDir, nil)
	}
	return pfs.Info{}, false, nil
}

// committedBefore reports whether the file at w.name is the result of an earlier commit of
// this upload.
func (w *staged) committedBefore(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, bool, error) {
	st, err := w.fs.status(ctx, w.name)
	if is(err, pfs.NotExist, pfs.NotDir) || err == nil && (!st.IsRegular() || st.Size != opts.Size) {
		return pfs.Info{}, false, nil
	}
	if err != nil {
		return pfs.Info{}, false, err
	}
	m, ok, err := w.fs.readMark(ctx, w.fs.at(w.name), st)
	if err != nil || !ok || m.ID != w.id || opts.Digest != "" && m.Digest != "" && m.Digest != opts.Digest {
		return pfs.Info{}, false, err
	}
	st.Digest = m.Digest
	return st.Info, true, nil
}

// tidy removes the directory of a committed upload. If that fails, Sweep removes it later.
func (w *staged) tidy(ctx context.Context) { _ = w.remove(context.WithoutCancel(ctx)) }

// publish sets the attributes of the whole file and then renames it to w.name.
func (w *staged) publish(ctx context.Context, whole string, opts pfs.CommitOptions) (pfs.Info, error) {
	if err := w.fs.finalize(ctx, whole, w.name.Parent(), w.id, opts); err != nil {
		return pfs.Info{}, err
	}
	err := w.fs.move(ctx, whole, w.fs.at(w.name), opts.NoReplace)
	if err != nil {
		// Only the response may have been lost, or another handle was faster.
		if info, ok, _ := w.committedBefore(ctx, opts); ok {
			w.tidy(ctx)
			return info, nil
		}
		return pfs.Info{}, w.fs.publishError(ctx, "hdfsfs.Staged.Commit", whole, w.name, err)
	}
	st, err := w.fs.describe(ctx, w.name)
	if err != nil {
		return pfs.Info{}, err
	}
	w.tidy(ctx)
	return st.Info, nil
}
