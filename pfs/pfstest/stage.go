package pfstest

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

var stagePromises = []promise{
	{says: "an upload has no name before Commit", check: checkInvisible},
	{says: "an existing file does not change before Commit", check: checkInvisibleOver},
	{says: "Close without Commit discards", check: checkCloseDiscards},
	{says: "Close and Suspend after Commit do nothing", check: checkCloseAfterCommit},
	{says: "after Close or Suspend a Staged answers Closed", check: checkStagedClosed},
	{says: "units may be written out of order and in parallel", check: checkUnits},
	{says: "WriteAt takes buffers of any length", check: checkWriteLengths},
	{says: "WriteAt takes buffers larger than a chunk", check: checkWriteLarge},
	{says: "the same bytes may be written twice", check: checkWriteTwice},
	{says: "WriteAt at a negative offset answers Invalid", check: checkWriteNegative},
	{says: "staged bytes can be read back", check: checkReadBack, needs: NoReadStaged},
	{says: "the size given to Create is only a hint", check: checkSizeHint},
	{says: "Sync succeeds and publishes nothing", check: checkStagedSync, needs: NoReadStaged},
	{says: "LeafDigests are those of the staged bytes", check: checkLeafDigests, needs: NoLeafDigests},
	{says: "a directory that holds only uploads can be removed", check: checkStagedInRemoved, needs: NoEmptyDir},
	{says: "an upload in a removed directory publishes nothing", check: checkCommitInRemoved, needs: NoEmptyDir},
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
	_, err := w.WriteAt(e.ctx, data, 0)
	e.ok(err)
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
	_, err := e.fs.Create(e.ctx, name, pfs.CreateOptions{ID: id, Reopen: true})
	e.want(err, pfs.Conflict, name)
}

func checkInvisible(e *env) {
	MustMkdir(e, e.fs, "/dir")
	WriteFile(e, e.fs, "/dir/there", nil)
	w := e.create("/dir/f", pfs.CreateOptions{Size: 1000})
	e.put(w, Pattern(1, 1000))
	e.ok(w.Sync(e.ctx))
	WantAbsent(e, e.fs, "/dir/f")
	WantNames(e, e.fs, "/dir", "there")
	WantNames(e, e.fs, pfs.Root, "dir")
	_, err := e.fs.Open(e.ctx, "/dir/f")
	e.want(err, pfs.NotExist, "/dir/f")
	e.want(e.fs.Remove(e.ctx, "/dir/f"), pfs.NotExist, "/dir/f")
	e.commit(w, 1000)
	WantNames(e, e.fs, "/dir", "f", "there")
	WantFile(e, e.fs, "/dir/f", Pattern(1, 1000))
}

func checkInvisibleOver(e *env) {
	old := Pattern(1, 500)
	WriteFile(e, e.fs, "/f", old)
	before := MustStat(e, e.fs, "/f")
	w := e.create("/f", pfs.CreateOptions{})
	e.put(w, Pattern(2, 1000))
	e.sameInfo("the file that will be replaced", MustStat(e, e.fs, "/f"), before)
	WantFile(e, e.fs, "/f", old)
	e.ok(w.Close(e.ctx))
	e.sameInfo("the file that was not replaced", MustStat(e, e.fs, "/f"), before)
	WantFile(e, e.fs, "/f", old)
	if e.lacks(NoSymlink) {
		return
	}
	MustLink(e, e.fs, "f", "/link")
	w = e.create("/link", pfs.CreateOptions{})
	e.put(w, Pattern(2, 1000))
	e.ok(w.Close(e.ctx))
	if got := MustStat(e, e.fs, "/link").Target; got != "f" {
		e.Errorf("target of a link that was not replaced = %q", got)
	}
}

func checkCloseDiscards(e *env) {
	w := e.create("/f", pfs.CreateOptions{})
	e.put(w, Pattern(1, 1000))
	e.ok(w.Close(e.ctx))
	WantAbsent(e, e.fs, "/f")
	WantNames(e, e.fs, pfs.Root)
	e.wantGone("/f", w.ID())
	e.ok(w.Close(e.ctx))
}

func checkCloseAfterCommit(e *env) {
	w := e.create("/f", pfs.CreateOptions{})
	e.put(w, Pattern(1, 1000))
	e.commit(w, 1000)
	e.ok(w.Close(e.ctx))
	e.ok(w.Suspend(e.ctx))
	e.ok(w.Close(e.ctx))
	WantFile(e, e.fs, "/f", Pattern(1, 1000))
}

