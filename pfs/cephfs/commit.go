//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"time"

	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
)

// Commit publishes the file. It sets length, mode, owner, time and stored digest, makes everything
// durable, and then gives the file its name.
func (w *staged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	const op = "cephfs.Staged.Commit"
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return pfs.Info{}, err
	}
	if err := opts.Check(op, w.name); err != nil {
		return pfs.Info{}, err
	}
	unwritten := w.behind.flush(ctx, op)
	if unwritten != nil && !errors.Is(unwritten, pfs.Conflict) {
		return pfs.Info{}, unwritten
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.state {
	case committed:
		return w.done, nil
	case ended:
		return pfs.Info{}, pfs.E(op, w.name, pfs.Closed, nil)
	}
	if err := w.abandoned.wait(ctx, w.fs.store.opts.Timeout); err != nil {
		return pfs.Info{}, fail(op, w.name, err)
	}
	info, err := runChange(ctx, w.fs, []pfs.Path{w.name}, func(c *call) (pfs.Info, error) {
		info, err := w.commit(c, op, opts, unwritten)
		if err != nil {
			return pfs.Info{}, err
		}
		return w.closePublished(c.undo(), info)
	}, nil)
	if err != nil {
		return pfs.Info{}, fail(op, w.name, err)
	}
	w.state, w.done = committed, info
	return info, nil
}

// commit is Commit with exclusive use of the handle. unwritten is the error of bytes that are not
// written, nil if all are. It is ignored if another handle has published the file.
func (w *staged) commit(c *call, op string, opts pfs.CommitOptions, unwritten error) (info pfs.Info, err error) {
	d, base, err := c.parent(w.name)
	if err != nil {
		return pfs.Info{}, err
	}
	defer d.Close()
	h, err := w.file.use(c)
	if errors.Is(err, pfs.Conflict) {
		return w.committedBefore(d, base, opts, err)
	}
	if err != nil {
		return pfs.Info{}, err
	}
	defer h.drop()
	defer func() { err = w.broken(h, err) }()
	if err := w.lock.exclude(c, h); err != nil {
		return pfs.Info{}, err
	}
	defer h.lock(c.undo(), lockNone)
	st, err := d.stat(w.temp)
	switch {
	case missing(err) || err == nil && !st.same(w.from):
		return w.committedBefore(d, base, opts, w.gone(op))
	case err != nil:
		return pfs.Info{}, err
	case unwritten != nil:
		return pfs.Info{}, unwritten
	}
	if st, err = h.stat(c); err != nil {
		return pfs.Info{}, err
	}
	if st.size < opts.Size {
		return w.committedBefore(d, base, opts, pfs.Errorf(op, w.name, pfs.Integrity, "%d of %d bytes were staged", st.size, opts.Size))
	}
	if info, done, err := w.target(d, base, op, opts); done || err != nil {
		return info, err
	}
	return w.publish(d, base, h, opts, st)
}

// target describes the file that has the name. done reports that the upload is published already;
// an error, that it must not be.
func (w *staged) target(d *dir, base, op string, opts pfs.CommitOptions) (info pfs.Info, done bool, err error) {
	there, err := d.stat(base)
	switch {
	case missing(err):
		return pfs.Info{}, false, nil
	case err != nil:
		return pfs.Info{}, false, err
	case opts.NoReplace:
		info, err := w.committedBefore(d, base, opts, pfs.E(op, w.name, pfs.Exist, nil))
		return info, true, err
	case there.mode.IsDir():
		return pfs.Info{}, false, pfs.E(op, w.name, pfs.IsDir, nil)
	}
	return pfs.Info{}, false, nil
}

