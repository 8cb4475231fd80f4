package hdfsfs

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
)

// maxRounds is how often a Commit begins again because another handle of the same
// staged write has changed what it stood on.
const maxRounds = 5

// Commit publishes the file: the parts are stored, joined in order, given their
// properties, and renamed.
func (w *staged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	const op = "hdfsfs.Staged.Commit"
	if err := pfs.CheckContext(ctx, op, w.name); err != nil {
		return pfs.Info{}, err
	}
	if err := opts.Check(op, w.name); err != nil {
		return pfs.Info{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.state {
	case committed:
		return w.done, nil
	case ended:
		return pfs.Info{}, pfs.E(op, w.name, pfs.Closed, nil)
	}
	if opts.NoReplace && !w.fs.hasWeb() {
		return pfs.Info{}, fail(op, w.name, errWebOff)
	}
	info, err := w.commit(ctx, op, opts)
	if err != nil {
		return pfs.Info{}, w.fail(op, err)
	}
	w.state, w.done = committed, info
	return info, nil
}

// commit is Commit with the handle to itself.
func (w *staged) commit(ctx context.Context, op string, opts pfs.CommitOptions) (pfs.Info, error) {
	for _, pt := range w.touched() {
		err := pt.settle(ctx)
		if err != nil && pt.start() < opts.Size && !w.gone(ctx) {
			return pfs.Info{}, err
		}
	}
	var err error
	for range maxRounds {
		var info pfs.Info
		info, err = w.round(ctx, op, opts)
		var known *pfs.Error
		if err == nil || !is(err, pfs.NotExist) || errors.As(err, &known) {
			return info, err
		}
	}
	return pfs.Info{}, err
}

// round looks at what there is and goes on from there. An error of the NameNode that
// something is not there means that another handle was faster.
func (w *staged) round(ctx context.Context, op string, opts pfs.CommitOptions) (pfs.Info, error) {
	c, err := w.fs.contentOf(ctx, w.dir)
	if err != nil && !is(err, pfs.NotExist) {
		return pfs.Info{}, err
	}
	gone := err != nil
	if have := c.length(w.lay.unit, opts.Size); gone || have < opts.Size {
		if info, ok, err := w.committedBefore(ctx, opts); ok || err != nil {
			return info, err
		}
		if err := w.inPlace(ctx, op); err != nil {
			return pfs.Info{}, err
		}
		if gone {
			return pfs.Info{}, pfs.Errorf(op, w.name, pfs.Conflict, "what was staged as %q is gone: another handle discarded it, or it was swept", w.id)
		}
		return pfs.Info{}, pfs.Errorf(op, w.name, pfs.Integrity, "%d of %d bytes were staged", have, opts.Size)
	}
	if err := w.inPlace(ctx, op); err != nil {
		return pfs.Info{}, err
	}
	if info, done, err := w.replaces(ctx, op, opts); done || err != nil {
		return info, err
	}
	whole, err := w.join(ctx, op, c, opts.Size)
	if err != nil {
		return pfs.Info{}, err
	}
	return w.publish(ctx, whole, opts)
}

// length is the number of bytes from the start on that are staged without a gap, of
// the first size.
func (c content) length(unit, size int64) int64 {
	have := c.joined
	for have < size && have%unit == 0 {
		n := c.parts[have/unit]
		have += n
		if n < unit {
			break
		}
	}
	return min(have, size)
}

// inPlace checks that the directory in which the file will be is still the one that
// it was at Create.
func (w *staged) inPlace(ctx context.Context, op string) error {
	dir := w.name.Parent()
	st, err := w.fs.status(ctx, dir)
	switch {
	case err != nil:
		return w.fs.placeError(ctx, op, dir, err)
	case st.id != w.parent:
		return pfs.Errorf(op, w.name, pfs.Conflict, "its directory was moved or replaced since Create")
	}
	return nil
}

// replaces finds out early what forbids to publish.
func (w *staged) replaces(ctx context.Context, op string, opts pfs.CommitOptions) (info pfs.Info, done bool, err error) {
	st, err := w.fs.status(ctx, w.name)
	switch {
	case is(err, pfs.NotExist):
		return pfs.Info{}, false, nil
	case err != nil:
		return pfs.Info{}, false, err
	case opts.NoReplace:
		if info, ok, err := w.committedBefore(ctx, opts); ok || err != nil {
			if err == nil {
				w.tidy(ctx)
			}
			return info, true, err
		}
		return pfs.Info{}, false, pfs.E(op, w.name, pfs.Exist, nil)
	case st.IsDir():
		return pfs.Info{}, false, pfs.E(op, w.name, pfs.IsDir, nil)
	}
	return pfs.Info{}, false, nil
}

// committedBefore reports whether the file that has the name now is what this ID was
// committed as.
func (w *staged) committedBefore(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, bool, error) {
	st, err := w.fs.status(ctx, w.name)
	if is(err, pfs.NotExist, pfs.NotDir) || err == nil && (!st.IsRegular() || st.Size != opts.Size) {
		return pfs.Info{}, false, nil
	}
	if err != nil {
		return pfs.Info{}, false, err
	}
	m, ok, err := w.fs.readMark(ctx, w.fs.at(w.name), st)
	if err != nil || !ok || m.ID != w.id || opts.Digest != "" && m.Digest != "" && m.Digest != opts.Digest {
		return pfs.Info{}, false, err
	}
	st.Digest = m.Digest
	return st.Info, true, nil
}

// tidy removes what is left of a staged write that was published. If that fails, it is
// swept one day.
func (w *staged) tidy(ctx context.Context) { _ = w.remove(context.WithoutCancel(ctx)) }

// join makes one file of the first size bytes and returns its path in HDFS.
func (w *staged) join(ctx context.Context, op string, c content, size int64) (string, error) {
	if size == 0 {
		return w.empty(ctx)
	}
	number := (size - 1) / w.lay.unit
	if c.joined > size {
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
	if !w.fs.hasWeb() || strings.Contains(w.dir, ",") {
		return w.stream(ctx, op, c, size)
	}
	return path.Join(w.dir, joinedName), w.concat(ctx, op, c, size)
}

// empty makes an empty file.
func (w *staged) empty(ctx context.Context) (string, error) {
	a, err := w.fs.begin(ctx, path.Join(w.dir, attemptPrefix+pfs.NewID()), w.lay, newPipelines(w.fs.dataNodes, w.lay.replicas))
	if err != nil {
		return "", err
	}
	return a.path, a.finish(ctx)
}

// cut shortens a part.
func (w *staged) cut(ctx context.Context, number, n int64) error {
	pt := w.part(number)
	a, err := pt.again(ctx, n)
	if err != nil {
		return err
	}
	if err := a.finish(ctx); err != nil {
		return err
	}
	return w.fs.call(ctx, atMostOnce, func(c *hdfs.Client) error { return c.Rename(a.path, pt.path()) })
}

// maxSources bounds the parts of one concat, whose names are in the URL.
const maxSources = 24

// concat joins the parts, which is the NameNode's work alone. It happens at once for
// each row of parts, so the length of the joined file tells how far it has come.
func (w *staged) concat(ctx context.Context, op string, c content, size int64) error {
	joined := path.Join(w.dir, joinedName)
	if !c.has {
		err := w.fs.call(ctx, atMostOnce, func(lib *hdfs.Client) error { return lib.Rename(partPath(w.dir, 0), joined) })
		if err != nil {
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
		err := w.fs.web(ctx, webCall{method: http.MethodPost, op: "CONCAT", path: joined,
			query: url.Values{"sources": {strings.Join(sources, ",")}}}, nil)
		if err != nil {
			return err
		}
		sources = nil
	}
	return nil
}

// stream writes one file with the bytes of all parts: what is left where they cannot
// be joined.
func (w *staged) stream(ctx context.Context, op string, c content, size int64) (string, error) {
	name := func() string { return path.Join(w.dir, attemptPrefix+pfs.NewID()) }
	var a *attempt
	buf := make([]byte, min(size, w.lay.unit, pfs.ChunkSize))
	for off := int64(0); off < size; {
		if err := pfs.CheckContext(ctx, op, w.name); err != nil {
			return "", w.giveUp(a, err)
		}
		p := buf[:min(int64(len(buf)), size-off, w.lay.unit-off%w.lay.unit)]
		err := w.readStored(ctx, c, p, off)
		if err == nil && a == nil {
			if a, err = w.fs.beginWith(ctx, w.lay, p, name); err == nil {
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

// readStored fills p, which is within one part, from off in the file.
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

// publish gives the whole file its properties, and then its name.
func (w *staged) publish(ctx context.Context, whole string, opts pfs.CommitOptions) (pfs.Info, error) {
	if err := w.fs.finalize(ctx, whole, w.name.Parent(), w.id, opts); err != nil {
		return pfs.Info{}, err
	}
	err := w.fs.move(ctx, whole, w.fs.at(w.name), opts.NoReplace)
	if err != nil {
		// Perhaps only the answer was lost, or another handle did it.
		if info, ok, _ := w.committedBefore(ctx, opts); ok {
			w.tidy(ctx)
			return info, nil
		}
		return pfs.Info{}, w.fs.publishError(ctx, "hdfsfs.Staged.Commit", whole, w.name, err)
	}
	st, err := w.fs.describe(ctx, w.name)
	if err != nil {
		return pfs.Info{}, err
	}
	w.tidy(ctx)
	return st.Info, nil
}
