package sftpd

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

const (
	// maxAhead bounds the bytes of an upload that came before those in front of them, in memory. Clients that write
	// in parallel have no more under way.
	maxAhead = 4 << 20
	// maxUserAhead bounds those of a user in all uploads.
	maxUserAhead = 64 << 20
	// aheadCost is what is counted for each piece besides its bytes: its place in the map.
	aheadCost = 256
	// maxGap bounds the zeros that are written for bytes that never came.
	maxGap = 64 << 20
	// leaveWithin bounds the time of the work for a client that has left.
	leaveWithin = 10 * time.Second
)

// errRandom says that a client writes where uploads cannot be written.
var errRandom = errors.New("write at a random offset")

// upload is a file that is published whole when the client closes it. Its bytes reach the store, and the digest, in
// order, whatever the order in which they come.
type upload struct {
	u        *user
	in       *uploads
	name     pfs.Path
	can      pfs.Capabilities
	w        pfs.Staged
	tag      versionTag // of the file that it will replace
	exclude  bool       // it replaces nothing
	hash     *digest.Hash
	journal  *journal         // nil until there is something to note
	ahead    map[int64][]byte // by offset
	aheadLen int
	id       uint64 // of the published file; 0 if the store has no IDs
	failed   error  // of the write at the end of the bytes in order: until it is repeated, what follows would be at a wrong place

	mu    sync.Mutex // guards what follows, which other sessions look at
	size  int64      // of the bytes in order
	mode  fs.FileMode
	time  time.Time // of the last write, or as the client has set it
	isSet bool      // the client has set the time
}

// uploads are the open uploads of a Server, so that their user sees them.
type uploads struct {
	mu  sync.Mutex
	all map[uploadKey]*upload

	ahead *shares // bytes of uploads that came before those in front of them
}

type uploadKey struct {
	user string
	name pfs.Path
}

func newUploads() *uploads {
	return &uploads{all: map[uploadKey]*upload{}, ahead: newShares(maxUserAhead)}
}

// of returns the open upload of name by u; nil if there is none.
func (l *uploads) of(u *user, name pfs.Path) *upload {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[uploadKey{u.User().Name, name}]
}

func (l *uploads) add(up *upload) *upload {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[uploadKey{up.u.User().Name, up.name}] = up
	return up
}

