package main

import (
	"context"
	"errors"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// output is one file of a set of outputs, an io.Writer. It gathers chunks and writes
// some of them at once.
type output struct {
	set    *outputs
	text   string
	end    transfer.End
	part   pfs.Path // dot-file that it is until it is published; "": staged only
	stdout bool

	staged   pfs.Staged
	id       string // of the staged write, when suspended
	finished bool
	buf      *[]byte
	fill     int // bytes in buf
	size     int64
	tree     []pfs.LeafDigest
	sum      string
	tail     chan struct{} // closed when the chunk before has been written
	work     sync.WaitGroup

	mu  sync.Mutex
	err error // the first failure of a chunk
}

// begin stages the file p.
func (o *output) begin(p pfs.Path) error {
	staged, err := o.stage(o.end.FS, p)
	if err != nil {
		return err
	}
	// What was read from a pipe, or converted for hours, is not there a second time.
	o.staged = transfer.Resending(transfer.End{FS: o.end.FS, Path: p}, staged)
	return nil
}

// stage begins the file p of fsys.
func (o *output) stage(fsys pfs.FileSystem, p pfs.Path) (pfs.Staged, error) {
	staged, err := fsys.Create(o.set.ctx, p, pfs.CreateOptions{})
	if err != nil {
		at := copyTarget{text: o.text, end: o.end}
		err = (&copier{d: o.set.d, o: &copyOptions{}, to: at}).hint(o.set.ctx, err)
	}
	return staged, err
}

// Write takes p. A failure may come with a later call.
func (o *output) Write(p []byte) (int, error) {
	if o.stdout {
		if err := pfs.CheckContext(o.set.ctx, "paddlectl.Write", ""); err != nil {
			return 0, err
		}
		return o.set.d.out.Out.Write(p)
	}
	for n := 0; n < len(p); {
		if o.buf == nil {
			if err := o.failure(); err != nil {
				return n, err
			}
			o.buf = o.set.buffer()
		}
		k := copy((*o.buf)[o.fill:], p[n:])
		n, o.fill = n+k, o.fill+k
		if o.fill == pfs.ChunkSize {
			if err := o.send(); err != nil {
				return n, err
			}
		}
	}
	return len(p), nil
}

// buffer returns one of pfs.ChunkSize bytes.
func (s *outputs) buffer() *[]byte {
	if b, ok := s.bufs.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, pfs.ChunkSize)
	return &b
}

// send begins to write what is in the buffer.
func (o *output) send() error {
	select {
	case o.set.slots <- struct{}{}:
	case <-o.set.ctx.Done():
		return pfs.CheckContext(o.set.ctx, "paddlectl.Write", o.end.Path)
	}
	buf, p, off, k := o.buf, (*o.buf)[:o.fill], o.size, len(o.tree)
	o.buf, o.fill, o.size = nil, 0, o.size+int64(o.fill)
	o.mu.Lock()
	o.tree = append(o.tree, pfs.LeafDigest{})
	o.mu.Unlock()
	turn, done := o.tail, make(chan struct{})
	o.tail = done
	if o.staged.Unit() <= pfs.ChunkSize {
		turn = nil
	}
	o.work.Go(func() {
		defer close(done)
		if turn != nil {
			<-turn // within a piece, bytes are written in order
		}
		o.write(k, p, off)
		o.set.bufs.Put(buf)
		<-o.set.slots
	})
	return nil
}

// write writes chunk k.
func (o *output) write(k int, p []byte, off int64) {
	leaf := digest.Leaf(p)
	_, err := o.staged.WriteAt(o.set.ctx, p, off)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tree[k] = leaf
	if o.err == nil {
		o.err = err
	}
}

func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Size returns the bytes written so far.
func (o *output) Size() int64 { return o.size + int64(o.fill) }

// Digest returns the tree digest of a finished file; "" of standard output and of a
// part that was adopted.
func (o *output) Digest() string { return o.sum }

