package pfstest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// handlePromises are about files that are open for changes. A store that can only append is not
// checked for writes at other offsets.
var handlePromises = []promise{
	{says: "what is written in place is visible at once", needs: NoHandle | NoRandomWrite, check: func(e *env) {
		data := Pattern(1, 200_000)
		WriteFile(e, e.fs, "/f", data)
		h := e.handle("/f", readWrite)
		for _, off := range []int{0, 1, 65_535, 65_536, 131_000, 199_995} {
			e.overwrite(h, []byte("CHANGED"), int64(off))
			data = append(data[:off], append([]byte("CHANGED"), data[min(len(data), off+7):]...)...)
			WantFile(e, e.fs, "/f", data)
		}
		e.wantContent(h, data)
		e.ok(h.Sync(e.ctx))
	}},
	{says: "a gap reads as zeros", needs: NoHandle | NoRandomWrite, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("head"))
		e.overwrite(e.handle("/f", readWrite), []byte("tail"), 300_000)
		want := make([]byte, 300_004)
		copy(want, "head")
		copy(want[300_000:], "tail")
		WantFile(e, e.fs, "/f", want)
	}},
	{says: "Truncate cuts and lengthens", needs: NoHandle | NoRandomWrite, check: func(e *env) {
		data := Pattern(1, 200_000)
		WriteFile(e, e.fs, "/f", data)
		h := e.handle("/f", readWrite)
		for _, size := range []int{150_000, 70_000, 65_536, 10, 0, 100, 200_000} {
			e.ok(h.Truncate(e.ctx, int64(size)))
			if size < len(data) {
				data = data[:size]
			}
			data = append(data[:len(data):len(data)], make([]byte, size-len(data))...)
			WantFile(e, e.fs, "/f", data)
		}
	}},
	{says: "a change in place changes Version and time and drops the digest", needs: NoHandle | NoRandomWrite, check: func(e *env) {
		data := Pattern(1, 1000)
		WriteFileWith(e, e.fs, "/f", data, pfs.CommitOptions{ModTime: time.Unix(1e9, 0), Digest: digest.Bytes(data)})
		before := MustStat(e, e.fs, "/f")
		h := e.handle("/f", readWrite)
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
	}},
	{says: "a change of a file does not change its copy", needs: NoHandle | NoRandomWrite | NoCopy, check: func(e *env) {
		data := Pattern(1, 100_000)
		WriteFile(e, e.fs, "/f", data)
		e.ok(errOf(pfs.CopyInside(e.ctx, e.fs, "/f", "/copy", pfs.CopyOptions{}, nil)))
		h := e.handle("/f", readWrite)
		e.overwrite(h, []byte("changed"), 1000)
		e.ok(h.Truncate(e.ctx, 2000))
		e.ok(h.Truncate(e.ctx, 100_000))
		WantFile(e, e.fs, "/copy", data)
	}},
	{says: "negative offsets and sizes answer Invalid", needs: NoHandle | NoRandomWrite, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		h := e.handle("/f", readWrite)
		e.want(errOf(h.WriteAt(e.ctx, []byte("x"), -1)), pfs.Invalid, "/f")
		e.want(errOf(h.ReadAt(e.ctx, make([]byte, 1), -1)), pfs.Invalid, "/f")
		e.want(h.Truncate(e.ctx, -1), pfs.Invalid, "/f")
		WantFile(e, e.fs, "/f", []byte("content"))
	}},
	{says: "after Close a Handle answers Closed", needs: NoHandle, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		flags := readWrite
		if e.lacks(NoRandomWrite) {
			flags = pfs.OpenRead
		}
		h := e.handle("/f", flags)
		e.ok(h.Close(e.ctx))
		e.want(errOf(h.WriteAt(e.ctx, []byte("x"), 0)), pfs.Closed, "/f")
		e.want(errOf(h.ReadAt(e.ctx, make([]byte, 1), 0)), pfs.Closed, "/f")
		e.want(errOf(h.Stat(e.ctx)), pfs.Closed, "/f")
		e.want(h.Truncate(e.ctx, 0), pfs.Closed, "/f")
		e.want(h.Sync(e.ctx), pfs.Closed, "/f")
		e.ok(h.Close(e.ctx))
		WantFile(e, e.fs, "/f", []byte("content"))
	}},
	{says: "many goroutines may write through one Handle", needs: NoHandle | NoRandomWrite, check: func(e *env) {
		WriteFile(e, e.fs, "/f", nil)
		h := e.handle("/f", readWrite)
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
	}},
	{says: "a Handle reads the file after it was renamed, replaced or removed", needs: NoHandle, check: func(e *env) {
		e.eachMove(pfs.OpenRead, func(e *env, h pfs.Handle, move func(e *env) pfs.Path) {
			before, err := h.Stat(e.ctx)
			e.ok(err)
			now := move(e)
			if now == "" && e.lacks(NoRandomWrite) { // the store may delete a file without a name
				if _, err := h.ReadAt(e.ctx, make([]byte, 1), 0); err != nil {
					e.wantOneOf(err, []pfs.Kind{pfs.Conflict, pfs.Stale}, "/f")
					return
				}
			}
			e.wantContent(h, Pattern(1, 100_000))
			after, err := h.Stat(e.ctx)
			e.ok(err)
			if after.ID != before.ID || after.Name != "f" {
				e.Errorf("Stat = %q with ID %d, want %q with %d", after.Name, after.ID, "f", before.ID)
			}
		})
	}},
	{says: "a Handle writes the file after it was renamed, replaced or removed", needs: NoHandle | NoRandomWrite, check: func(e *env) {
		e.eachMove(readWrite, func(e *env, h pfs.Handle, move func(e *env) pfs.Path) {
			now := move(e)
			want := Pattern(1, 100_000)
			copy(want[70_000:], "changed")
			e.overwrite(h, []byte("changed"), 70_000)
			e.wantContent(h, want)
			e.ok(h.Truncate(e.ctx, 80_000))
			e.ok(h.Sync(e.ctx))
			e.wantContent(h, want[:80_000])
			if now != "" {
				WantFile(e, e.fs, now, want[:80_000])
			}
			if there, err := pfs.Exists(e.ctx, e.fs, "/f"); there || err != nil {
				WantFile(e, e.fs, "/f", []byte("another"))
			}
		})
	}},
	{says: "OpenCreate makes an empty file", needs: NoHandle | NoAppend, check: func(e *env) {
		e.want(errOf(pfs.OpenHandle(e.ctx, e.fs, "/f", pfs.OpenWrite|pfs.OpenAppend, 0o600)), pfs.NotExist, "/f")
		h, err := pfs.OpenHandle(e.ctx, e.fs, "/f", createAppend, 0o600)
		e.ok(err)
		info := MustStat(e, e.fs, "/f")
		if info.Size != 0 || !e.lacks(NoMode) && info.Mode != 0o600 {
			e.Errorf("Stat = %+v", info)
		}
		e.overwrite(h, []byte("content"), 0)
		e.ok(h.Close(e.ctx))
		WantFile(e, e.fs, "/f", []byte("content"))
		h = e.handle("/f", createAppend)
		e.ok(h.Close(e.ctx))
		WantFile(e, e.fs, "/f", []byte("content"))
	}},
	{says: "OpenExclusive answers Exist if the name exists", needs: NoHandle | NoAppend, check: func(e *env) {
		e.handle("/f", createAppend|pfs.OpenExclusive)
		MustMkdir(e, e.fs, "/dir")
		taken := []pfs.Path{"/f", "/dir"}
		if !e.lacks(NoSymlink) {
			MustLink(e, e.fs, "nowhere", "/link")
			taken = append(taken, "/link")
		}
		for _, name := range taken {
			e.want(errOf(pfs.OpenHandle(e.ctx, e.fs, name, createAppend|pfs.OpenExclusive, 0o600)), pfs.Exist, name)
		}
	}},
	{says: "OpenTruncate empties the file", needs: NoHandle | NoRandomWrite, check: func(e *env) {
		WriteFile(e, e.fs, "/f", Pattern(1, 100_000))
		h := e.handle("/f", readWrite|pfs.OpenTruncate)
		e.wantContent(h, nil)
		e.overwrite(h, []byte("new"), 0)
		WantFile(e, e.fs, "/f", []byte("new"))
	}},
	{says: "OpenAppend writes at the end, whatever the offset", needs: NoHandle | NoAppend, check: func(e *env) {
		data := Pattern(1, 100_000)
		WriteFile(e, e.fs, "/f", data)
		h := e.handle("/f", pfs.OpenWrite|pfs.OpenAppend)
		for _, off := range []int64{0, 100_000, 7} {
			if e.lacks(NoRandomWrite) {
				off = int64(len(data))
			}
			e.overwrite(h, []byte("more"), off)
			data = append(data, "more"...)
		}
		e.ok(h.Sync(e.ctx))
		e.ok(h.Close(e.ctx))
		WantFile(e, e.fs, "/f", data)
	}},
	{says: "appends through two Handles do not overwrite each other", needs: NoHandle | NoAppend | NoRandomWrite, check: func(e *env) {
		const writers, times, length = 2, 50, 100
		for _, err := range together(writers, func(i int) error {
			h, err := pfs.OpenHandle(e.ctx, e.fs, "/f", createAppend, 0o600)
			if err != nil {
				return err
			}
			for range times {
				if _, err := h.WriteAt(e.ctx, bytes.Repeat([]byte{byte('a' + i)}, length), 0); err != nil {
					return errors.Join(err, h.Close(e.ctx))
				}
			}
			return h.Close(e.ctx)
		}) {
			e.ok(err)
		}
		got := ReadFile(e, e.fs, "/f")
		for i := range writers {
			if n := bytes.Count(got, bytes.Repeat([]byte{byte('a' + i)}, length)); n != times {
				e.Errorf("%d of %d appends of writer %d are there", n, times, i)
			}
		}
		if len(got) != writers*times*length {
			e.Errorf("%d bytes, want %d", len(got), writers*times*length)
		}
	}},
	{says: "an access that a Handle is not open for answers Permission", needs: NoHandle, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		h := e.handle("/f", pfs.OpenRead)
		e.want(errOf(h.WriteAt(e.ctx, []byte("x"), 0)), pfs.Permission, "/f")
		e.want(h.Truncate(e.ctx, 0), pfs.Permission, "/f")
		e.wantContent(h, []byte("content"))
		if !e.lacks(NoAppend) {
			h = e.handle("/f", pfs.OpenWrite|pfs.OpenAppend)
			e.want(errOf(h.ReadAt(e.ctx, make([]byte, 1), 0)), pfs.Permission, "/f")
		}
		WantFile(e, e.fs, "/f", []byte("content"))
	}},
	{says: "invalid flags answer Invalid", needs: NoHandle, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		for _, flags := range []pfs.OpenFlags{
			0, pfs.OpenCreate, pfs.OpenRead | pfs.OpenCreate, pfs.OpenRead | pfs.OpenTruncate, pfs.OpenRead | pfs.OpenAppend,
			pfs.OpenWrite | pfs.OpenExclusive, 1 << 7,
		} {
			e.want(errOf(pfs.OpenHandle(e.ctx, e.fs, "/f", flags, 0o600)), pfs.Invalid, "/f")
		}
		WantFile(e, e.fs, "/f", []byte("content"))
	}},
	{says: "OpenHandle of a special file answers Invalid", needs: NoHandle | NoMknod, check: func(e *env) {
		e.ok(pfs.Mknod(e.ctx, e.fs, "/fifo", fs.ModeNamedPipe|0o600, 0))
		e.want(errOf(pfs.OpenHandle(e.ctx, e.fs, "/fifo", pfs.OpenRead, 0)), pfs.Invalid, "/fifo")
		e.want(errOf(pfs.OpenHandle(e.ctx, e.fs, "/fifo", readWrite|pfs.OpenCreate, 0o600)), pfs.Invalid, "/fifo")
	}},
	{says: "Allocate lengthens the file and keeps its content", needs: NoHandle | NoRandomWrite | NoAllocate, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		h := e.handle("/f", readWrite)
		e.ok(h.Allocate(e.ctx, 2, 3))
		e.wantContent(h, []byte("content"))
		e.ok(h.Allocate(e.ctx, 5, 5))
		e.wantContent(h, []byte("content\x00\x00\x00"))
		e.want(h.Allocate(e.ctx, -1, 5), pfs.Invalid, "/f")
	}},
	{says: "SetAttr of a Handle changes the open file", needs: NoHandle | NoRandomWrite | NoChtime, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		h := e.handle("/f", readWrite)
		e.ok(e.fs.Rename(e.ctx, "/f", "/moved"))
		at := time.Unix(1e9, 0)
		e.ok(h.SetAttr(e.ctx, pfs.AttrSize, pfs.Attrs{Size: 3}))
		err := h.SetAttr(e.ctx, pfs.AttrModTime, pfs.Attrs{ModTime: at})
		WantFile(e, e.fs, "/moved", []byte("con"))
		if e.lacks(NoHandleTime) {
			e.want(err, pfs.Unsupported, "/f")
		} else {
			e.ok(err)
			e.sameTime("time of the file", MustStat(e, e.fs, "/moved").ModTime, at)
		}
		e.want(e.handle("/moved", pfs.OpenRead).SetAttr(e.ctx, pfs.AttrSize, pfs.Attrs{}), pfs.Permission, "/moved")
		e.want(h.SetAttr(e.ctx, pfs.AttrSize, pfs.Attrs{Size: -1}), pfs.Invalid, "/f")
	}},
	{says: "a store that only appends answers Unsupported to other writes", needs: NoHandle | NoAppend, only: NoRandomWrite, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		if h, err := pfs.OpenHandle(e.ctx, e.fs, "/f", pfs.OpenWrite, 0); err == nil {
			e.want(errOf(h.WriteAt(e.ctx, []byte("x"), 3)), pfs.Unsupported, "/f")
			e.ok(h.Close(e.ctx))
		} else {
			e.want(err, pfs.Unsupported, "/f")
		}
		WantFile(e, e.fs, "/f", []byte("content"))
	}},
	{says: "random steps on Handles have the same results as on memfs", check: checkHandleModel, needs: NoHandle | NoAppend | NoRandomWrite},
}

