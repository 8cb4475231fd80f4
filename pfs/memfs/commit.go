package memfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

func (w *staged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	const op = "memfs.Staged.Commit"
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return pfs.Info{}, err
	}
	if err := opts.Check(op, w.name); err != nil {
		return pfs.Info{}, err
	}
	w.st.mu.Lock()
	defer w.st.mu.Unlock()
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	if w.st.done != nil {
		w.ended.Store(true)
		return *w.st.done, nil
	}
	if w.ended.Load() {
		return pfs.Info{}, pfs.E(op, w.name, pfs.Closed, nil)
	}
	info, err := w.commit(op, opts)
	if err != nil {
		return pfs.Info{}, err
	}
	w.ended.Store(true)
	w.st.done = &info
	w.fs.discard(w.st)
	return info, nil
}

// commit checks and publishes the stage, with all locks held. If it fails, it changes nothing.
func (w *staged) commit(op string, opts pfs.CommitOptions) (pfs.Info, error) {
	s, st := w.fs, w.st
	dir, old, err := s.place(op, w.name)
	if err != nil {
		return pfs.Info{}, err
	}
	if err := w.checkKept(op); err != nil {
		return pfs.Info{}, err
	}
	if dir != st.dir {
		return pfs.Info{}, pfs.Errorf(op, w.name, pfs.Conflict, "%s is another directory now", w.name.Parent())
	}
	if st.size < opts.Size || opts.Size == 0 {
		if old.wasMadeBy(st.key.id) && old.data.size == opts.Size {
			return old.info(w.name.Base()), nil // a repeated Commit
		}
	}
	if st.size < opts.Size {
		return pfs.Info{}, pfs.Errorf(op, w.name, pfs.Integrity, "%d of %d bytes were staged", st.size, opts.Size)
	}
	return s.publish(op, w.name, st.data.resized(opts.Size), st.key.id, opts)
}

// publish makes data the file name and replaces an existing one. NoReplace does not protect the
// file of the same upload, so that Commit can be repeated.
func (s *FS) publish(op string, name pfs.Path, data content, id string, opts pfs.CommitOptions) (pfs.Info, error) {
	dir, old, err := s.place(op, name)
	if err != nil {
		return pfs.Info{}, err
	}
	if old != nil && opts.NoReplace && !old.wasMadeBy(id) {
		return pfs.Info{}, pfs.E(op, name, pfs.Exist, nil)
	}
	n := &node{
		mode: opts.Perm(), mtime: mtimeOr(opts.ModTime), atime: now(), owner: s.owner,
		data: data, version: s.tick(), digest: opts.Digest, madeBy: id,
	}
	if err := s.link(op, name, dir, n); err != nil {
		return pfs.Info{}, err
	}
	return n.info(name.Base()), nil
}
