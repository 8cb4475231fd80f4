package pfstest

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

var stagePromises = []promise{
	{says: "an upload has no name before Commit", check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/dir/there", nil)
		w := e.stage("/dir/f", pfs.CreateOptions{Size: 1000}, Pattern(1, 1000))
		e.ok(w.Sync(e.ctx))
		WantAbsent(e, e.fs, "/dir/f")
		WantNames(e, e.fs, "/dir", "there")
		WantNames(e, e.fs, pfs.Root, "dir")
		e.want(errOf(e.fs.Open(e.ctx, "/dir/f")), pfs.NotExist, "/dir/f")
		e.want(e.fs.Remove(e.ctx, "/dir/f"), pfs.NotExist, "/dir/f")
		e.commit(w, 1000)
		WantNames(e, e.fs, "/dir", "f", "there")
		WantFile(e, e.fs, "/dir/f", Pattern(1, 1000))
	}},
	{says: "an existing file does not change before Commit", check: func(e *env) {
		old := Pattern(1, 500)
		WriteFile(e, e.fs, "/f", old)
		before := MustStat(e, e.fs, "/f")
		w := e.stage("/f", pfs.CreateOptions{}, Pattern(2, 1000))
		e.sameInfo("the file that will be replaced", MustStat(e, e.fs, "/f"), before)
		WantFile(e, e.fs, "/f", old)
		e.ok(w.Close(e.ctx))
		e.sameInfo("the file that was not replaced", MustStat(e, e.fs, "/f"), before)
		WantFile(e, e.fs, "/f", old)
		if e.lacks(NoSymlink) {
			return
		}
		MustLink(e, e.fs, "f", "/link")
		w = e.stage("/link", pfs.CreateOptions{}, Pattern(2, 1000))
		e.ok(w.Close(e.ctx))
		if got := MustStat(e, e.fs, "/link").Target; got != "f" {
			e.Errorf("target of a link that was not replaced = %q", got)
		}
	}},
	{says: "Close without Commit discards", check: func(e *env) {
		w := e.stage("/f", pfs.CreateOptions{}, Pattern(1, 1000))
		e.ok(w.Close(e.ctx))
		WantAbsent(e, e.fs, "/f")
		WantNames(e, e.fs, pfs.Root)
		e.wantGone("/f", w.ID())
		e.ok(w.Close(e.ctx))
	}},
	{says: "Close and Suspend after Commit do nothing", check: func(e *env) {
		w := e.stage("/f", pfs.CreateOptions{}, Pattern(1, 1000))
		e.commit(w, 1000)
		e.ok(w.Close(e.ctx))
		e.ok(w.Suspend(e.ctx))
		e.ok(w.Close(e.ctx))
		WantFile(e, e.fs, "/f", Pattern(1, 1000))
	}},
	{says: "after Close or Suspend a Staged answers Closed", check: func(e *env) {
		ends := map[string]func(pfs.Staged, context.Context) error{"Close": pfs.Staged.Close, "Suspend": pfs.Staged.Suspend}
		for name, end := range ends {
			w := e.stage("/f", pfs.CreateOptions{}, []byte("content"))
			e.ok(end(w, e.ctx))
			e.Log("after " + name)
			e.want(errOf(w.WriteAt(e.ctx, []byte("x"), 0)), pfs.Closed, "/f")
			e.want(errOf(w.ReadAt(e.ctx, make([]byte, 1), 0)), pfs.Closed, "/f")
			e.want(w.Sync(e.ctx), pfs.Closed, "/f")
			e.want(errOf(w.Commit(e.ctx, pfs.CommitOptions{Size: 7})), pfs.Closed, "/f")
			WantAbsent(e, e.fs, "/f")
		}
	}},
	// Each unit is written in order, and the units all at once, last one first.
	{says: "units may be written out of order and in parallel", check: func(e *env) {
		w := e.create("/f", pfs.CreateOptions{})
		unit := w.Unit()
		if unit <= 0 {
			e.Fatalf("Unit = %d", unit)
		}
		size := 2*unit + 12_345
		var wg sync.WaitGroup
		for start := 2 * unit; start >= 0; start -= unit {
			wg.Go(func() { e.writeUnit(w, start, min(unit, size-start)) })
		}
		wg.Wait()
		e.ok(errOf(w.Commit(e.ctx, pfs.CommitOptions{Size: size})))
		e.wantPattern("/f", size)
	}},
	{says: "WriteAt takes buffers of any length", check: func(e *env) {
		w := e.create("/f", pfs.CreateOptions{})
		data := Pattern(1, pfs.ChunkSize+70_001)
		for off, n := 0, 1; off < len(data); n = n*7 + 3 {
			k, err := w.WriteAt(e.ctx, data[off:min(off+n, len(data))], int64(off))
			e.ok(err)
			off += k
		}
		e.commit(w, len(data))
		WantFile(e, e.fs, "/f", data)
	}},
	{says: "WriteAt takes buffers larger than a chunk", check: func(e *env) {
		data := Pattern(1, 2*pfs.ChunkSize+77)
		w := e.create("/f", pfs.CreateOptions{})
		if n, err := w.WriteAt(e.ctx, data, 0); n != len(data) || err != nil {
			e.Fatalf("WriteAt of %d = %d, %v", len(data), n, err)
		}
		e.commit(w, len(data))
		WantFile(e, e.fs, "/f", data)
	}},
	{says: "the same bytes may be written twice", check: func(e *env) {
		data := Pattern(1, 10_000)
		w := e.stage("/f", pfs.CreateOptions{}, data)
		e.ok(errOf(w.WriteAt(e.ctx, data[:5000], 0)))
		e.put(w, data)
		e.commit(w, len(data))
		WantFile(e, e.fs, "/f", data)
	}},
	{says: "WriteAt at a negative offset answers Invalid", check: func(e *env) {
		w := e.create("/f", pfs.CreateOptions{})
		e.want(errOf(w.WriteAt(e.ctx, []byte("x"), -1)), pfs.Invalid, "/f")
	}},
	{says: "staged bytes can be read back", needs: NoReadStaged, check: func(e *env) {
		data := Pattern(1, 10_000)
		w := e.stage("/f", pfs.CreateOptions{}, data)
		e.wantStaged(w, data)
		p := make([]byte, 100)
		n, err := w.ReadAt(e.ctx, p, 5000)
		if n != 100 || err != nil || !bytes.Equal(p, data[5000:5100]) {
			e.Errorf("ReadAt in the middle = %d, %v, %s", n, err, brief(p[:n]))
		}
		n, err = w.ReadAt(e.ctx, p, 1<<40)
		if n != 0 || err != io.EOF {
			e.Errorf("ReadAt far behind = %d, %v, want 0, EOF", n, err)
		}
	}},
	{says: "the size given to Create is only a hint", check: func(e *env) {
		for _, size := range []int64{1, 999, 1001, 50_000} {
			w := e.stage("/f", pfs.CreateOptions{Size: size}, Pattern(1, 1000))
			e.commit(w, 1000)
			WantFile(e, e.fs, "/f", Pattern(1, 1000))
		}
	}},
	{says: "Sync succeeds and publishes nothing", needs: NoReadStaged, check: func(e *env) {
		w := e.create("/f", pfs.CreateOptions{})
		e.ok(w.Sync(e.ctx))
		e.put(w, Pattern(1, 1000))
		e.ok(w.Sync(e.ctx))
		WantAbsent(e, e.fs, "/f")
		e.wantStaged(w, Pattern(1, 1000))
	}},
	{says: "LeafDigests are those of the staged bytes", check: checkLeafDigests, needs: NoLeafDigests},
	{says: "a directory that holds only uploads can be removed", needs: NoEmptyDir, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		e.stage("/dir/live", pfs.CreateOptions{}, Pattern(1, 1000))
		kept := e.stage("/dir/kept", pfs.CreateOptions{}, Pattern(1, 1000))
		e.ok(kept.Suspend(e.ctx))
		e.ok(e.fs.Remove(e.ctx, "/dir"))
		WantAbsent(e, e.fs, "/dir")
	}},
	{says: "an upload in a removed directory publishes nothing", needs: NoEmptyDir, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		w := e.stage("/dir/f", pfs.CreateOptions{}, Pattern(1, 1000))
		e.ok(e.fs.Remove(e.ctx, "/dir"))
		e.wantOneOf(errOf(w.Commit(e.ctx, pfs.CommitOptions{Size: 1000})), []pfs.Kind{pfs.NotExist, pfs.Conflict}, "/dir", "/dir/f")
		WantNames(e, e.fs, pfs.Root)
	}},
}