const readWrite = pfs.OpenRead | pfs.OpenWrite

// handle opens name until the end of the test.
func (e *env) handle(name pfs.Path, flags pfs.OpenFlags) pfs.Handle {
	e.Helper()
	h, err := pfs.OpenHandle(e.ctx, e.fs, name, flags, 0o644)
	e.ok(err)
	e.Cleanup(func() { h.Close(context.WithoutCancel(e.ctx)) })
	return h
}

// overwrite writes data through h.
func (e *env) overwrite(h pfs.Handle, data []byte, off int64) {
	e.Helper()
	n, err := h.WriteAt(e.ctx, data, off)
	if n != len(data) || err != nil {
		e.Fatalf("WriteAt of %d at %d = %d, %v", len(data), off, n, err)
	}
}

// wantContent fails unless h reads as want.
func (e *env) wantContent(h pfs.Handle, want []byte) {
	e.Helper()
	got := make([]byte, len(want)+1)
	n, err := h.ReadAt(e.ctx, got, 0)
	if n != len(want) || err != io.EOF || !bytes.Equal(got[:n], want) {
		e.Fatalf("ReadAt through the Handle = %s, %v, want %s", brief(got[:n]), err, brief(want))
	}
	if info, err := h.Stat(e.ctx); err != nil || info.Size != int64(len(want)) {
		e.Fatalf("Stat of the Handle = %d bytes, %v, want %d", info.Size, err, len(want))
	}
}

