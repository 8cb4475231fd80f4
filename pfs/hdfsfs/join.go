package hdfsfs

import (
	"context"
	"path"
	"slices"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
)

// join makes one file of the first size bytes and returns its path in HDFS. A single part is this file already; concat joins
// several parts. If more than size bytes are joined already, join copies the parts into a new file. It also copies them in an
// encryption zone: HDFS joins no files there, since each has its own key.
func (w *staged) join(ctx context.Context, op string, c content, size int64) (string, error) {
	if size == 0 {
		return w.empty(ctx)
	}
	number := (size - 1) / w.lay.unit
	if c.joined > size || w.zoned && number > 0 {
		return w.stream(ctx, op, c, size)
	}
	if end := number*w.lay.unit + c.parts[number]; c.joined < size && end > size {
		if err := w.cut(ctx, number, size-number*w.lay.unit); err != nil {
			return "", err
		}
		c.parts[number] = size - number*w.lay.unit
	}
	if number == 0 && !c.has {
		return partPath(w.dir, 0), nil
	}
	return path.Join(w.dir, joinedName), w.concat(ctx, op, c, size)
}

// empty creates an empty file.
func (w *staged) empty(ctx context.Context) (string, error) {
	a, err := w.fs.begin(ctx, path.Join(w.dir, attemptPrefix+pfs.NewID()), w.lay)
	if err != nil {
		return "", err
	}
	return a.path, a.finish(ctx)
}

// cut shortens a part to n bytes.
func (w *staged) cut(ctx context.Context, number, n int64) error {
	pt := w.part(number)
	a, err := pt.again(ctx, n)
	if err != nil {
		return err
	}
	if err := a.finish(ctx); err != nil {
		return err
	}
	return w.fs.move(ctx, a.path, pt.path(), false)
}

// maxSources bounds the sources of one concat, for which the NameNode holds its lock.
const maxSources = 1000

// concat joins the parts, maxSources at a time. It involves only the NameNode, and each call
// is atomic, so the length of the joined file shows how much is done.
func (w *staged) concat(ctx context.Context, op string, c content, size int64) error {
	joined := path.Join(w.dir, joinedName)
	if !c.has {
		if err := w.fs.move(ctx, partPath(w.dir, 0), joined, false); err != nil {
			return err
		}
		c.joined = c.parts[0]
	}
	var sources []string
	for n := c.joined / w.lay.unit; c.joined < size; n++ {
		sources = append(sources, partPath(w.dir, n))
		c.joined += c.parts[n]
		if len(sources) < maxSources && c.joined < size {
			continue
		}
		if err := pfs.CheckContext(ctx, op, w.name); err != nil {
			return err
		}
		if err := w.fs.concat(ctx, joined, sources); err != nil {
			return err
		}
		sources = nil
	}
	return nil
}

// concat appends sources to target; all are paths in HDFS.
func (f *FS) concat(ctx context.Context, target string, sources []string) error {
	return f.tell(ctx, "concat", &hdfsproto.ConcatRequest{Target: &target, Sources: sources}, rpc.Cached)
}

// maxConcat bounds the names of the sources of a concat, in bytes.
const maxConcat = 32 << 10

// Concat appends the files sources to the file target and removes them.
func (f *FS) Concat(ctx context.Context, target pfs.Path, sources []pfs.Path) error {
	const op = "hdfsfs.Concat"
	if err := f.check(ctx, op, target); err != nil {
		return err
	}
	if dir, err := f.status(ctx, target.Parent()); err == nil && dir.zoned {
		return pfs.Errorf(op, target, pfs.Unsupported, "HDFS joins no files in an encryption zone: each has a key of its own")
	}
	var at []string
	length := 0
	for i, name := range slices.Concat([]pfs.Path{target}, sources) {
		if slices.Contains(sources[:max(0, i-1)], name) || i > 0 && name == target {
			return pfs.Errorf(op, name, pfs.Invalid, "the file is named twice")
		}
		if err := f.check(ctx, op, name); err != nil {
			return err
		}
		st, err := f.status(ctx, name)
		switch {
		case err != nil:
			return f.placeError(ctx, op, name, err)
		case st.IsDir():
			return pfs.E(op, name, pfs.IsDir, nil)
		}
		at = append(at, f.at(name))
		if length += len(f.at(name)); length > maxConcat {
			return pfs.Errorf(op, target, pfs.Limit, "the names of the sources are too long for one request: concat fewer at once")
		}
	}
	if len(sources) == 0 {
		return nil
	}
	return f.placeError(ctx, op, target, f.concat(ctx, at[0], at[1:]))
}

// stream copies the bytes of all parts into one new file.
func (w *staged) stream(ctx context.Context, op string, c content, size int64) (string, error) {
	var a *attempt
	buf := make([]byte, min(size, w.lay.unit, pfs.ChunkSize))
	for off := int64(0); off < size; {
		if err := pfs.CheckContext(ctx, op, w.name); err != nil {
			return "", w.giveUp(a, err)
		}
		p := buf[:min(int64(len(buf)), size-off, w.lay.unit-off%w.lay.unit)]
		err := w.readStored(ctx, c, p, off)
		if err == nil && a == nil {
			if a, err = w.fs.beginWith(ctx, path.Join(w.dir, attemptPrefix+pfs.NewID()), w.lay, p); err == nil {
				a.fold()
			}
		} else if err == nil {
			err = a.write(p)
		}
		if err != nil {
			return "", w.giveUp(a, err)
		}
		off += int64(len(p))
	}
	return a.path, a.finish(ctx)
}

func (w *staged) giveUp(a *attempt, err error) error {
	if a != nil {
		a.discard()
	}
	return err
}

// readStored fills p from offset off of the file. The range is within one part.
func (w *staged) readStored(ctx context.Context, c content, p []byte, off int64) error {
	at, within := path.Join(w.dir, joinedName), off
	if off >= c.joined {
		at, within = partPath(w.dir, off/w.lay.unit), off%w.lay.unit
	}
	h, err := w.openAt(ctx, at)
	if err != nil {
		return err
	}
	defer h.Close()
	return pfs.ReadFull(ctx, h, p, within)
}