func checkStagedClosed(e *env) {
	ends := map[string]func(pfs.Staged, context.Context) error{"Close": pfs.Staged.Close, "Suspend": pfs.Staged.Suspend}
	for name, end := range ends {
		w := e.create("/f", pfs.CreateOptions{})
		e.put(w, []byte("content"))
		e.ok(end(w, e.ctx))
		e.Log("after " + name)
		_, err := w.WriteAt(e.ctx, []byte("x"), 0)
		e.want(err, pfs.Closed, "/f")
		_, err = w.ReadAt(e.ctx, make([]byte, 1), 0)
		e.want(err, pfs.Closed, "/f")
		e.want(w.Sync(e.ctx), pfs.Closed, "/f")
		_, err = w.Commit(e.ctx, pfs.CommitOptions{Size: 7})
		e.want(err, pfs.Closed, "/f")
		WantAbsent(e, e.fs, "/f")
	}
}

// checkUnits writes each unit in order and the units all at once, last one first.
func checkUnits(e *env) {
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
	_, err := w.Commit(e.ctx, pfs.CommitOptions{Size: size})
	e.ok(err)
	e.wantPattern("/f", size)
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

func checkWriteLengths(e *env) {
	w := e.create("/f", pfs.CreateOptions{})
	data := Pattern(1, pfs.ChunkSize+70_001)
	for off, n := 0, 1; off < len(data); n = n*7 + 3 {
		k, err := w.WriteAt(e.ctx, data[off:min(off+n, len(data))], int64(off))
		e.ok(err)
		off += k
	}
	e.commit(w, len(data))
	WantFile(e, e.fs, "/f", data)
}

func checkWriteLarge(e *env) {
	data := Pattern(1, 2*pfs.ChunkSize+77)
	w := e.create("/f", pfs.CreateOptions{})
	if n, err := w.WriteAt(e.ctx, data, 0); n != len(data) || err != nil {
		e.Fatalf("WriteAt of %d = %d, %v", len(data), n, err)
	}
	e.commit(w, len(data))
	WantFile(e, e.fs, "/f", data)
}

func checkWriteTwice(e *env) {
	data := Pattern(1, 10_000)
	w := e.create("/f", pfs.CreateOptions{})
	e.put(w, data)
	_, err := w.WriteAt(e.ctx, data[:5000], 0)
	e.ok(err)
	e.put(w, data)
	e.commit(w, len(data))
	WantFile(e, e.fs, "/f", data)
}

func checkWriteNegative(e *env) {
	w := e.create("/f", pfs.CreateOptions{})
	_, err := w.WriteAt(e.ctx, []byte("x"), -1)
	e.want(err, pfs.Invalid, "/f")
}

func checkReadBack(e *env) {
	data := Pattern(1, 10_000)
	w := e.create("/f", pfs.CreateOptions{})
	e.put(w, data)
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

func checkSizeHint(e *env) {
	for _, size := range []int64{1, 999, 1001, 50_000} {
		w := e.create("/f", pfs.CreateOptions{Size: size})
		e.put(w, Pattern(1, 1000))
		e.commit(w, 1000)
		WantFile(e, e.fs, "/f", Pattern(1, 1000))
	}
}

func checkStagedSync(e *env) {
	w := e.create("/f", pfs.CreateOptions{})
	e.ok(w.Sync(e.ctx))
	e.put(w, Pattern(1, 1000))
	e.ok(w.Sync(e.ctx))
	WantAbsent(e, e.fs, "/f")
	e.wantStaged(w, Pattern(1, 1000))
}

func checkStagedInRemoved(e *env) {
	MustMkdir(e, e.fs, "/dir")
	live := e.create("/dir/live", pfs.CreateOptions{})
	e.put(live, Pattern(1, 1000))
	kept := e.create("/dir/kept", pfs.CreateOptions{})
	e.put(kept, Pattern(1, 1000))
	e.ok(kept.Suspend(e.ctx))
	e.ok(e.fs.Remove(e.ctx, "/dir"))
	WantAbsent(e, e.fs, "/dir")
}

func checkCommitInRemoved(e *env) {
	MustMkdir(e, e.fs, "/dir")
	w := e.create("/dir/f", pfs.CreateOptions{})
	e.put(w, Pattern(1, 1000))
	e.ok(e.fs.Remove(e.ctx, "/dir"))
	_, err := w.Commit(e.ctx, pfs.CommitOptions{Size: 1000})
	e.wantOneOf(err, []pfs.Kind{pfs.NotExist, pfs.Conflict}, "/dir", "/dir/f")
	WantNames(e, e.fs, pfs.Root)
}
