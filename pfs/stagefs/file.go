package stagefs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

// file is a file that is open, staged, or part of a running operation.
type file struct {
	fs    *FS
	name  pfs.Path // guarded by FS.mu; empty once the name is gone
	users int      // guarded by FS.mu: handles and operations

	sem chan struct{} // its holder changes the file

	// Used by the holder of sem.
	handles   int
	unclaimed int           // handles of a process that has died, which may be continued; only of a file without a name
	store     pfs.Handle    // shared by all handles; nil if there is none, or the file is staged
	rights    pfs.OpenFlags // that store is open for
	handle    string        // the HandleID of store; may be empty
	id        uint64        // Info.ID on the store; 0 if it is not known
	block     int64         // Info.BlockSize on the store; 0 if it is not known
	resumed   bool          // the tail of another process was not completed yet

	staged atomic.Bool // stage is set; for those who must not wait for mu

	mu       sync.RWMutex // guards the following, which only the holder of sem changes
	stage    *stage       // nil unless the file is staged
	tail     *stage       // what was streamed and not synced; nil if there is nothing
	unsynced bool         // store has bytes that others cannot read yet
	end      int64        // where store writes next; -1 if that is not known
}

// eachRecord calls do with the stage and the tail, which have records.
func (fl *file) eachRecord(do func(s *stage)) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for _, s := range []*stage{fl.stage, fl.tail} {
		if s != nil {
			do(s)
		}
	}
}

// lock waits for exclusive use of the file.
func (fl *file) lock(ctx context.Context) error {
	select {
	case fl.sem <- struct{}{}:
		return nil
	case <-ctx.Done():
		return pfs.CheckContext(ctx, "stagefs.lock", fl.fs.nameOf(fl))
	}
}

func (fl *file) unlock() { <-fl.sem }

// open opens one more handle.
func (fl *file) open(ctx context.Context, flags pfs.OpenFlags, perm fs.FileMode) (*handle, error) {
	const op = "stagefs.OpenHandle"
	name := fl.fs.nameOf(fl)
	id, named := pfs.HandleIDOf(ctx)
	if named && id.Continue && fl.stage != nil && (id.File == 0 || id.File == fl.stage.Shown) {
		return fl.newHandle(name, flags), nil // it was opened before
	}
	if fl.unsynced { // a handle that is opened now could not read these bytes
		if err := fl.sync(ctx, false); err != nil {
			return nil, err
		}
	}
	if named && id.Continue && id.File != 0 {
		now, err := fl.fs.below.Stat(ctx, name)
		if err == nil && fl.fs.ids.shown(now.ID) != id.File {
			err = pfs.Errorf(op, name, pfs.Stale, "another file has this name now")
		}
		if err != nil {
			return nil, err
		}
		id.File = now.ID
		ctx = pfs.WithHandleID(ctx, id)
	}
	ask := flags&^pfs.OpenAppend | fl.rights
	if fl.stage != nil {
		ask &^= pfs.OpenTruncate
	}
	store, err := pfs.OpenHandle(ctx, fl.fs.below, name, ask, perm)
	if err != nil {
		return nil, err
	}
	if fl.handles > 0 && !(fl.stage != nil && fl.stage.dirty) {
		now, err := store.Stat(ctx)
		if err != nil {
			return nil, errors.Join(err, store.Close(ctx))
		}
		if !fl.is(ctx, now) { // others have replaced it on the store
			fl = fl.fs.supplant(fl, name)
			ask = flags &^ pfs.OpenAppend
		}
	}
	if fl.stage != nil {
		if err := store.Close(ctx); err != nil {
			return nil, err
		}
		if flags&pfs.OpenTruncate != 0 {
			if err := fl.truncate(ctx, op, 0); err != nil {
				return nil, err
			}
		}
		if id.Opened != nil {
			*id.Opened = pfs.Info{} // it is that of the store
		}
	} else {
		if fl.store != nil {
			_ = fl.store.Close(ctx) // everything is synced
		}
		fl.setTail(nil)
		fl.store, fl.rights, fl.handle, fl.id, fl.block = store, ask&(pfs.OpenRead|pfs.OpenWrite), id.ID, 0, 0
		if id.Opened != nil && id.Opened.Name != "" {
			fl.id, fl.block = id.Opened.ID, id.Opened.BlockSize
			id.Opened.ID = fl.fs.ids.shown(fl.id)
		}
		// A handle that is continued may have bytes of another process.
		fl.setEnd(-1, named && id.Continue && flags&pfs.OpenWrite != 0)
	}
	return fl.newHandle(name, flags), nil
}

