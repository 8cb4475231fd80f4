package localfs

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// CopyFile copies inside the disk: it shares blocks where the file system can, otherwise it copies
// in the kernel, or through memory.
//
// The copy is read back, and its digest compared with the source's stored digest, or with one
// computed from the source. So a copy always has a digest, and a source that has lost the bytes it
// was published with is detected. A copy that shares blocks is not read: it gets the digest of its
// source.
func (f *FS) CopyFile(ctx context.Context, src, dst pfs.Path, opts pfs.CopyOptions, progress func(done int64)) (info pfs.Info, err error) {
	const op = "localfs.CopyFile"
	if err := f.check(ctx, op, dst); err != nil {
		return pfs.Info{}, err
	}
	r, err := f.openFile(ctx, op, src)
	if err != nil {
		return pfs.Info{}, err
	}
	defer r.Close()
	w, err := f.create(ctx, op, dst, pfs.CreateOptions{ID: opts.ID, Size: r.info.Size})
	if err != nil {
		return pfs.Info{}, err
	}
	defer func() {
		if err != nil && opts.ID != "" {
			w.Suspend(ctx) // so that the same copy can be resumed
		}
		w.Close(ctx)
	}()
	c := copying{ctx: ctx, op: op, r: r, w: w, progress: progress}
	sum, err := c.run()
	if err != nil {
		return pfs.Info{}, err
	}
	return w.Commit(ctx, opts.Commit(r.info, sum))
}

// copyStep is the number of bytes that are copied in one turn (pfs.InTurn).
const copyStep = 1 << 20

// copying is one CopyFile.
type copying struct {
	ctx      context.Context
	op       string
	r        *file
	w        *staged
	progress func(done int64)
}

// run stages the copy and returns the digest to store with it.
func (c *copying) run() (sum string, err error) {
	if !c.w.resumed && c.share() {
		c.report(c.r.info.Size)
		return c.r.info.Digest, c.sourceUnchanged()
	}
	for off := int64(0); off < c.r.info.Size; {
		n := min(pfs.ChunkSize, c.r.info.Size-off)
		if err := c.chunk(off, n); err != nil {
			return "", err
		}
		off += n
		c.report(off)
	}
	return c.verify()
}

func (c *copying) report(done int64) {
	if c.progress != nil {
		c.progress(done)
	}
}

// share makes the copy share the blocks of the source, and reports whether it could.
func (c *copying) share() bool {
	shared := false
	err := c.w.use(c.op, func() error {
		shared = shareBlocks(c.w.file, c.r.file)
		return nil
	})
	return shared && err == nil
}

// chunk copies n bytes at off, unless an interrupted copy has already done so.
func (c *copying) chunk(off, n int64) error {
	if err := pfs.CheckContext(c.ctx, c.op, c.w.name); err != nil {
		return err
	}
	if c.w.resumed {
		same, err := c.has(off, n)
		if same || err != nil {
			return err
		}
	}
	for end := off + n; off < end; off += copyStep {
		n := min(copyStep, end-off)
		err := pfs.InTurn(c.ctx, func() error {
			return c.w.use(c.op, func() error {
				err := copySparse(c.w.file, c.r.file, off, n)
				c.w.wrote(off, n)
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// has reports whether source and copy hold the same n bytes at off.
func (c *copying) has(off, n int64) (bool, error) {
	got, k, err := digest.LeafAt(c.ctx, c.w.ReadAt, off, n)
	if err != nil || k < n {
		return false, err
	}
	want, k, err := digest.LeafAt(c.ctx, c.r.ReadAt, off, n)
	return k == n && got == want, err
}

// copyBytes copies n bytes at off from src to dst.
func copyBytes(dst, src *os.File, off, n int64) error {
	for n > 0 {
		k, err := copyRange(dst, src, off, int(n))
		if err != nil || k == 0 {
			return copyThroughMemory(dst, src, off, n)
		}
		off += int64(k)
		n -= int64(k)
	}
	return nil
}

// copyThroughMemory copies what the kernel does not. It ignores a source that became shorter:
// verify finds that.
func copyThroughMemory(dst, src *os.File, off, n int64) error {
	_, err := io.Copy(io.NewOffsetWriter(dst, off), io.NewSectionReader(src, off, n))
	return err
}

// verify compares the copy with the source, and returns its digest.
func (c *copying) verify() (string, error) {
	sum, err := digest.OfCopy(c.ctx, c.op, c.w.name, c.w, c.r.name, c.r)
	if err != nil && !errors.Is(err, pfs.Integrity) {
		return "", err
	}
	if changed := c.sourceUnchanged(); changed != nil {
		return "", changed // which explains the difference
	}
	return sum, err
}

// sourceUnchanged returns Conflict if the source was written to meanwhile.
func (c *copying) sourceUnchanged() error {
	_, err := c.r.ReadAt(c.ctx, nil, 0)
	if err == io.EOF {
		return nil
	}
	return err
}
