package transfer

import (
	"context"
	"io"

	"github.com/paddlecloud/pfs/pfs"
)

// put begins to write the next chunk and takes ownership of p. If memory is short, it first
// releases the chunks that the stream keeps.
func (w *Writer) put(p []byte) error {
	if !w.j.pool.tryReserve() {
		err := w.rotate()
		if err == nil {
			err = w.awaitWindow()
		}
		if err == nil {
			err = w.j.pool.reserve(w.ctx)
		}
		if err != nil {
			return err
		}
	}
	w.send(p)
	if w.crowded != nil && w.crowded() {
		if err := w.rotate(); err != nil {
			return err
		}
		return w.awaitWindow()
	}
	if len(w.last) < halfWindow {
		return nil
	}
	return w.rotate()
}

// send begins to write the next chunk.
func (w *Writer) send(p []byte) {
	c := &streamChunk{p: p, off: w.length, done: make(chan struct{})}
	w.length += int64(len(p))
	if w.kept != nil && len(w.last) > 0 {
		c.before = w.last[0]
		w.last = nil
	}
	w.last = append(w.last, c)
	go func() {
		defer close(c.done)
		c.err = pfs.Guard("transfer.Writer", w.name, func() error { return w.writeFirst(c) })
		if c.err != nil {
			w.cancel(c.err)
		}
	}()
}

// writeFirst writes a chunk for the first time, and counts it.
func (w *Writer) writeFirst(c *streamChunk) error {
	if w.kept != nil {
		defer func() {
			w.note(window{c})
			w.j.pool.put(c.p)
			c.p, c.before = nil, nil
		}()
	}
	if c.before != nil {
		<-c.before.done
		if c.before.err != nil {
			return c.before.err
		}
	}
	release, err := w.j.slot(w.ctx)
	if err != nil {
		return err
	}
	defer release()
	c.sums = w.sums.leaf(c.p)
	if err := w.j.pay(w.ctx, len(c.p)); err != nil {
		return err
	}
	if w.kept != nil {
		err = w.append(c.p)
	} else {
		err = w.write(w.ctx, c)
	}
	if err != nil {
		return err
	}
	done := w.j.count.bytesDone.Add(int64(len(c.p)))
	w.j.emit(Event{Kind: Progress, Target: w.name, Size: -1, Bytes: done})
	return nil
}

// write writes a chunk to the upload as it is open now.
func (w *Writer) write(ctx context.Context, c *streamChunk) error {
	for {
		staged, generation := w.current()
		err := w.writeAt(ctx, staged, c.p, c.off)
		if err == nil {
			c.written = generation
			return nil
		}
		if err := w.repair(ctx, generation, c.off, err); err != nil {
			return err
		}
	}
}

func (w *Writer) writeAt(ctx context.Context, staged pfs.Staged, p []byte, off int64) error {
	return w.j.retry(ctx, w.name, func(ctx context.Context) error {
		_, err := staged.WriteAt(ctx, p, off)
		return err
	})
}

// append writes p at the end. A unit is durable before the next one begins.
func (w *Writer) append(p []byte) error {
	u := &w.unit
	for len(p) > 0 {
		if u.to-u.from == w.kept.size {
			if err := w.sync(w.ctx, nil); err != nil {
				return err
			}
			u.from = u.to
		}
		part := p[:min(int64(len(p)), u.from+w.kept.size-u.to)]
		w.kept.keep(part, u.to)
		err := w.secure(w.ctx, nil, func(staged pfs.Staged) error { return w.writeAt(w.ctx, staged, part, u.to) })
		if err != nil {
			return err
		}
		u.to += int64(len(part))
		p = p[len(part):]
	}
	return nil
}

// sync makes the written bytes durable.
func (w *Writer) sync(ctx context.Context, win window) error {
	err := w.secure(ctx, win, func(staged pfs.Staged) error {
		return w.j.retry(ctx, w.name, staged.Sync)
	})
	if err != nil {
		return err
	}
	w.opening <- struct{}{}
	w.durable = true
	<-w.opening
	w.gained(win.end())
	return nil
}

// secure calls do, which syncs, commits or extends the upload, until it succeeds while the target
// has the window and the unit. Before each call it sends bytes again that the target has lost.
func (w *Writer) secure(ctx context.Context, win window, do func(pfs.Staged) error) error {
	for {
		staged, generation := w.current()
		err := w.mend(ctx, win, staged, generation)
		if err == nil {
			err = do(staged)
		}
		if err == nil {
			if _, now := w.current(); now == generation {
				return nil
			}
			continue
		}
		if err := w.repair(ctx, generation, whole, err); err != nil {
			return err
		}
		for _, c := range win {
			c.written = 0
		}
		w.unit.written = 0
	}
}

