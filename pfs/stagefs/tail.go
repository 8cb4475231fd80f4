package stagefs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// errTaken is the reason why a tail is given up.
var errTaken = errors.New("others have replaced or changed the file")

// The pauses between attempts to complete a tail: a minute in all.
const firstPause, lastPause = 100 * time.Millisecond, 30 * time.Second

// retain adds p, which is about to be written at off, to the tail of the file. It reports whether p
// survives this process.
func (fl *file) retain(ctx context.Context, op string, p []byte, off int64) bool {
	name := fl.fs.nameOf(fl)
	if name == "" {
		return false
	}
	if fl.tail == nil {
		t, err := fl.newTail(ctx, name, off)
		if err != nil {
			fl.fs.opts.Logger.Warn("a file is written slowly, because no local file can keep what is not synced", "path", name, "error", err)
			return false
		}
		fl.setTail(t)
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	t := fl.tail
	if t.length() == 0 {
		t.From = off
	}
	if off != t.From+t.length() {
		return false
	}
	if _, err := t.put(op, name, p, t.size); err != nil {
		t.size = tailHead + off - t.From
		return false
	}
	return t.writeHead() == nil
}

// newTail returns an empty tail from the offset off.
func (fl *file) newTail(ctx context.Context, name pfs.Path, off int64) (*stage, error) {
	if fl.id == 0 || fl.unsynced {
		if err := fl.sync(ctx, false); err != nil {
			return nil, err
		}
		info, err := fl.store.Stat(ctx)
		if err != nil {
			return nil, err
		}
		fl.id, fl.block = info.ID, info.BlockSize
	}
	t, err := fl.fs.newStage(name, pfs.Info{ID: fl.id})
	if err != nil {
		return nil, err
	}
	t.Handle, t.Rights, t.dirty = fl.handle, fl.rights, true
	t.cut(off, 0)
	if err := t.setState(streaming); err != nil {
		t.drop()
		return nil, err
	}
	return t, nil
}

// The content of a tail is behind a head: where it begins in the file, and its length. So its space is used again
// after a sync.
const tailHead = 4096

// length returns the length of the tail s.
func (s *stage) length() int64 { return s.size - tailHead }

// cut makes the tail s one from the offset from on, of which it has the first n bytes.
func (s *stage) cut(from, n int64) {
	s.From, s.size = from, tailHead+n
	_ = s.writeHead() // an old head has bytes that are synced, or that the program will write again
}

func (s *stage) writeHead() error {
	head := binary.LittleEndian.AppendUint64(nil, uint64(s.From))
	_, err := s.data.WriteAt(binary.LittleEndian.AppendUint64(head, uint64(s.length())), 0)
	return err
}

// readHead reads what another process has written.
func (s *stage) readHead() error {
	var head [16]byte
	_, err := s.data.ReadAt(head[:], 0)
	s.From, s.size = int64(binary.LittleEndian.Uint64(head[:])), tailHead+int64(binary.LittleEndian.Uint64(head[8:]))
	return err
}

// setTail sets the tail and drops the one before.
func (fl *file) setTail(t *stage) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.tail != nil {
		fl.tail.drop()
	}
	fl.tail = t
}

// stream writes p to the store at off.
func (fl *file) stream(ctx context.Context, op string, p []byte, off int64) (n int, err error) {
	if fl.block > 0 {
		if room := fl.block - off%fl.block; room < int64(len(p)) {
			if n, err = fl.stream(ctx, op, p[:room], off); err != nil {
				return n, err
			}
			m, err := fl.stream(ctx, op, p[room:], off+room)
			return n + m, err
		}
	}
	kept := fl.retain(ctx, op, p, off)
	n, err = fl.store.WriteAt(ctx, p, off)
	if n > 0 {
		fl.setEnd(off+int64(n), true)
	}
	if kept && pfs.KindOf(err) == pfs.Stale && fl.revive(ctx) == nil {
		return len(p), nil
	}
	if kept && n < len(p) {
		fl.mu.Lock()
		fl.tail.cut(fl.tail.From, off+int64(n)-fl.tail.From)
		fl.mu.Unlock()
	}
	if err == nil && (!kept || rules.SyncDue(fl.tail.length(), off+int64(n), fl.block)) {
		if err = fl.sync(ctx, false); err != nil {
			return 0, err
		}
	}
	return n, err
}

// revive opens the file on the store again after its handle was lost, or its process has died. It writes the missing
// bytes of the tail.
func (fl *file) revive(ctx context.Context) error {
	const op = "stagefs.revive"
	t, name, lost := fl.tail, fl.fs.nameOf(fl), fl.store
	id := t.Handle
	if lost != nil || id == "" {
		id = pfs.NewID()
	}
	var store pfs.Handle
	for pause := firstPause; ; pause *= 2 {
		ctx := pfs.WithHandleID(ctx, pfs.HandleID{ID: id, File: t.Base.ID, Continue: true})
		rights := t.Rights | pfs.OpenRead
		var err error
		if store, err = pfs.OpenHandle(ctx, fl.fs.below, name, rights, 0); pfs.KindOf(err) == pfs.Permission {
			rights = t.Rights
			store, err = pfs.OpenHandle(ctx, fl.fs.below, name, rights, 0)
		}
		if err != nil {
			return err
		}
		if err = t.complete(ctx, op, name, store, rights); err == nil {
			break
		}
		_ = store.Close(ctx)
		// HDFS may be making replicas of the last block, and takes nothing more until it has them.
		if pfs.KindOf(err) != pfs.Stale || errors.Is(err, errTaken) || pause > lastPause {
			return err
		}
		fl.fs.opts.Logger.Debug("the store does not take the bytes yet that it has lost", "path", name, "error", err)
		id = pfs.NewID()
		if retry.Sleep(ctx, pause) != nil {
			return pfs.CheckContext(ctx, op, name)
		}
	}
	if lost != nil {
		_ = lost.Close(ctx)
		fl.fs.opts.Logger.Warn("the store has lost what was not synced of a file, and was sent it again", "path", name, "bytes", t.length())
	}
	fl.store, fl.rights, fl.handle = store, t.Rights, id
	fl.setEnd(t.From+t.length(), true)
	return nil
}