// finish writes what is left and makes it durable. Nothing can be written after it.
func (o *output) finish() error {
	if o.finished || o.stdout {
		o.finished = true
		return nil
	}
	if o.fill > 0 {
		if err := o.send(); err != nil {
			return err
		}
	}
	o.work.Wait()
	if err := o.failure(); err != nil {
		return err
	}
	if err := o.seal(); err != nil {
		return err
	}
	o.finished = true
	return nil
}

// seal makes a complete file durable: a part under its name, others as staged.
func (o *output) seal() error {
	tree, err := digest.NewTree(digest.XXH3, o.size)
	if err != nil {
		return err
	}
	for i := range o.tree {
		tree.Add(o.tree[i][:])
	}
	o.sum, o.tree = tree.Sum(), nil
	if o.part != "" {
		_, err := o.staged.Commit(o.set.ctx, pfs.CommitOptions{Size: o.size, Digest: o.sum})
		o.staged.Close(o.set.ctx) // only releases it
		o.staged = nil
		return err
	}
	if err := o.staged.Sync(o.set.ctx); err != nil {
		return err
	}
	return o.rest()
}

// openOutputs is how many finished files stay open until they are published; of
// more, the staged bytes wait by themselves.
const openOutputs = 32

// rest gives up the handle of a finished file where there are many, or where it keeps
// bytes in a file here, which are durable by now.
func (o *output) rest() error {
	o.set.mu.Lock()
	many := len(o.set.list) > openOutputs
	o.set.mu.Unlock()
	if !many && o.staged.Unit() <= pfs.ChunkSize {
		return nil
	}
	o.id = o.staged.ID()
	err := o.staged.Suspend(o.set.ctx)
	o.staged.Close(o.set.ctx) // only releases it
	o.staged = nil
	return err
}

// name says what a part is going to be called.
func (o *output) name(text string, e transfer.End) error {
	if err := o.set.check(text, e); err != nil {
		return err
	}
	o.text, o.end = text, e
	return nil
}

// publish gives the file its name.
func (o *output) publish() error {
	switch {
	case o.stdout:
		return o.set.d.out.Out.Flush()
	case !o.finished:
		return pfs.Errorf("paddlectl.publish", o.end.Path, pfs.Other, "not finished")
	case o.part != "":
		return o.rename()
	}
	if err := o.reopen(o.set.ctx); err != nil {
		return err
	}
	defer o.staged.Close(o.set.ctx) // only releases it
	opts := pfs.CommitOptions{Size: o.size, Digest: o.sum, NoReplace: !o.set.force}
	_, err := o.staged.Commit(o.set.ctx, opts)
	if opts.NoReplace && errors.Is(err, pfs.Unsupported) {
		opts.NoReplace = false // nothing was there when the file was begun
		_, err = o.staged.Commit(o.set.ctx, opts)
	}
	return err
}

// rename gives a part its name.
func (o *output) rename() error {
	if !o.set.force {
		err := pfs.RenameExclusive(o.set.ctx, o.end.FS, o.part, o.end.Path)
		if !errors.Is(err, pfs.Unsupported) {
			return err
		} // else nothing was there when the file got its name
	}
	return o.end.FS.Rename(o.set.ctx, o.part, o.end.Path)
}

// reopen takes up a staged write that was suspended.
func (o *output) reopen(ctx context.Context) (err error) {
	if o.staged == nil {
		o.staged, err = o.end.FS.Create(ctx, o.end.Path, pfs.CreateOptions{ID: o.id, Reopen: true})
	}
	return err
}

// discard removes what was written. What cannot be removed is invisible, or a
// dot-file, and the next run of the command replaces it.
func (o *output) discard(ctx context.Context) {
	o.work.Wait()
	switch {
	case o.stdout:
	case o.part != "" && o.finished:
		if !o.set.keepParts {
			o.end.FS.Remove(ctx, o.part)
		}
	case o.staged != nil || o.id != "":
		if o.reopen(ctx) == nil {
			o.staged.Close(o.set.ctx)
		}
	}
}
