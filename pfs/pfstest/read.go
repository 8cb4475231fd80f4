package pfstest

import (
	"bytes"
	"io"
	"sync"
	"testing/iotest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

var readPromises = []promise{
	{says: "ReadAt fills the buffer or returns an error", check: func(e *env) {
		data := Pattern(1, 10_000)
		WriteFile(e, e.fs, "/f", data)
		f := e.open("/f")
		for _, r := range []struct{ off, n int }{{0, 1}, {0, 10_000}, {1, 9998}, {511, 2}, {512, 512}, {4095, 4098}, {9999, 1}} {
			p := make([]byte, r.n)
			n, err := f.ReadAt(e.ctx, p, int64(r.off))
			if n != r.n || (err != nil && err != io.EOF) || (err == io.EOF && r.off+r.n < len(data)) {
				e.Errorf("ReadAt of %d at %d = %d, %v", r.n, r.off, n, err)
			}
			if !bytes.Equal(p[:n], data[r.off:r.off+n]) {
				e.Errorf("ReadAt of %d at %d gives wrong bytes", r.n, r.off)
			}
		}
		if n, err := f.ReadAt(e.ctx, nil, 5); n != 0 || (err != nil && err != io.EOF) {
			e.Errorf("ReadAt of nothing = %d, %v", n, err)
		}
	}},
	{says: "ReadAt at and after the end is io.EOF", check: func(e *env) {
		data := Pattern(1, 1000)
		WriteFile(e, e.fs, "/f", data)
		f := e.open("/f")
		for _, r := range []struct {
			off  int64
			n    int
			want int
		}{{990, 20, 10}, {999, 2, 1}, {0, 1001, 1000}, {1000, 1, 0}, {1001, 1, 0}, {1 << 40, 1, 0}} {
			p := make([]byte, r.n)
			n, err := f.ReadAt(e.ctx, p, r.off)
			if n != r.want || err != io.EOF {
				e.Errorf("ReadAt of %d at %d of 1000 = %d, %v, want %d, EOF", r.n, r.off, n, err, r.want)
			} else if !bytes.Equal(p[:n], data[min(r.off, 1000):][:n]) {
				e.Errorf("ReadAt of %d at %d gives wrong bytes", r.n, r.off)
			}
		}
	}},
	{says: "ReadAt takes buffers larger than a chunk", check: func(e *env) {
		data := Pattern(1, 2*pfs.ChunkSize+77)
		WriteFile(e, e.fs, "/f", data)
		p := make([]byte, len(data)-1)
		if n, err := e.open("/f").ReadAt(e.ctx, p, 0); n != len(p) || err != nil {
			e.Fatalf("ReadAt of %d = %d, %v", len(p), n, err)
		}
		if !bytes.Equal(p, data[:len(p)]) {
			e.Error("wrong bytes")
		}
	}},
	{says: "ReadAt at a negative offset answers Invalid", check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		n, err := e.open("/f").ReadAt(e.ctx, make([]byte, 4), -1)
		e.want(err, pfs.Invalid, "/f")
		if n != 0 {
			e.Errorf("n = %d with an error about the offset", n)
		}
	}},
	{says: "an empty file reads as io.EOF", check: func(e *env) {
		WriteFile(e, e.fs, "/f", nil)
		f := e.open("/f")
		if n, err := f.ReadAt(e.ctx, make([]byte, 1), 0); n != 0 || err != io.EOF {
			e.Errorf("ReadAt of an empty file = %d, %v, want 0, EOF", n, err)
		}
		if size := f.Info().Size; size != 0 {
			e.Errorf("size = %d", size)
		}
	}},
	{says: "a Reader behaves as package io requires", check: func(e *env) {
		data := Pattern(1, 3000)
		WriteFile(e, e.fs, "/f", data)
		e.ok(iotest.TestReader(pfs.NewReader(e.ctx, e.open("/f")), data))
	}},
	{says: "File.Info describes what is read", check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/dir/f", Pattern(1, 1234))
		e.sameInfo("File.Info", e.open("/dir/f").Info(), MustStat(e, e.fs, "/dir/f"))
	}},
	{says: "many goroutines may read one File", check: func(e *env) {
		data := Pattern(1, 300_000)
		WriteFile(e, e.fs, "/f", data)
		f := e.open("/f")
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				p := make([]byte, 1000)
				for off := g * 100; off+len(p) < len(data); off += 8 * 999 {
					if err := pfs.ReadFull(e.ctx, f, p, int64(off)); err != nil {
						e.Errorf("ReadAt %d: %v", off, err)
					} else if !bytes.Equal(p, data[off:off+len(p)]) {
						e.Errorf("ReadAt %d gives wrong bytes", off)
					}
				}
			})
		}
		wg.Wait()
	}},
	{says: "after Close a File answers Closed", check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		f := e.open("/f")
		e.ok(f.Close())
		e.want(errOf(f.ReadAt(e.ctx, make([]byte, 1), 0)), pfs.Closed, "/f")
		e.ok(f.Close())
	}},
	// Name, size and time stay the same. A version that depends on these alone would not change.
	{says: "every change of the content changes Version", needs: WeakVersion, check: func(e *env) {
		seen := map[string]int{}
		for i := range 50 {
			WriteFileWith(e, e.fs, "/f", Pattern(uint64(i), 100), pfs.CommitOptions{ModTime: time.Unix(1e9, 0)})
			v := MustStat(e, e.fs, "/f").Version
			if v == "" {
				e.Fatal("Stat of a file gives no Version")
			}
			if before, ok := seen[v]; ok {
				e.Fatalf("contents %d and %d have both the Version %q", before, i, v)
			}
			seen[v] = i
		}
	}},
	{says: "Version stays while the content does", check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/dir/f", []byte("content"))
		before := MustStat(e, e.fs, "/dir/f").Version
		ReadFile(e, e.fs, "/dir/f")
		WriteFile(e, e.fs, "/dir/g", []byte("another"))
		if after := MustStat(e, e.fs, "/dir/f").Version; after != before {
			e.Errorf("Version of a file that nobody changed went from %q to %q", before, after)
		}
	}},
	// The file is read once before the content is replaced, so that a store that opens late has opened,
	// and once without.
	{says: "a File reads the old content, or refuses, after it is replaced", check: func(e *env) {
		old := Pattern(1, 100_000)
		for _, size := range []int{50_000, 100_000, 200_000} {
			for _, early := range []bool{false, true} {
				WriteFile(e, e.fs, "/f", old)
				f := e.open("/f")
				if early {
					e.ok(pfs.ReadFull(e.ctx, f, make([]byte, 10), 0))
				}
				WriteFile(e, e.fs, "/f", Pattern(2, size))
				e.wantOld(f, old, pfs.Conflict)
				WantFile(e, e.fs, "/f", Pattern(2, size))
			}
		}
	}},
	{says: "a File reads the old content, or refuses, after it is removed", check: func(e *env) {
		old := Pattern(1, 100_000)
		WriteFile(e, e.fs, "/f", old)
		WriteFile(e, e.fs, "/g", old)
		f, g := e.open("/f"), e.open("/g")
		e.ok(e.fs.Remove(e.ctx, "/f"))
		WriteFile(e, e.fs, "/new", Pattern(2, 100_000))
		e.ok(e.fs.Rename(e.ctx, "/new", "/g"))
		e.wantOld(f, old, pfs.Conflict, pfs.NotExist)
		e.wantOld(g, old, pfs.Conflict)
	}},
}

// open opens name until the end of the test.
func (e *env) open(name pfs.Path) pfs.File {
	e.Helper()
	f, err := e.fs.Open(e.ctx, name)
	e.ok(err)
	e.Cleanup(func() { f.Close() })
	return f
}

// wantOld fails unless f still reads old, or refuses with one of the kinds.
func (e *env) wantOld(f pfs.File, old []byte, kinds ...pfs.Kind) {
	e.Helper()
	p := make([]byte, len(old))
	n, err := f.ReadAt(e.ctx, p, 0)
	switch {
	case err != nil && err != io.EOF:
		e.wantOneOf(err, kinds, pfs.Root.Join(f.Info().Name))
	case n != len(old) || !bytes.Equal(p, old):
		e.Fatalf("ReadAt gives %s, want the old content or an error", brief(p[:n]))
	}
}