func (l *uploads) remove(up *upload) {
	for off := range up.ahead {
		up.drop(off)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if key := (uploadKey{up.u.User().Name, up.name}); l.all[key] == up {
		delete(l.all, key)
	}
}

// begin begins an upload that will replace the file old, in place of an interrupted one.
func (l *uploads) begin(ctx context.Context, u *user, name pfs.Path, old pfs.Info, can pfs.Capabilities, mode fs.FileMode, exclude bool) (*upload, error) {
	up := &upload{u: u, in: l, name: name, can: can, tag: tagOf(old), exclude: exclude, mode: mode, time: time.Now(), ahead: map[int64][]byte{}}
	up.hash, _ = digest.NewHash(digest.XXH3, digest.Unknown)
	err := u.Do(ctx, "create", func(ctx context.Context) (err error) {
		if resumable(can) && l.of(u, name) == nil {
			discardRecord(ctx, u, name)
		}
		up.w, err = u.FS().Create(ctx, name, pfs.CreateOptions{ID: pfs.NewID()})
		return err
	})
	if err != nil {
		return nil, err
	}
	return l.add(up), nil
}

// info describes the upload as its user sees it.
func (up *upload) info() pfs.Info {
	up.mu.Lock()
	defer up.mu.Unlock()
	id := up.u.User()
	return pfs.Info{Name: up.name.Base(), Size: up.size, Mode: up.mode, ModTime: up.time, UID: uint32(id.UID), GID: uint32(id.GID), Links: 1}
}

func (up *upload) length() int64 {
	up.mu.Lock()
	defer up.mu.Unlock()
	return up.size
}

// set sets the attributes with which the file is published.
func (up *upload) set(a attributes) {
	up.mu.Lock()
	defer up.mu.Unlock()
	if a.flags&attrMode != 0 {
		up.mode = a.mode.Perm()
	}
	if a.flags&attrTimes != 0 {
		up.time, up.isSet = a.time, true
	}
}

func (up *upload) readAt(ctx context.Context, p []byte, off int64) (int, error) {
	n := max(0, min(int64(len(p)), up.length()-off))
	if n == 0 {
		return 0, io.EOF
	}
	return gateway.ReadAt(ctx, up.u, up.w, p[:n], off)
}

// write takes bytes at off. It keeps those that come before their turn, and answers errRandom where an upload
// cannot go on. After an error it takes only those at which it failed.
func (up *upload) write(ctx context.Context, p []byte, off int64) error {
	if up.failed != nil && off != up.length() {
		return up.failed
	}
	err := up.place(ctx, p, off)
	if err != errRandom {
		up.failed = err
	}
	return err
}

func (up *upload) place(ctx context.Context, p []byte, off int64) error {
	size := up.length()
	switch {
	case len(p) == 0:
		return nil
	case off < size || off-size > maxGap || up.overlaps(len(p), off):
		return errRandom
	case off > size:
		if up.keep(p, off) {
			return nil
		}
		if err := up.fill(ctx); err != nil {
			return err
		}
		if off < up.length() {
			return errRandom
		}
		if err := up.pad(ctx, off); err != nil {
			return err
		}
	}
	if err := up.append(ctx, p); err != nil {
		return err
	}
	return up.catchUp(ctx)
}

// overlaps reports whether some of the n bytes at off came ahead. The pieces that are kept do not overlap each other, so their order
// does not matter.
func (up *upload) overlaps(n int, off int64) bool {
	for at, p := range up.ahead {
		if at < off+int64(n) && off < at+int64(len(p)) {
			return true
		}
	}
	return false
}

// keep keeps bytes that come before their turn, unless they are too many.
func (up *upload) keep(p []byte, off int64) bool {
	cost := len(p) + aheadCost
	if up.aheadLen+cost > maxAhead || !up.in.ahead.take(up.u.User().Name, cost) {
		return false
	}
	up.ahead[off] = slices.Clone(p)
	up.aheadLen += cost
	return true
}

// catchUp appends bytes that came early and are now next.
func (up *upload) catchUp(ctx context.Context) error {
	for {
		off := up.length()
		p, ok := up.ahead[off]
		if !ok {
			return nil
		}
		up.drop(off)
		if err := up.append(ctx, p); err != nil {
			up.failed = err // the client still has the bytes
			return err
		}
	}
}

func (up *upload) drop(off int64) {
	cost := len(up.ahead[off]) + aheadCost
	delete(up.ahead, off)
	up.aheadLen -= cost
	up.in.ahead.leave(up.u.User().Name, cost)
}

// fill closes the gap before the first bytes that came ahead with zeros, which is what a file has there.
func (up *upload) fill(ctx context.Context) error {
	if up.failed != nil {
		return up.failed
	}
	for len(up.ahead) > 0 {
		first := int64(-1)
		for off := range up.ahead {
			if first < 0 || off < first {
				first = off
			}
		}
		if err := up.pad(ctx, first); err != nil {
			return err
		}
		if err := up.catchUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pad appends zeros up to the offset off.
func (up *upload) pad(ctx context.Context, off int64) error {
	zeros := make([]byte, min(off-up.length(), gateway.Step))
	for off > up.length() {
		if err := up.append(ctx, zeros[:min(int64(len(zeros)), off-up.length())]); err != nil {
			return err
		}
	}
	return nil
}

// append writes the next bytes to the store, and notes the digests of leaves that are complete.
func (up *upload) append(ctx context.Context, p []byte) error {
	err := up.u.Do(ctx, "write", func(ctx context.Context) error {
		return pfs.InTurn(ctx, func() error {
			if _, err := up.w.WriteAt(ctx, p, up.length()); err != nil {
				return err // some of p may be staged: it is written again at the same place
			}
			_, _ = up.hash.Write(p)
			return nil
		})
	})
	if err != nil {
		return err
	}
	n := len(p)
	up.u.Moved(int64(n), 0)
	up.mu.Lock()
	up.size += int64(n)
	if !up.isSet {
		up.time = time.Now()
	}
	size := up.size
	up.mu.Unlock()
	if resumable(up.can) && size/pfs.ChunkSize > (size-int64(n))/pfs.ChunkSize {
		up.note(ctx, size/pfs.ChunkSize*pfs.ChunkSize)
	}
	return nil
}

// note records the digests of the first size bytes. Without them the upload is correct, but cannot be continued.
func (up *upload) note(ctx context.Context, size int64) {
	_ = up.u.Do(ctx, "note", func(ctx context.Context) error { return up.noteNow(ctx, size) })
}

func (up *upload) noteNow(ctx context.Context, size int64) (err error) {
	if up.journal == nil {
		if up.journal, err = newJournal(ctx, up); err != nil {
			return err
		}
	}
	return up.journal.add(ctx, up.hash, size)
}

// publish gives the file its name.
func (up *upload) publish(ctx context.Context) error {
	if err := up.fill(ctx); err != nil {
		return err
	}
	up.mu.Lock()
	opts := pfs.CommitOptions{Size: up.size, Mode: up.mode, Digest: up.hash.Sum(), NoReplace: up.exclude}
	if up.isSet {
		opts.ModTime = up.time
	}
	up.mu.Unlock()
	err := up.u.Change(ctx, "put", func(ctx context.Context) error {
		info, err := gateway.Commit(ctx, up.u.FS(), up.name, up.w, opts)
		if up.id = info.ID; err == nil {
			_ = up.w.Close(ctx)
			if up.journal != nil {
				_ = up.journal.w.Close(ctx)
			}
		}
		return err
	}, "path", up.name, "bytes", opts.Size, "digest", opts.Digest)
	if err == nil {
		up.in.remove(up)
	}
	return err
}

// abandon keeps the staged bytes, so that the client can continue. The client has left, so abandon takes no turns.
func (up *upload) abandon() {
	defer up.in.remove(up)
	ctx, cancel := context.WithTimeout(context.Background(), leaveWithin)
	defer cancel()
	if size := up.length(); size > 0 && resumable(up.can) && up.noteNow(ctx, size) == nil {
		_ = up.w.Suspend(ctx)
		_ = up.journal.w.Suspend(ctx)
		return
	}
	up.discard()
}

// discard removes the staged bytes.
func (up *upload) discard() {
	defer up.in.remove(up)
	ctx, cancel := context.WithTimeout(context.Background(), leaveWithin)
	defer cancel()
	if up.journal != nil {
		_ = up.journal.w.Close(ctx)
	}
	_ = up.w.Close(ctx)
}