// moves remove the name /f of a file in every possible way, and return the file's new name, if it
// has one.
var moves = map[string]func(e *env) pfs.Path{
	"renamed": func(e *env) pfs.Path {
		e.ok(e.fs.Rename(e.ctx, "/f", "/moved"))
		return "/moved"
	},
	"replaced": func(e *env) pfs.Path {
		WriteFile(e, e.fs, "/f", []byte("another"))
		return ""
	},
	"renamed over": func(e *env) pfs.Path {
		WriteFile(e, e.fs, "/other", []byte("another"))
		e.ok(e.fs.Rename(e.ctx, "/other", "/f"))
		return ""
	},
	"removed": func(e *env) pfs.Path {
		e.ok(e.fs.Remove(e.ctx, "/f"))
		return ""
	},
}

// eachMove runs check once for each of the moves, with /f open.
func (e *env) eachMove(flags pfs.OpenFlags, check func(e *env, h pfs.Handle, move func(e *env) pfs.Path)) {
	for name, move := range moves {
		e.Run(name, func(t *testing.T) {
			e := newEnv(t, e.opts)
			WriteFile(e, e.fs, "/f", Pattern(1, 100_000))
			check(e, e.handle("/f", flags), move)
		})
	}
}

const createAppend = pfs.OpenWrite | pfs.OpenCreate | pfs.OpenAppend