// create begins an upload that is closed at the end of the test.
func (e *env) create(name pfs.Path, opts pfs.CreateOptions) pfs.Staged {
	e.Helper()
	w, err := e.fs.Create(e.ctx, name, opts)
	e.ok(err)
	e.Cleanup(func() { w.Close(e.ctx) })
	return w
}

// put writes data to w from its start.
func (e *env) put(w pfs.Staged, data []byte) {
	e.Helper()
	e.ok(errOf(w.WriteAt(e.ctx, data, 0)))
}

// stage is create and put.
func (e *env) stage(name pfs.Path, opts pfs.CreateOptions, data []byte) pfs.Staged {
	e.Helper()
	w := e.create(name, opts)
	e.put(w, data)
	return w
}

// commit publishes w with size bytes.
func (e *env) commit(w pfs.Staged, size int) pfs.Info {
	e.Helper()
	info, err := w.Commit(e.ctx, pfs.CommitOptions{Size: int64(size)})
	e.ok(err)
	return info
}

// wantGone fails unless the store has no upload id of name.
func (e *env) wantGone(name pfs.Path, id string) {
	e.Helper()
	e.want(errOf(e.fs.Create(e.ctx, name, pfs.CreateOptions{ID: id, Reopen: true})), pfs.Conflict, name)
}