// newHandle returns one more handle.
func (fl *file) newHandle(name pfs.Path, flags pfs.OpenFlags) *handle {
	fl.handles++
	fl.fs.mu.Lock()
	fl.users++
	fl.fs.mu.Unlock()
	h := &handle{f: fl, made: flags&pfs.OpenExclusive != 0}
	h.Name, h.Flags = name, flags
	return h
}

// is reports whether now describes the file.
func (fl *file) is(ctx context.Context, now pfs.Info) bool {
	var info pfs.Info
	switch {
	case fl.stage != nil:
		info = fl.stage.Base
	case fl.store != nil:
		var err error
		if info, err = fl.store.Stat(ctx); err != nil {
			return false
		}
	}
	return now.ID == info.ID
}

// supplant gives name to a new file, and takes it from fl.
func (f *FS) supplant(fl *file, name pfs.Path) *file {
	f.forget(fl)
	other := f.newFile(name)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[name] = other
	return other
}

// setEnd notes a write through the handle of the store.
func (fl *file) setEnd(end int64, unsynced bool) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.end, fl.unsynced = end, unsynced
}

// setStage sets the staged content. The caller holds mu.
func (fl *file) setStage(s *stage) {
	fl.stage, fl.unsynced = s, false
	fl.staged.Store(s != nil)
	if fl.tail != nil {
		fl.tail.drop()
		fl.tail = nil
	}
}

// sync sends all written bytes to the store.
func (fl *file) sync(ctx context.Context, closing bool) error {
	if fl.stage != nil {
		return fl.upload(ctx, closing)
	}
	if !fl.unsynced {
		return nil
	}
	var err error
	if fl.store == nil {
		if err = fl.revive(ctx); err != nil {
			fl.giveUp(ctx, err)
			return err
		}
	}
	if err = fl.store.Sync(ctx); pfs.KindOf(err) == pfs.Stale && fl.tail != nil && fl.revive(ctx) == nil {
		err = fl.store.Sync(ctx)
	}
	if err == nil {
		fl.mu.Lock()
		if fl.unsynced = false; fl.tail != nil {
			fl.tail.cut(max(0, fl.end), 0)
		}
		fl.mu.Unlock()
		fl.resumeDone(ctx)
	}
	return err
}