// publish publishes the temporary, which st describes.
func (w *staged) publish(d *dir, base string, h *handle, opts pfs.CommitOptions, st stat) (pfs.Info, error) {
	m, err := w.fs.mark(d.c, h, w.id, opts)
	if err == nil {
		err = w.fs.finalize(d.c, h, opts, m, st)
	}
	if err != nil {
		return pfs.Info{}, err
	}
	if err := h.finalized(d.c, m); err != nil {
		return pfs.Info{}, err
	}
	after := d.c.undo() // the steps after the rename are done even if the caller gives up
	self := &dir{c: after, in: h.in, lent: true}
	named := false
	err = self.durably(func() error {
		err := d.rename(w.temp, d, base, opts.NoReplace)
		named = err == nil
		return err
	})
	if named && err != nil {
		return pfs.Info{}, pfs.Errorf("cephfs.Staged.Commit", w.name, pfs.Unavailable, "it is not known whether it has its name: %w", err)
	}
	if err != nil {
		return pfs.Info{}, err
	}
	if st, err = h.stat(after); err != nil {
		return pfs.Info{}, err
	}
	info := st.info(w.name)
	info.Digest = m.Digest
	return info, nil
}

// closePublished closes the file that was published as info and drops its caps (see dir.dropCaps).
// Nobody can write to it any more, so its lock is not needed. There is nothing to do if the file
// was removed, moved or replaced meanwhile.
func (w *staged) closePublished(c *call, info pfs.Info) (pfs.Info, error) {
	if h := w.file.take(); h != nil {
		if err := h.close(); err != nil {
			return pfs.Info{}, err
		}
	}
	after := info
	err := w.onPublished(c, func(d *dir, in *cInode) error {
		st, err := d.dropCaps(in)
		after = st.info(w.name)
		after.Digest = info.Digest
		return err
	})
	if err == nil {
		return after, nil
	}
	switch kindOf(err) {
	case pfs.NotExist, pfs.NotDir, pfs.Symlink:
		return info, nil
	}
	return pfs.Info{}, err
}

// onPublished calls do with the inode of the file if it still has the name.
func (w *staged) onPublished(c *call, do func(d *dir, in *cInode) error) error {
	d, base, err := c.parent(w.name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.on(base, func(in *cInode, st stat) error {
		if !st.same(w.from) {
			return nil
		}
		return do(d, in)
	})
}

// mark stores the digest of the published file with the temporary, and returns it.
func (f FS) mark(c *call, h *handle, id string, opts pfs.CommitOptions) (digest.Mark, error) {
	mtime := opts.ModTime
	if mtime.IsZero() {
		mtime = time.Now()
	}
	m := digest.NewMark(id, opts, mtime)
	if m.Empty() {
		return m, nil
	}
	return m, h.setXattr(c, digest.MarkAttribute, m.Encode())
}

// finalize sets the length, mode, owner and time of the published file on the temporary, which st
// describes. m is its stored digest.
func (f FS) finalize(c *call, h *handle, opts pfs.CommitOptions, m digest.Mark, st stat) error {
	mode := unixmode.Permissions(opts.Perm())
	if st.size > opts.Size {
		if err := h.set(c, change{size: &opts.Size}); err != nil {
			return err
		}
	}
	return h.set(c, change{mode: &mode, mtime: &m.ModTime, owner: f.given()})
}

// committedBefore describes the file that has the name now if it is the result of a Commit with
// this ID; otherwise it returns err.
func (w *staged) committedBefore(d *dir, base string, opts pfs.CommitOptions, otherwise error) (pfs.Info, error) {
	st, err := d.stat(base)
	if err != nil || !st.mode.IsRegular() || st.size != opts.Size {
		return pfs.Info{}, otherwise
	}
	var m digest.Mark
	err = d.on(base, func(in *cInode, st stat) error {
		m, _ = newHandle(d.c.m, in).mark(d.c, st)
		return nil
	})
	if err != nil {
		return pfs.Info{}, err
	}
	// Another handle published this file, or one that was written under the same ID.
	if !st.same(w.from) && m.ID != w.id || opts.Digest != "" && m.Digest != "" && m.Digest != opts.Digest {
		return pfs.Info{}, otherwise
	}
	if temp, err := d.stat(w.temp); err == nil && temp.same(w.from) {
		if err := posix.UnlessMissing(d.unlink(w.temp)); err != nil {
			return pfs.Info{}, err
		}
		if st, err = d.stat(base); err != nil {
			return pfs.Info{}, err
		}
	}
	info := st.info(w.name)
	info.Digest = m.Digest
	return info, nil
}
