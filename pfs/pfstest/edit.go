package pfstest

import (
	"io"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

var editPromises = []promise{
	{says: "what is written in place is visible at once", check: checkEdit, needs: NoEdit},
	{says: "a gap reads as zeros", check: checkEditGap, needs: NoEdit},
	{says: "Truncate cuts and lengthens", check: checkTruncate, needs: NoEdit},
	{says: "a change in place changes Version and time and drops the digest", check: checkEditInfo, needs: NoEdit},
	{says: "a change of one file is no change of its copy", check: checkEditCopy, needs: NoEdit | NoCopy},
	{says: "negative offsets and sizes answer Invalid", check: checkEditInvalid, needs: NoEdit},
	{says: "after Close a Handle answers Closed", check: checkEditClosed, needs: NoEdit},
	{says: "many goroutines may write through one Handle", check: checkEditConcurrently, needs: NoEdit},
}

// edit opens name for changes until the end of the test.
func (e *env) edit(name pfs.Path) pfs.Edited {
	e.Helper()
	h, err := pfs.Edit(e.ctx, e.fs, name)
	e.ok(err)
	e.Cleanup(func() { h.Close() })
	return h
}

// overwrite writes data through h.
func (e *env) overwrite(h pfs.Edited, data []byte, off int64) {
	e.Helper()
	n, err := h.WriteAt(e.ctx, data, off)
	if n != len(data) || err != nil {
		e.Fatalf("WriteAt of %d at %d = %d, %v", len(data), off, n, err)
	}
}

func checkEdit(e *env) {
	data := Pattern(1, 200_000)
	WriteFile(e, e.fs, "/f", data)
	h := e.edit("/f")
	for _, off := range []int{0, 1, 65_535, 65_536, 131_000, 199_995} {
		e.overwrite(h, []byte("CHANGED"), int64(off))
		data = append(data[:off], append([]byte("CHANGED"), data[min(len(data), off+7):]...)...)
		WantFile(e, e.fs, "/f", data)
	}
	got := make([]byte, len(data)+1)
	if n, err := h.ReadAt(e.ctx, got, 0); n != len(data) || err != io.EOF || string(got[:n]) != string(data) {
		e.Errorf("ReadAt through the Handle = %d, %v", n, err)
	}
	e.ok(h.Sync(e.ctx))
	if size := h.Info().Size; size != int64(len(data)) {
		e.Errorf("Info says %d bytes, want %d", size, len(data))
	}
}

func checkEditGap(e *env) {
	WriteFile(e, e.fs, "/f", []byte("head"))
	e.overwrite(e.edit("/f"), []byte("tail"), 300_000)
	want := make([]byte, 300_004)
	copy(want, "head")
	copy(want[300_000:], "tail")
	WantFile(e, e.fs, "/f", want)
}

func checkTruncate(e *env) {
	data := Pattern(1, 200_000)
	WriteFile(e, e.fs, "/f", data)
	h := e.edit("/f")
	for _, size := range []int{150_000, 70_000, 65_536, 10, 0, 100, 200_000} {
		e.ok(h.Truncate(e.ctx, int64(size)))
		if size < len(data) {
			data = data[:size]
		}
		data = append(data[:len(data):len(data)], make([]byte, size-len(data))...)
		WantFile(e, e.fs, "/f", data)
	}
}

func checkEditInfo(e *env) {
	data := Pattern(1, 1000)
	WriteFileWith(e, e.fs, "/f", data, pfs.CommitOptions{ModTime: time.Unix(1e9, 0), Digest: digest.Bytes(data)})
	before := MustStat(e, e.fs, "/f")
	h := e.edit("/f")
	e.overwrite(h, []byte("x"), 5)
	e.ok(h.Sync(e.ctx))
	after := MustStat(e, e.fs, "/f")
	if after.Version == before.Version {
		e.Errorf("Version is still %q", after.Version)
	}
	data[5] = 'x'
	e.wantDigest(after, data)
	if time.Since(after.ModTime).Abs() > time.Minute {
		e.Errorf("time = %v, want now", after.ModTime)
	}
}

func checkEditCopy(e *env) {
	data := Pattern(1, 100_000)
	WriteFile(e, e.fs, "/f", data)
	_, err := pfs.CopyInside(e.ctx, e.fs, "/f", "/copy", pfs.CopyOptions{}, nil)
	e.ok(err)
	h := e.edit("/f")
	e.overwrite(h, []byte("changed"), 1000)
	e.ok(h.Truncate(e.ctx, 2000))
	e.ok(h.Truncate(e.ctx, 100_000))
	WantFile(e, e.fs, "/copy", data)
}

func checkEditInvalid(e *env) {
	WriteFile(e, e.fs, "/f", []byte("content"))
	h := e.edit("/f")
	_, err := h.WriteAt(e.ctx, []byte("x"), -1)
	e.want(err, pfs.Invalid, "/f")
	_, err = h.ReadAt(e.ctx, make([]byte, 1), -1)
	e.want(err, pfs.Invalid, "/f")
	e.want(h.Truncate(e.ctx, -1), pfs.Invalid, "/f")
	WantFile(e, e.fs, "/f", []byte("content"))
}

func checkEditClosed(e *env) {
	WriteFile(e, e.fs, "/f", []byte("content"))
	h := e.edit("/f")
	e.ok(h.Close())
	_, err := h.WriteAt(e.ctx, []byte("x"), 0)
	e.want(err, pfs.Closed, "/f")
	_, err = h.ReadAt(e.ctx, make([]byte, 1), 0)
	e.want(err, pfs.Closed, "/f")
	e.want(h.Truncate(e.ctx, 0), pfs.Closed, "/f")
	e.want(h.Sync(e.ctx), pfs.Closed, "/f")
	e.ok(h.Close())
	WantFile(e, e.fs, "/f", []byte("content"))
}

func checkEditConcurrently(e *env) {
	WriteFile(e, e.fs, "/f", nil)
	h := e.edit("/f")
	for _, err := range together(8, func(i int) error {
		for off := i * 1000; off < 200_000; off += 8 * 1000 {
			p := make([]byte, 1000)
			fill(p, 1, int64(off))
			if _, err := h.WriteAt(e.ctx, p, int64(off)); err != nil {
				return err
			}
		}
		return nil
	}) {
		e.ok(err)
	}
	WantFile(e, e.fs, "/f", Pattern(1, 200_000))
}
