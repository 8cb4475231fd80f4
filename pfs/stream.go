package pfs

import (
	"context"
	"io"
)

// Reader reads a File in order or at random, as the interfaces of package io do.
// Its ReadAt may be called concurrently; Read and Seek may not.
type Reader struct {
	ctx context.Context
	f   File
	off int64
}

var (
	_ io.ReadSeeker = (*Reader)(nil)
	_ io.ReaderAt   = (*Reader)(nil)
)

// NewReader returns a Reader of f whose calls end when ctx is done. The caller closes f.
func NewReader(ctx context.Context, f File) *Reader { return &Reader{ctx: ctx, f: f} }

// Size returns the length of the file in bytes.
func (r *Reader) Size() int64 { return r.f.Info().Size }

func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := r.f.ReadAt(r.ctx, p, r.off)
	r.off += int64(n)
	if n > 0 && err == io.EOF {
		err = nil // the next Read returns it
	}
	return n, err
}

// ReadAt reads len(p) bytes from offset off.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) { return r.f.ReadAt(r.ctx, p, off) }

// Seek sets the offset of the next Read.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	const op = "pfs.Reader.Seek"
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.off
	case io.SeekEnd:
		offset += r.Size()
	default:
		return 0, Errorf(op, "", Invalid, "whence %d: it is io.SeekStart, SeekCurrent or SeekEnd", whence)
	}
	if offset < 0 {
		return 0, Errorf(op, "", Invalid, "negative offset %d", offset)
	}
	r.off = offset
	return offset, nil
}

// ReadFull reads exactly len(p) bytes of f from offset off. If the file ends earlier, it answers
// Integrity: the file is shorter than its Info states.
func ReadFull(ctx context.Context, f File, p []byte, off int64) error {
	for len(p) > 0 {
		n, err := f.ReadAt(ctx, p, off)
		p, off = p[n:], off+int64(n)
		if len(p) == 0 {
			return nil
		}
		if err == io.EOF {
			return Errorf("pfs.ReadFull", "", Integrity, "%s ends at byte %d of %d", f.Info().Name, off, f.Info().Size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