// mend sends the bytes that this generation of the upload may lack.
func (w *Writer) mend(ctx context.Context, win window, staged pfs.Staged, generation int) error {
	for _, c := range win {
		if c.written != generation && c.p != nil {
			if err := w.write(ctx, c); err != nil {
				return err
			}
		}
	}
	u := &w.unit
	if w.kept == nil || u.written == generation {
		return nil
	}
	buf := make([]byte, min(u.to-u.from, pfs.ChunkSize))
	for off := u.from; off < u.to; off += int64(len(buf)) {
		p := buf[:min(int64(len(buf)), u.to-off)]
		if err := w.kept.read(p, off); err != nil {
			return err
		}
		if err := w.writeAt(ctx, staged, p, off); err != nil {
			return err
		}
	}
	u.written = generation
	return nil
}

// rotate begins to sync the last window, after the one before it is durable, and empties it.
func (w *Writer) rotate() error {
	if w.kept != nil {
		return nil
	}
	if err := w.awaitWindow(); err != nil || len(w.last) == 0 {
		return err
	}
	full, syncing := w.last, make(chan error, 1)
	w.last, w.syncing = nil, syncing
	go func() {
		err := pfs.Guard("transfer.Writer", w.name, func() error {
			if err := full.wait(); err != nil {
				return err
			}
			w.note(full)
			return w.sync(w.ctx, full)
		})
		if err != nil {
			w.cancel(err)
		}
		w.drop(full)
		syncing <- err
	}()
	return nil
}

// awaitWindow waits until the previous window is durable.
func (w *Writer) awaitWindow() error {
	if w.syncing == nil {
		return nil
	}
	err := <-w.syncing
	w.syncing = nil
	return err
}

// wait returns when every chunk was written or failed.
func (win window) wait() error {
	var first error
	for _, c := range win {
		<-c.done
		if first == nil {
			first = c.err
		}
	}
	return first
}

// end returns the offset behind the window.
func (win window) end() int64 {
	if len(win) == 0 {
		return 0
	}
	last := win[len(win)-1]
	return last.off + int64(len(last.p))
}

// drop gives back the memory of a window.
func (w *Writer) drop(win window) window {
	for _, c := range win {
		if c.p != nil {
			w.j.pool.put(c.p)
		}
	}
	return nil
}

// note keeps the hashes of a window.
func (w *Writer) note(win window) {
	for _, c := range win {
		w.sums.leaves = append(w.sums.leaves, c.sums)
	}
}

// FromReader writes r to its end to the file target, through a Writer. A stream that fails leaves
// nothing behind.
//
// If opts.Size or opts.Digest (XXH3) is set, a stream with another size or digest returns Integrity
// and is not published. If FromReader fails, a Read of r may still be in progress when it returns.
func (j *Job) FromReader(ctx context.Context, target End, r io.Reader, opts pfs.CommitOptions) (info pfs.Info, err error) {
	j.count.files.Add(1)
	length := int64(0)
	w, err := j.NewWriter(ctx, target, WriterOptions{Size: opts.Size})
	if err == nil {
		if err = w.failed(w.copy(r)); err == nil {
			info, err = w.Commit(opts)
		}
		length = w.length
		w.Close(ctx)
	}
	if err != nil {
		j.count.failed.Add(1)
		j.emit(Event{Kind: Failed, Target: target.Path, Size: -1, Bytes: length, Err: err})
		return pfs.Info{}, err
	}
	j.count.filesDone.Add(1)
	j.emit(Event{Kind: Done, Target: target.Path, Size: info.Size, Bytes: info.Size, Digest: info.Digest})
	return info, nil
}

// copy writes r to its end. The end of w's context cannot stop a Read of r, so Read runs in a
// separate goroutine.
func (w *Writer) copy(r io.Reader) error {
	type filled struct {
		p   []byte
		err error
	}
	chunks := make(chan filled)
	go func() {
		for c := (filled{}); c.err == nil; {
			c.p = w.j.pool.buffer()
			n := 0
			if err := pfs.Guard("transfer.FromReader", w.name, func() error {
				for n < len(c.p) && c.err == nil {
					var k int
					k, c.err = r.Read(c.p[n:])
					n += k
				}
				return nil
			}); err != nil {
				c.err = err
			}
			c.p = c.p[:n]
			select {
			case chunks <- c:
			case <-w.ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case c := <-chunks:
			if len(c.p) > 0 {
				w.j.count.bytes.Add(int64(len(c.p)))
				if err := w.put(c.p); err != nil {
					return err
				}
			}
			switch {
			case c.err == io.EOF: // io.ErrUnexpectedEOF is of a stream that was cut off
				w.j.count.complete.Store(true)
				return nil
			case c.err != nil:
				return pfs.E("transfer.FromReader", w.name, pfs.KindOf(c.err), c.err)
			}
		case <-w.ctx.Done():
			return pfs.CheckContext(w.ctx, "transfer.FromReader", "")
		}
	}
}