// keep stages the file if it is open, because it is about to lose its name. It writes a record, because this process may die
// once the name is gone. If the file cannot be staged, its handles depend on the store. The caller calls done after the
// operation, also after a failed one.
func (fl *file) keep(ctx context.Context) (done func()) {
	done = func() {}
	if fl.handles == 0 {
		return done
	}
	if fl.stage == nil {
		if err := fl.makeStage(ctx, -1); err != nil {
			fl.fs.opts.Logger.Warn("a file that is open loses its name, and cannot be kept for its readers", "path", fl.fs.nameOf(fl), "error", err)
			return done
		}
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	s, was := fl.stage, fl.stage.State
	s.hold(fl.handles)
	return func() {
		fl.mu.Lock()
		defer fl.mu.Unlock()
		if fl.stage == s && !s.apart { // it has its name
			s.keepName(was)
		}
	}
}

// makeStage fetches the content, or only its first n bytes, into a local file.
func (fl *file) makeStage(ctx context.Context, n int64) error {
	const op = "stagefs.stage"
	name := fl.fs.nameOf(fl)
	if err := fl.sync(ctx, false); err != nil {
		return err
	}
	info, err := fl.store.Stat(ctx)
	if err != nil {
		return err
	}
	if n < 0 || n > info.Size {
		n = info.Size
	}
	from := fl.store
	if fl.rights&pfs.OpenRead == 0 && n > 0 {
		if from, err = pfs.OpenHandle(ctx, fl.fs.below, name, pfs.OpenRead, 0); err != nil {
			return err
		}
		defer from.Close(ctx)
	}
	s, err := fl.fs.newStage(name, info)
	if err != nil {
		return err
	}
	for buf := make([]byte, min(n, pfs.ChunkSize)); s.size < n; {
		buf = buf[:min(n-s.size, pfs.ChunkSize)]
		got, err := from.ReadAt(ctx, buf, s.size)
		if got == 0 {
			if err == nil || err == io.EOF {
				err = pfs.Errorf(op, name, pfs.Conflict, "the file ends at byte %d of %d: it was changed while it was read", s.size, n)
			}
			s.drop()
			return err
		}
		if _, err := s.put(op, name, buf[:got], s.size); err != nil {
			s.drop()
			return err
		}
	}
	_ = fl.store.Close(ctx) // everything is synced
	fl.store, fl.rights = nil, 0
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.setStage(s)
	return nil
}

// write writes p at off, or at the end. made says that this program has made the file.
func (fl *file) write(ctx context.Context, op string, p []byte, off int64, atEnd, made bool) (int, error) {
	name := fl.fs.nameOf(fl)
	for try := 0; fl.stage == nil; try++ {
		if atEnd && fl.end < 0 {
			info, err := fl.store.Stat(ctx)
			if err != nil {
				return 0, err
			}
			fl.setEnd(info.Size, fl.unsynced)
		}
		if atEnd {
			off = fl.end
		}
		n, err := fl.stream(ctx, op, p, off)
		if err == nil || n > 0 {
			return n, err
		}
		switch kind := pfs.KindOf(err); {
		case kind == pfs.Unsupported && atEnd && try == 0: // others have appended
			if err := fl.sync(ctx, false); err != nil {
				return 0, err
			}
			fl.setEnd(-1, false)
			continue
		case kind == pfs.Unsupported && try == 0:
			if n := fl.there(ctx, p, off); n == len(p) {
				return n, nil
			} else if n > 0 {
				more, err := fl.write(ctx, op, p[n:], off+int64(n), false, made)
				return n + more, err
			}
		}
		switch kind := pfs.KindOf(err); {
		// Its mode forbids writing, except through the handle that created it.
		case kind == pfs.Unsupported, kind == pfs.Permission && made:
		default:
			return 0, err
		}
		if err := fl.makeStage(ctx, -1); err != nil {
			return 0, err
		}
	}
	if atEnd {
		off = fl.stage.size
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.stage.write(op, name, p, off)
}

// truncate sets the length of the file.
func (fl *file) truncate(ctx context.Context, op string, size int64) error {
	name := fl.fs.nameOf(fl)
	if fl.stage == nil {
		if info, err := fl.store.Stat(ctx); err != nil || info.Size == size {
			return err
		}
		if err := fl.makeStage(ctx, size); err != nil {
			return err
		}
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fl.stage.truncate(op, name, size)
}

// setAttr sets attributes of a file that is staged or open.
func (fl *file) setAttr(ctx context.Context, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "stagefs.SetAttr"
	rest := mask &^ pfs.AttrSize
	switch name := fl.fs.nameOf(fl); {
	case rest == 0:
	case fl.stage == nil:
		if err := fl.sync(ctx, false); err != nil {
			return err
		}
		if err := fl.store.SetAttr(ctx, rest, attrs); err != nil {
			return err
		}
	default:
		base := fl.stage.Base
		if name != "" {
			was, err := fl.fs.below.Stat(ctx, name)
			if err != nil {
				return err
			}
			if err := pfs.SetAttr(ctx, fl.fs.below, name, rest, attrs); err != nil {
				return err
			}
			version := base.Version
			if base, err = fl.fs.below.Stat(ctx, name); err != nil {
				return err
			}
			if was.Version != version { // others have changed it, which the upload must notice
				base.Version = version
			}
		} else if rest&pfs.AttrMode != 0 {
			base.Mode = attrs.Mode.Perm()
		}
		fl.mu.Lock()
		fl.stage.Base = base
		fl.mu.Unlock()
	}
	if mask&pfs.AttrSize != 0 {
		if err := fl.truncate(ctx, op, attrs.Size); err != nil {
			return err
		}
	}
	if fl.stage == nil {
		return nil
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if mask&pfs.AttrModTime != 0 {
		fl.stage.MTime = attrs.ModTime
	}
	return localError(op, fl.fs.nameOf(fl), fl.stage.update()) // or the next process would find a version that it does not know
}

// describe corrects the store's Info of the file.
func (fl *file) describe(info pfs.Info) pfs.Info {
	fl.mu.RLock()
	defer fl.mu.RUnlock()
	switch {
	case fl.stage != nil && fl.stage.dirty:
		return fl.stage.describe(info)
	case fl.unsynced:
		info.Size = max(info.Size, fl.end) // end may be -1
	}
	return info
}

// openStaged opens the staged content for reading if the file differs from the store.
func (fl *file) openStaged(ctx context.Context) (pfs.File, error) {
	name := fl.fs.nameOf(fl)
	fl.mu.RLock()
	defer fl.mu.RUnlock()
	if fl.stage == nil || !fl.stage.dirty {
		return nil, nil
	}
	if err := pfs.CheckContext(ctx, "stagefs.Open", name); err != nil {
		return nil, err
	}
	return fl.stage.open(fl, name)
}

// drop removes the staged content.
func (fl *file) drop() {
	fl.fs.mu.Lock()
	if shown := fl.stage.Shown; fl.fs.nameless[shown] == fl {
		delete(fl.fs.nameless, shown)
	}
	fl.fs.mu.Unlock()
	fl.stage.drop()
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.setStage(nil)
}
