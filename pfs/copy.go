package pfs

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// CopyInside makes dst a copy of the file src where the file system is a Copier, and else
// answers Unsupported.
func CopyInside(ctx context.Context, fsys FileSystem, src, dst Path, opts CopyOptions, progress func(done int64)) (Info, error) {
	if c, ok := fsys.(Copier); ok {
		return c.CopyFile(ctx, src, dst, opts, progress)
	}
	return Info{}, E("pfs.CopyInside", dst, Unsupported, nil)
}

// CopyFile makes dst a copy of the file src of the same file system, whole or not
// at all, with its mode and time. It is CopyInside where that can be, and else passes
// the bytes through the caller, a chunk at a time: if src changes on the way the answer
// is Conflict and dst stays as it was. Such a copy has no Digest, since nobody computed
// one from its bytes; package transfer makes one that is verified, and in parallel.
//
// With opts.ID, a copy that was cut off keeps what it staged, and another call
// with that ID goes on with it. progress may be nil.
func CopyFile(ctx context.Context, fsys FileSystem, src, dst Path, opts CopyOptions, progress func(done int64)) (info Info, err error) {
	if info, err := CopyInside(ctx, fsys, src, dst, opts, progress); !errors.Is(err, Unsupported) {
		return info, err
	}
	f, err := fsys.Open(ctx, src)
	if err != nil {
		return Info{}, err
	}
	defer f.Close()
	from := f.Info()
	w, err := fsys.Create(ctx, dst, CreateOptions{ID: opts.ID, Size: from.Size})
	if err != nil {
		return Info{}, err
	}
	defer func() {
		if err != nil && opts.ID != "" {
			w.Suspend() // a failure to keep costs only what is copied again
		}
		w.Close()
	}()
	if err := copyChunks(ctx, f, w, progress); err != nil {
		return Info{}, err
	}
	if err := checkUnchanged(ctx, fsys, src, from.Version); err != nil {
		return Info{}, err
	}
	return w.Commit(ctx, opts.Commit(from, ""))
}

// copyChunks writes to w what f holds and w does not.
func copyChunks(ctx context.Context, f File, w Staged, progress func(int64)) error {
	size := f.Info().Size
	buf := make([]byte, min(size, ChunkSize))
	var old []byte
	if w.Resumed() {
		old = make([]byte, len(buf))
	}
	for off := int64(0); off < size; off += ChunkSize {
		p := buf[:min(ChunkSize, size-off)]
		if err := ReadFull(ctx, f, p, off); err != nil {
			return err
		}
		staged, err := holds(ctx, w, old, p, off)
		if err == nil && !staged {
			_, err = w.WriteAt(ctx, p, off)
		}
		if err != nil {
			return err
		}
		if progress != nil {
			progress(off + int64(len(p)))
		}
	}
	return nil
}

// holds reports whether w has p at offset off. buf is for reading; without one
// there is nothing to find.
func holds(ctx context.Context, w Staged, buf, p []byte, off int64) (bool, error) {
	if buf == nil {
		return false, nil
	}
	n, err := w.ReadAt(ctx, buf[:len(p)], off)
	if err == io.EOF {
		err = nil
	}
	return err == nil && bytes.Equal(buf[:n], p), err
}

// checkUnchanged answers Conflict unless name still has that version.
func checkUnchanged(ctx context.Context, fsys FileSystem, name Path, version string) error {
	info, err := fsys.Stat(ctx, name)
	switch {
	case errors.Is(err, NotExist):
		return Errorf("pfs.CopyFile", name, Conflict, "removed while it was copied")
	case err != nil:
		return err
	case info.Version != version:
		return Errorf("pfs.CopyFile", name, Conflict, "changed while it was copied: copy it again")
	}
	return nil
}