// writeUnit writes n bytes of Pattern(1) from start on.
func (e *env) writeUnit(w pfs.Staged, start, n int64) {
	p := make([]byte, min(n, pfs.ChunkSize/2))
	for off := start; off < start+n; off += int64(len(p)) {
		p = p[:min(int64(len(p)), start+n-off)]
		fill(p, 1, off)
		if k, err := w.WriteAt(e.ctx, p, off); k != len(p) || err != nil {
			e.Errorf("WriteAt of %d at %d = %d, %v", len(p), off, k, err)
			return
		}
	}
}

// wantPattern fails unless name holds size bytes of Pattern(1).
func (e *env) wantPattern(name pfs.Path, size int64) {
	e.Helper()
	f := e.open(name)
	if got := f.Info().Size; got != size {
		e.Fatalf("size of %s is %d, want %d", name, got, size)
	}
	got, want := make([]byte, pfs.ChunkSize), make([]byte, pfs.ChunkSize)
	for off := int64(0); off < size; off += pfs.ChunkSize {
		n := min(pfs.ChunkSize, size-off)
		e.ok(pfs.ReadFull(e.ctx, f, got[:n], off))
		fill(want[:n], 1, off)
		if !bytes.Equal(got[:n], want[:n]) {
			e.Fatalf("%s differs in the chunk at %d", name, off)
		}
	}
}

// wantStaged fails unless w holds data.
func (e *env) wantStaged(w pfs.Staged, data []byte) {
	e.Helper()
	p := make([]byte, len(data))
	n, err := w.ReadAt(e.ctx, p, 0)
	if err != nil && err != io.EOF {
		e.ok(err)
	}
	if n != len(data) || !bytes.Equal(p, data) {
		e.Fatalf("staged are %s, want %s", brief(p[:n]), brief(data))
	}
}