// giveUp drops the tail of a process that has died unless it may be completed later.
func (fl *file) giveUp(ctx context.Context, err error) {
	switch pfs.KindOf(err) {
	case pfs.NotExist, pfs.NotDir, pfs.IsDir, pfs.Stale, pfs.Unsupported, pfs.Permission:
		fl.fs.opts.Logger.Error("what was not synced of a file is lost", "path", fl.fs.nameOf(fl), "bytes", fl.tail.length(), "error", err)
		fl.setTail(nil)
		fl.setEnd(-1, false)
		fl.resumeDone(ctx)
	}
}

// complete writes the bytes of the tail s that the store lacks. Bytes that the store has must be equal. They were not synced, so
// some may be damaged. If a range of them cannot be read, complete removes it and all bytes behind it, and writes them again.
func (s *stage) complete(ctx context.Context, op string, name pfs.Path, store pfs.Handle, rights pfs.OpenFlags) error {
	info, err := store.Stat(ctx)
	if err != nil {
		return err
	}
	if info.ID != s.Base.ID {
		return pfs.Errorf(op, name, pfs.Stale, "%d bytes that were not synced are lost: %w", s.length(), errTaken)
	}
	if info.Size < s.From {
		return pfs.Errorf(op, name, pfs.Stale, "%d bytes that were not synced are lost, because it has %d bytes and not %d: %w", s.length(), info.Size, s.From, errTaken)
	}
	ours, theirs := make([]byte, min(s.length(), pfs.ChunkSize)), []byte(nil)
	for at := int64(0); at < s.length(); at += int64(len(ours)) {
		ours = ours[:min(s.length()-at, pfs.ChunkSize)]
		if _, err := s.read(op, name, ours, tailHead+at); err != nil {
			return err
		}
		there := max(0, min(info.Size-s.From-at, int64(len(ours))))
		if there > 0 {
			theirs = append(theirs[:0], ours[:there]...)
			err := error(pfs.Permission)
			if rights&pfs.OpenRead != 0 {
				_, err = store.ReadAt(ctx, theirs, s.From+at)
			}
			switch {
			case err != nil:
				if err := pfs.CheckContext(ctx, op, name); err != nil {
					return err
				}
				if err := store.Truncate(ctx, s.From+at); err != nil {
					return err
				}
				info.Size, there = s.From+at, 0
			case !bytes.Equal(theirs, ours[:there]):
				return pfs.Errorf(op, name, pfs.Stale, "%d bytes that were not synced are lost: %w", s.length(), errTaken)
			}
		}
		if _, err := store.WriteAt(ctx, ours[there:], s.From+at+there); err != nil {
			return err
		}
	}
	return nil
}

// resumeTail takes over the tail of a process that has died. It is completed when the file is used, or soon.
func (f *FS) resumeTail(s *stage) {
	fl := f.newFile(s.Path)
	fl.tail, fl.unsynced, fl.end = s, true, s.From+s.length()
	fl.users, fl.resumed = 1, true
	f.files[s.Path] = fl
}

// resumeDone closes the file of resumeTail on the store, unless a handle was continued meanwhile.
func (fl *file) resumeDone(ctx context.Context) {
	if fl.handles == 0 && fl.store != nil {
		_ = fl.store.Close(ctx) // everything is synced
		fl.store, fl.rights = nil, 0
		fl.setEnd(-1, false)
		fl.setTail(nil)
	}
	if fl.resumed {
		fl.resumed = false
		fl.fs.release(fl)
	}
}

// there returns how many bytes of p the store has at off already: a process that has died may have written them.
func (fl *file) there(ctx context.Context, p []byte, off int64) int {
	if fl.rights&pfs.OpenRead == 0 || fl.sync(ctx, false) != nil {
		return 0
	}
	have := make([]byte, len(p))
	n, _ := fl.store.ReadAt(ctx, have, off)
	if !bytes.Equal(have[:n], p[:n]) {
		return 0
	}
	return n
}

// resumeNameless takes over a file that has no name but handles, which may be continued.
func (f *FS) resumeNameless(s *stage) {
	fl := f.newFile("")
	s.apart = true
	fl.setStage(s)
	fl.unclaimed = s.Handles
	f.nameless[s.Shown] = fl
}

// continueNameless returns a handle of the nameless file with the ID that users know, or nil if there is none.
func (f *FS) continueNameless(ctx context.Context, id uint64, name pfs.Path, flags pfs.OpenFlags) (pfs.Handle, error) {
	f.mu.Lock()
	fl := f.nameless[id]
	f.mu.Unlock()
	if fl == nil {
		return nil, nil
	}
	if err := fl.lock(ctx); err != nil {
		return nil, err
	}
	defer fl.unlock()
	if fl.stage == nil { // the last one was closed
		return nil, nil
	}
	fl.unclaimed = max(0, fl.unclaimed-1)
	return fl.newHandle(name, flags), nil
}

// leave notes that a handle was closed and others are left.
func (fl *file) leave() {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.stage != nil && fl.stage.apart {
		fl.stage.hold(fl.handles + fl.unclaimed)
	}
}
