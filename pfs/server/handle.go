package server

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// lease is how long a handle stays open without a request.
const lease = time.Minute

// handles are the open handles of all users.
type handles struct {
	openCache[handleKey, *openHandle]
	most, share int

	places sync.Mutex
	taken  int                       // handles that are open or being opened
	own    map[string]int            // number of handles of each user
	last   map[handleKey]*openHandle // those whose closing has not succeeded
	failed []handleKey               // those in last whose closing failed, the oldest first
}

// handleKey names a handle. It includes the whole identity: after a change of its role, or of its
// accounts on the stores, a user cannot use handles that were opened with the old rights.
type handleKey struct {
	who   auth.Identity
	alias string // of the current datacenter
	id    string // the client's
}

// openHandle is a handle that is open here.
type openHandle struct {
	kept[handleKey]
	pfs.Handle
	name   pfs.Path
	closed chan struct{} // closed after Handle.Close, whose error is err
	err    error
}

func newHandles(most int, log *slog.Logger) *handles {
	hs := &handles{most: most, share: max(1, most/4), own: map[string]int{}, last: map[handleKey]*openHandle{}}
	hs.life = lease
	hs.close = func(h *openHandle) {
		h.err = pfs.Guard("server.closeHandle", h.name, func() error { return h.Close(context.Background()) })
		if h.err != nil {
			log.Warn("closing a handle failed", "user", h.key.who.Name, "path", h.name, "error", pfs.Detail(h.err))
		}
		hs.closedOne(h)
	}
	return hs
}

// opened notes that o is open under its key.
func (hs *handles) opened(o *openHandle) {
	hs.places.Lock()
	defer hs.places.Unlock()
	select {
	case <-o.closed: // already
	default:
		hs.last[o.key] = o
	}
}

// closedOne notes how the closing of o ended. Of the handles whose closing failed it keeps as many
// as may be open.
func (hs *handles) closedOne(o *openHandle) {
	hs.places.Lock()
	defer hs.places.Unlock()
	hs.giveBack(o.key.who.Name)
	close(o.closed)
	switch {
	case hs.last[o.key] != o:
	case o.err == nil:
		delete(hs.last, o.key)
	default:
		if hs.failed = append(hs.failed, o.key); len(hs.failed) > hs.most {
			delete(hs.last, hs.failed[0])
			hs.failed = hs.failed[1:]
		}
	}
}

// closing waits until the handle of key, which is not open, is closed, and returns the error. It
// may report lost writes: some stores write only at Sync and Close.
func (hs *handles) closing(ctx context.Context, key handleKey) error {
	hs.places.Lock()
	o := hs.last[key]
	hs.places.Unlock()
	if o == nil {
		return nil
	}
	select {
	case <-o.closed:
		return o.err
	case <-ctx.Done():
		return pfs.CheckContext(ctx, "server.closing", o.name)
	}
}

// reserve counts one more handle of the user.
func (hs *handles) reserve(name pfs.Path, user string) error {
	hs.places.Lock()
	defer hs.places.Unlock()
	switch {
	case hs.own[user] >= hs.share:
		return pfs.Errorf("server.reserve", name, pfs.Limit, "%d handles of yours are open: %w", hs.share, wire.ErrHeld)
	case hs.taken >= hs.most:
		return pfs.Errorf("server.reserve", name, pfs.Limit, "%d handles of all users are open, try again", hs.most)
	}
	hs.own[user]++
	hs.taken++
	return nil
}

// giveBack undoes reserve. hs.places is held.
func (hs *handles) giveBack(user string) {
	hs.taken--
	if hs.own[user]--; hs.own[user] == 0 {
		delete(hs.own, user)
	}
}

// handleKey names a handle of the request's user.
func (r *request) handleKey(id string) handleKey {
	return handleKey{r.id, r.Header.Get(wire.HeaderDatacenter), id}
}

