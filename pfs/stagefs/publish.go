package stagefs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// upload publishes the staged content, if it differs from the store. The caller holds the semaphore.
// closing tells that the writers are done.
func (fl *file) upload(ctx context.Context, closing bool) error {
	s, name := fl.stage, fl.fs.nameOf(fl)
	if !s.dirty || name == "" {
		return nil
	}
	if closing && s.State != pending {
		err := s.data.Sync() // without mu: readers do not wait for the disk
		if err == nil {
			fl.mu.Lock()
			err = s.setState(pending)
			fl.mu.Unlock()
		}
		if err != nil {
			return localError("stagefs.upload", name, err)
		}
	}
	info, err := fl.publish(ctx, name, fl.handles > 0)
	if to := fl.fs.nameOf(fl); err != nil && to != name { // a directory was moved
		return fl.upload(ctx, closing)
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	s.err = err
	if err != nil {
		return err
	}
	fl.fs.ids.show(info.ID, s.Shown)
	s.Base = info
	s.removeRecord()
	if fl.handles == 0 {
		s.drop()
		fl.setStage(nil)
	}
	return nil
}

// publish replaces the file name on the store. Unless insist is set, only the version from which the
// staged content was made is replaced.
func (fl *file) publish(ctx context.Context, name pfs.Path, insist bool) (info pfs.Info, err error) {
	const op = "stagefs.upload"
	f, s := fl.fs, fl.stage
	now, err := f.below.Stat(ctx, name)
	switch {
	case pfs.KindOf(err) == pfs.NotExist:
		return info, pfs.Errorf(op, name, pfs.Stale, "others have removed it; what was written is kept in %s", s.file(dataSuffix))
	case err != nil:
		return info, err
	case !now.IsRegular():
		return info, pfs.Errorf(op, name, pfs.Conflict, "it is not a file any more; what was written is kept in %s", s.file(dataSuffix))
	case now.Version != s.Base.Version:
		same, err := s.equals(ctx, name, now)
		switch {
		case err != nil || same:
			return now, err // an earlier upload had ended, without an answer
		case !insist:
			return info, pfs.Errorf(op, name, pfs.Conflict, "others have changed it; what was written is kept in %s", s.file(dataSuffix))
		}
		f.opts.Logger.Warn("a file replaces what others have written since it was opened", "path", name, "theirs", now.ModTime)
	}
	attrs, err := xattrs(ctx, f.below, name)
	if err != nil {
		return info, err
	}
	fl.mu.Lock()
	s.Base = now
	fl.mu.Unlock()
	if info, err = fl.replace(ctx, name, now); err != nil {
		return info, err
	}
	changed, err := f.restore(ctx, name, now, info, attrs)
	if err != nil { // the content is published
		f.opts.Logger.Warn("an uploaded file has lost some of its attributes", "path", name, "error", err)
	}
	if !changed {
		return info, nil
	}
	if again, err := f.below.Stat(ctx, name); err == nil {
		info = again
	}
	return info, nil
}

// replace replaces the file name, now on the store, by the staged content. A small file needs fewer requests.
func (fl *file) replace(ctx context.Context, name pfs.Path, now pfs.Info) (info pfs.Info, err error) {
	f, s := fl.fs, fl.stage
	if s.size <= pfs.ChunkSize {
		data := make([]byte, s.size)
		if _, err := s.read("stagefs.upload", name, data, 0); err != nil {
			return info, err
		}
		entry := pfs.BatchEntry{Path: name, Mode: now.Mode.Perm(), ModTime: s.MTime, Data: data}
		if entry.Digest, err = s.digest(ctx, name); err != nil {
			return info, err
		}
		if err := pfs.WriteBatch(ctx, f.below, []pfs.BatchEntry{entry})[0]; err != nil {
			return info, err
		}
		return f.below.Stat(ctx, name)
	}
	j, err := transfer.New(transfer.Options{Pool: f.pool})
	if err != nil {
		return info, err
	}
	// The staged content is what f has under this name.
	return j.CopyFile(ctx, transfer.End{FS: f, Path: name}, transfer.End{FS: f.below, Path: name}, pfs.CopyOptions{ID: s.version()}, nil)
}

// equals reports whether the content is that of the file on the store.
func (s *stage) equals(ctx context.Context, name pfs.Path, now pfs.Info) (bool, error) {
	if now.Size != s.size {
		return false, nil
	}
	theirs, err := digest.Stored(ctx, s.fs.below, name, digest.XXH3, nil)
	if err != nil {
		return false, err
	}
	ours, err := s.digest(ctx, name)
	return ours == theirs, err
}

// digest returns the digest of the content.
func (s *stage) digest(ctx context.Context, name pfs.Path) (string, error) {
	read := func(p []byte, off int64) error {
		_, err := s.read("stagefs.upload", name, p, off)
		return err
	}
	return digest.Of(ctx, read, s.size, digest.XXH3, 1, nil)
}

// xattrs returns the extended attributes of the file name, if the store keeps any.
func xattrs(ctx context.Context, fsys pfs.FileSystem, name pfs.Path) (map[string][]byte, error) {
	names, err := pfs.XattrsOf(fsys).ListXattr(ctx, name)
	if err != nil {
		if pfs.KindOf(err) == pfs.Unsupported {
			err = nil
		}
		return nil, err
	}
	attrs := map[string][]byte{}
	for _, attr := range names {
		if attrs[attr], err = pfs.XattrsOf(fsys).Xattr(ctx, name, attr); err != nil {
			return nil, err
		}
	}
	return attrs, nil
}

// restore gives an uploaded file, info, the attributes of the one that it has replaced.
func (f *FS) restore(ctx context.Context, name pfs.Path, old, info pfs.Info, attrs map[string][]byte) (changed bool, err error) {
	set := func(mask pfs.AttrMask, values pfs.Attrs) {
		changed = true
		err = errors.Join(err, pfs.SetAttr(ctx, f.below, name, mask, values))
	}
	for attr, value := range attrs {
		changed = true
		err = errors.Join(err, pfs.XattrsOf(f.below).SetXattr(ctx, name, attr, value, 0))
	}
	if old.Owner != "" && (old.Owner != info.Owner || old.Group != info.Group) {
		set(pfs.AttrOwner|pfs.AttrGroup, pfs.Attrs{Owner: old.Owner, Group: old.Group})
	}
	if old.Replication > 0 && old.Replication != info.Replication {
		set(pfs.AttrReplication, pfs.Attrs{Replication: old.Replication})
	}
	if old.Mode.Perm() != info.Mode.Perm() {
		set(pfs.AttrMode, pfs.Attrs{Mode: old.Mode.Perm()})
	}
	return changed, err
}

// uploadAll uploads the staged files that choose selects, and returns all errors.
func (f *FS) uploadAll(ctx context.Context, choose func(s *stage) bool) error {
	var errs []error
	for _, fl := range f.acquireAll() {
		errs = append(errs, fl.uploadIf(ctx, choose))
		f.release(fl)
	}
	return errors.Join(errs...)
}

func (fl *file) uploadIf(ctx context.Context, choose func(s *stage) bool) error {
	fl.mu.RLock()
	skip := fl.stage == nil && !fl.unsynced || fl.stage != nil && !(fl.stage.dirty && choose(fl.stage))
	fl.mu.RUnlock()
	if skip {
		return nil
	}
	if err := fl.lock(ctx); err != nil {
		return err
	}
	defer fl.unlock()
	return fl.sync(ctx, false)
}

// Flush uploads all files that differ from the store, including open ones, and returns the errors of
// failed uploads.
func (f *FS) Flush(ctx context.Context) error {
	return f.uploadAll(ctx, func(*stage) bool { return true })
}

// Status describes a staged file that differs from the store.
type Status struct {
	Path   pfs.Path  `json:"path"`
	State  string    `json:"state"` // open, pending or incomplete
	Bytes  int64     `json:"bytes"`
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitempty"` // why it could not be uploaded
	ID     string    `json:"id"`
	Data   string    `json:"data"` // the local file with its content
}

// Status returns the staged files that differ from the store, the oldest first.
func (f *FS) Status() []Status {
	all := []Status{}
	add := func(s *stage) {
		st := Status{Path: s.Path, State: string(s.State), Bytes: s.size, Since: s.Since, ID: s.id, Data: s.file(dataSuffix)}
		if s.err != nil {
			st.Reason = s.err.Error()
		}
		all = append(all, st)
	}
	for _, fl := range f.acquireAll() {
		fl.mu.RLock()
		if fl.stage != nil && fl.stage.dirty && !fl.stage.apart {
			add(fl.stage)
		}
		fl.mu.RUnlock()
		f.release(fl)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.incomplete {
		add(s)
	}
	slices.SortFunc(all, func(a, b Status) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Publish uploads the incomplete or pending file with that ID, in place of what the store has now.
func (f *FS) Publish(ctx context.Context, id string) error {
	const op = "stagefs.Publish"
	name, s, err := f.left(op, id)
	if err != nil {
		return err
	}
	return f.with(ctx, op, func(files []*file) error {
		fl := files[0]
		if fl.handles > 0 || fl.stage != nil && fl.stage != s {
			return pfs.Errorf(op, name, pfs.Conflict, "the file is in use: close it first")
		}
		now, err := f.below.Stat(ctx, name)
		if pfs.KindOf(err) == pfs.NotExist {
			if err = pfs.WriteBatch(ctx, f.below, []pfs.BatchEntry{{Path: name, Mode: s.Base.Mode}})[0]; err == nil {
				now, err = f.below.Stat(ctx, name)
			}
		}
		if err != nil {
			return err
		}
		fl.mu.Lock()
		s.Base = now
		if err = s.data.Sync(); err == nil {
			err = s.setState(pending)
		}
		fl.setStage(s)
		fl.mu.Unlock()
		f.take(s)
		if err != nil {
			return localError(op, name, err)
		}
		return fl.upload(ctx, true)
	}, name)
}

// Discard removes the incomplete or pending file with that ID.
func (f *FS) Discard(ctx context.Context, id string) error {
	const op = "stagefs.Discard"
	name, s, err := f.left(op, id)
	if err != nil {
		return err
	}
	return f.with(ctx, op, func(files []*file) error {
		switch fl := files[0]; {
		case fl.stage == s && fl.handles > 0:
			return pfs.Errorf(op, name, pfs.Conflict, "the file is in use: close it first")
		case fl.stage == s:
			fl.drop()
		default:
			f.take(s)
			s.drop()
		}
		return nil
	}, name)
}

// left returns the staged file with that ID.
func (f *FS) left(op, id string) (pfs.Path, *stage, error) {
	f.mu.Lock()
	for _, s := range f.incomplete {
		if s.id == id {
			defer f.mu.Unlock()
			return s.Path, s, nil
		}
	}
	f.mu.Unlock()
	var name pfs.Path
	var found *stage
	for _, fl := range f.acquireAll() {
		fl.mu.RLock()
		if s := fl.stage; s != nil && s.id == id && s.dirty && !s.apart {
			name, found = s.Path, s
		}
		fl.mu.RUnlock()
		f.release(fl)
	}
	if found != nil {
		return name, found, nil
	}
	return "", nil, pfs.Errorf(op, "", pfs.NotExist, "no staged file has the ID %q", id)
}

// take takes s from the incomplete files.
func (f *FS) take(s *stage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.incomplete = slices.DeleteFunc(f.incomplete, func(other *stage) bool { return other == s })
}
