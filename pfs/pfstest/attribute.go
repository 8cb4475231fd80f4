package pfstest

import (
	"errors"
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

var attributePromises = []promise{
	{says: "Chmod sets the permission bits and nothing else", needs: NoChmod | NoMode, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		MustMkdir(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/dir/f", nil)
		for _, mode := range []fs.FileMode{0o600, 0o755, 0o640, 0o777} {
			want := MustStat(e, e.fs, "/f")
			e.ok(pfs.SetAttr(e.ctx, e.fs, "/f", pfs.AttrMode, pfs.Attrs{Mode: mode}))
			got := MustStat(e, e.fs, "/f")
			want.Mode, want.Version = mode, got.Version
			e.sameInfo("the file", got, want)
			e.ok(pfs.SetAttr(e.ctx, e.fs, "/dir", pfs.AttrMode, pfs.Attrs{Mode: mode}))
			if got := MustStat(e, e.fs, "/dir").Mode; got != fs.ModeDir|mode {
				e.Errorf("mode of the directory = %v, want %v", got, fs.ModeDir|mode)
			}
		}
		WantFile(e, e.fs, "/f", []byte("content"))
	}},
	{says: "Chtime sets the modification time and nothing else", needs: NoChtime, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		MustMkdir(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/dir/f", nil)
		for _, at := range []time.Time{time.Unix(1, 0), time.Unix(1e9, 999_999_999), time.Unix(4e9, 0)} {
			want := MustStat(e, e.fs, "/f")
			e.ok(pfs.SetAttr(e.ctx, e.fs, "/f", pfs.AttrModTime, pfs.Attrs{ModTime: at}))
			got := MustStat(e, e.fs, "/f")
			e.sameTime("time of the file", got.ModTime, at)
			want.ModTime, want.Version = got.ModTime, got.Version
			e.sameInfo("the file", got, want)
			e.ok(pfs.SetAttr(e.ctx, e.fs, "/dir", pfs.AttrModTime, pfs.Attrs{ModTime: at}))
			e.sameTime("time of the directory", MustStat(e, e.fs, "/dir").ModTime, at)
		}
		WantFile(e, e.fs, "/f", []byte("content"))
	}},
	{says: "the stored digest stays valid after Chtime and Chmod", needs: NoChtime | NoKeptDigest, check: func(e *env) {
		data := Pattern(1, 1000)
		WriteFileWith(e, e.fs, "/f", data, pfs.CommitOptions{Digest: digest.Bytes(data)})
		e.ok(pfs.SetAttr(e.ctx, e.fs, "/f", pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(1e9, 0)}))
		if !e.lacks(NoChmod) {
			e.ok(pfs.SetAttr(e.ctx, e.fs, "/f", pfs.AttrMode, pfs.Attrs{Mode: 0o600}))
		}
		if got := MustStat(e, e.fs, "/f").Digest; got != digest.Bytes(data) {
			e.Errorf("digest = %q, want %q", got, digest.Bytes(data))
		}
	}},
	// It commits with a wrong digest, which Digest must not return. A file system that compares may
	// refuse it.
	{says: "Digest is computed from the stored bytes", needs: NoDigester, check: func(e *env) {
		for _, size := range []int{0, 1, 100_000, pfs.ChunkSize, pfs.ChunkSize + 1} {
			data := Pattern(1, size)
			w := e.stage("/f", pfs.CreateOptions{}, data)
			_, err := w.Commit(e.ctx, pfs.CommitOptions{Size: int64(size), Digest: digest.Bytes([]byte("other"))})
			if errors.Is(err, pfs.Integrity) {
				_, err = w.Commit(e.ctx, pfs.CommitOptions{Size: int64(size)})
			}
			e.ok(err)
			for _, algorithm := range []string{digest.XXH3, digest.BLAKE3} {
				want := digestOfBytes(data, algorithm)
				got, err := digestOf(e.ctx, e.fs, "/f", algorithm)
				e.ok(err)
				if got != want {
					e.Errorf("%s of %d bytes = %q, want %q", algorithm, size, got, want)
				}
			}
		}
	}},
	{says: "Digest of an unknown algorithm answers Unsupported", check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		e.want(errOf(digestOf(e.ctx, e.fs, "/f", "md5-of-the-moon")), pfs.Unsupported, "/f", "")
	}},
	{says: "SpaceOf returns the size of the store", needs: NoSpaceReport, check: func(e *env) {
		s, err := pfs.SpaceOf(e.ctx, e.fs, pfs.Root)
		e.ok(err)
		if s.Total <= 0 || s.Free < 0 || s.Used < 0 || s.Used+s.Free > s.Total {
			e.Errorf("Space = %+v", s)
		}
	}},
	{says: "Sweep removes uploads of that age and no others", needs: NoSweep, check: func(e *env) {
		MustMkdir(e, e.fs, "/a/b")
		WriteFile(e, e.fs, "/a/b/published", nil)
		MustMkdir(e, e.fs, "/ab")
		for _, name := range []pfs.Path{"/a/f", "/a/b/f", "/ab/f"} {
			w := e.create(name, pfs.CreateOptions{ID: someID})
			e.writeUnit(w, 0, w.Unit())
			e.ok(w.Suspend(e.ctx))
		}
		WriteFile(e, e.fs, "/a/published", []byte("content"))
		n, bytes, err := pfs.Sweep(e.ctx, e.fs, pfs.Root, 24*time.Hour)
		if n != 0 || bytes != 0 || err != nil {
			e.Fatalf("Sweep of what is a day old = %d, %d, %v", n, bytes, err)
		}
		n, bytes, err = pfs.Sweep(e.ctx, e.fs, "/a", 0)
		if n != 2 || bytes <= 0 || err != nil {
			e.Fatalf("Sweep of /a = %d, %d, %v, want 2 uploads", n, bytes, err)
		}
		e.wantGone("/a/f", someID)
		e.wantGone("/a/b/f", someID)
		if w := e.create("/ab/f", pfs.CreateOptions{ID: someID, Reopen: true}); !w.Resumed() {
			e.Error("the upload beside /a is gone")
		}
		WantFile(e, e.fs, "/a/published", []byte("content"))
		WantNames(e, e.fs, "/a", "b", "published")
	}},
}