// openHandle opens the file of q and keeps it open for its lease. The caller releases it.
func (s *Server) openHandle(ctx context.Context, r *request, q wire.Handle, flags pfs.OpenFlags, mode uint32) (*openHandle, error) {
	const op = "server.openHandle"
	name, err := pfs.ParsePath(q.Path)
	if err != nil {
		return nil, err
	}
	if !pfs.ValidID(q.ID) {
		return nil, pfs.Errorf(op, name, pfs.Invalid, "handle ID %.80q", q.ID)
	}
	if err := s.handles.reserve(name, r.id.Name); err != nil {
		return nil, err
	}
	var o *openHandle
	defer func() {
		if o == nil {
			s.handles.places.Lock()
			defer s.handles.places.Unlock()
			s.handles.giveBack(r.id.Name)
		}
	}()
	h, err := pfs.OpenHandle(ctx, r.tree, name, flags, wire.FileMode(mode).Perm())
	if err != nil {
		return nil, err
	}
	if err := isFile(ctx, h, q); err != nil {
		_ = h.Close(ctx)
		return nil, err
	}
	o = &openHandle{kept: kept[handleKey]{key: r.handleKey(q.ID)}, Handle: h, name: name, closed: make(chan struct{})}
	in := s.handles.install(o)
	s.handles.opened(in)
	return in, nil
}

// isFile answers Stale if h is not the file that q was opened for.
func isFile(ctx context.Context, h pfs.Handle, q wire.Handle) error {
	if q.File == 0 {
		return nil
	}
	info, err := h.Stat(ctx)
	if err == nil && info.ID != q.File {
		err = pfs.Errorf("server.isFile", pfs.Path(q.Path), pfs.Stale, "another file has the name now")
	}
	return err
}

// handle returns the handle of a request. If it is not open here, because this server was
// restarted, another replica opened it or its lease ended, handle opens it again by its name, if
// that still leads to the same file. The caller releases it.
func (s *Server) handle(ctx context.Context, r *request, q wire.Handle) (*openHandle, error) {
	const op = "server.handle"
	if o, ok := s.handles.find(r.handleKey(q.ID)); ok {
		return o, nil
	}
	if err := s.handles.closing(ctx, r.handleKey(q.ID)); err != nil {
		return nil, pfs.Errorf(op, pfs.Path(q.Path), pfs.Stale, "closing the handle failed, and writes may be lost: %w", err)
	}
	if q.File == 0 {
		return nil, pfs.Errorf(op, pfs.Path(q.Path), pfs.Stale, "the handle is not open any more, and the store has no file IDs to open it again")
	}
	flags := pfs.OpenFlags(q.Flags) &^ (pfs.OpenCreate | pfs.OpenExclusive | pfs.OpenTruncate)
	ctx = pfs.WithHandleID(ctx, pfs.HandleID{ID: q.ID, File: q.File, Continue: true}) // the store may have to end what another process did
	o, err := s.openHandle(ctx, r, q, flags, 0)
	switch pfs.KindOf(err) {
	case pfs.NotExist, pfs.NotDir, pfs.IsDir, pfs.Symlink, pfs.Invalid:
		err = pfs.Errorf(op, pfs.Path(q.Path), pfs.Stale, "the handle cannot be opened again: %w", err)
	}
	return o, err
}

// end removes o; its last user closes it.
func (hs *handles) end(o *openHandle) {
	hs.mu.Lock()
	hs.drop(o, nil)
	hs.mu.Unlock()
}

// handleFile is an open handle as a File for a chunk of length bytes at off.
type handleFile struct {
	s *Server
	*openHandle
	info pfs.Info
}

// handleFile returns the file of a requested chunk. A chunk of one buffer is read without asking
// for the length first.
func (s *Server) handleFile(ctx context.Context, r *request, q query) (pfs.File, error) {
	o, err := s.handle(ctx, r, q.handle)
	if err != nil {
		return nil, err
	}
	f := &handleFile{s: s, openHandle: o, info: pfs.Info{Name: o.name.Base(), Size: q.off + q.length}}
	if q.length > pieceSize {
		if f.info, err = o.Stat(ctx); err != nil {
			s.handles.release(o)
			return nil, err
		}
	}
	return f, nil
}

func (f *handleFile) Info() pfs.Info { return f.info }

func (f *handleFile) Close() error {
	f.s.handles.release(f.openHandle)
	return nil
}

// putWrite writes one chunk to a handle. It verifies the whole chunk first, because a change in
// place cannot be undone.
func (s *Server) putWrite(w http.ResponseWriter, r *request) error {
	end, err := s.writes.work.acquireFrom(r.Context(), r.id.Name, address(r.Request))
	if err == nil {
		end, err = s.prepare(r, end)
	}
	if err != nil {
		return err
	}
	defer end()
	q, name, err := parseQuery(r.Request)
	if err == nil {
		q.length, err = chunkLength(r.Request, name)
	}
	var data chunkData
	defer data.free()
	if err == nil {
		_, err = s.receive(w, r, q.length, data.add)
	}
	if err == nil {
		err = s.writeOnce(r, q, data)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// writeOnce writes data. A repeated request first waits for the first one, which could otherwise
// overwrite later writes. At an offset it then writes the same bytes again. An append is not
// repeated: the answer is the outcome of the first request or, if that is unknown, Stale.
func (s *Server) writeOnce(r *request, q query, data chunkData) error {
	const op = "server.write"
	ctx := r.Context()
	appends := pfs.OpenFlags(q.handle.Flags)&pfs.OpenAppend != 0
	do := func() outcome {
		if appends && q.again {
			return outcome{err: pfs.Errorf(op, pfs.Path(q.path), pfs.Stale, "the answer to an append was lost, and it is unknown whether it was written")}
		}
		err := s.writeHandle(ctx, r, q, data, appends)
		return outcome{err: err, fleeting: !appends}
	}
	id := r.Header.Get(wire.HeaderRequest)
	if !pfs.ValidID(id) {
		return do().err
	}
	return s.written.do(ctx, dedupKey{r.id.Name, "write", id}, do).err
}

// writeHandle writes data: at an offset in steps, an append in one.
func (s *Server) writeHandle(ctx context.Context, r *request, q query, data chunkData, appends bool) error {
	const op = "server.write"
	o, err := s.handle(ctx, r, q.handle)
	if err != nil {
		return err
	}
	defer s.handles.release(o)
	write := func(p []byte, off int64) error {
		return pfs.InTurn(ctx, func() error {
			_, err := o.WriteAt(ctx, p, off)
			return err
		})
	}
	if !appends {
		return data.each(func(p []byte, at int64) error { return write(p, q.off+at) })
	}
	if err := pfs.CheckContext(ctx, op, o.name); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // half an append cannot be repeated
	err = write(data.join(), q.off)
	if err != nil && !lasting(pfs.KindOf(err)) {
		return pfs.Errorf(op, o.name, pfs.Stale, "it is unknown how much was appended: %w", err)
	}
	return err
}

// chunkData is a chunk in buffers of pieces, so that no step of a request allocates a whole chunk.
type chunkData struct {
	buffers []*[pieceSize]byte
	size    int64
}

// add appends a copy of p, which fills a buffer unless it is the last.
func (d *chunkData) add(p []byte, _ int64) error {
	buf := pieces.Get().(*[pieceSize]byte)
	d.size += int64(copy(buf[:], p))
	d.buffers = append(d.buffers, buf)
	return nil
}

// each calls do with the bytes of each buffer and their offset in the chunk.
func (d chunkData) each(do func(p []byte, at int64) error) error {
	for i, buf := range d.buffers {
		at := int64(i) * pieceSize
		if err := do(buf[:min(d.size-at, pieceSize)], at); err != nil {
			return err
		}
	}
	return nil
}

// join returns the whole chunk.
func (d chunkData) join() []byte {
	all := make([]byte, 0, d.size)
	_ = d.each(func(p []byte, _ int64) error { // never fails
		all = append(all, p...)
		return nil
	})
	return all
}

// free returns the buffers to pieces.
func (d *chunkData) free() {
	for _, buf := range d.buffers {
		pieces.Put(buf)
	}
	d.buffers = nil
}
