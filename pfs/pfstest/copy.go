package pfstest

import (
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

var copyPromises = []promise{
	{says: "CopyInside copies content, mode, time and digest", needs: NoCopy, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		for _, size := range []int{0, 1, 100_000, pfs.ChunkSize, 2*pfs.ChunkSize + 1} {
			data := Pattern(1, size)
			WriteFileWith(e, e.fs, "/f", data, pfs.CommitOptions{
				Mode: 0o640, ModTime: time.Unix(1e9, 123456789), Digest: digest.Bytes(data),
			})
			got := e.copy("/f", "/dir/copy", pfs.CopyOptions{})
			e.sameInfo("what CopyInside returns", got, MustStat(e, e.fs, "/dir/copy"))
			want := MustStat(e, e.fs, "/f")
			want.Name, want.Version = "copy", got.Version
			e.sameInfo("the copy", got, want)
			WantFile(e, e.fs, "/dir/copy", data)
			WantFile(e, e.fs, "/f", data)
		}
		WantNames(e, e.fs, "/dir", "copy")
	}},
	{says: "CopyInside replaces a file, and a link itself", needs: NoCopy, check: func(e *env) {
		WriteFile(e, e.fs, "/f", Pattern(1, 1000))
		WriteFile(e, e.fs, "/target", Pattern(2, 2000))
		e.copy("/f", "/target", pfs.CopyOptions{})
		WantFile(e, e.fs, "/target", Pattern(1, 1000))
		if e.lacks(NoSymlink) {
			return
		}
		WriteFile(e, e.fs, "/target", Pattern(2, 2000))
		MustLink(e, e.fs, "target", "/link")
		e.copy("/f", "/link", pfs.CopyOptions{})
		WantFile(e, e.fs, "/link", Pattern(1, 1000))
		WantFile(e, e.fs, "/target", Pattern(2, 2000))
	}},
	// Both success and failure are right.
	{says: "CopyInside of a file onto itself does not change it", needs: NoCopy, check: func(e *env) {
		WriteFile(e, e.fs, "/f", Pattern(1, 1000))
		if _, err := pfs.CopyInside(e.ctx, e.fs, "/f", "/f", pfs.CopyOptions{}, nil); err != nil {
			e.wantOneOf(err, []pfs.Kind{pfs.Invalid, pfs.Exist}, "/f")
		}
		WantFile(e, e.fs, "/f", Pattern(1, 1000))
		WantNames(e, e.fs, pfs.Root, "f")
	}},
	{says: "CopyInside with NewTime gives the copy the present time", needs: NoCopy, check: func(e *env) {
		WriteFileWith(e, e.fs, "/f", Pattern(1, 1000), pfs.CommitOptions{ModTime: time.Unix(1e9, 0)})
		got := e.copy("/f", "/copy", pfs.CopyOptions{NewTime: true}).ModTime
		if time.Since(got).Abs() > time.Minute {
			e.Errorf("time = %v, want now", got)
		}
	}},
	{says: "CopyInside with NoReplace answers Exist if something has the name", needs: NoExclusiveCommit | NoCopy, check: func(e *env) {
		WriteFile(e, e.fs, "/f", Pattern(1, 1000))
		e.copy("/f", "/copy", pfs.CopyOptions{NoReplace: true})
		WriteFile(e, e.fs, "/f", Pattern(2, 1000))
		e.want(errOf(pfs.CopyInside(e.ctx, e.fs, "/f", "/copy", pfs.CopyOptions{NoReplace: true}, nil)), pfs.Exist, "/copy")
		WantFile(e, e.fs, "/copy", Pattern(1, 1000))
	}},
	{says: "CopyInside reports its progress", needs: NoCopy, check: func(e *env) {
		size := int64(3*pfs.ChunkSize + 5)
		WriteFile(e, e.fs, "/f", Pattern(1, int(size)))
		var last int64
		_, err := pfs.CopyInside(e.ctx, e.fs, "/f", "/copy", pfs.CopyOptions{}, func(done int64) {
			if done < last || done > size {
				e.Errorf("progress went from %d to %d of %d", last, done, size)
			}
			last = done
		})
		e.ok(err)
	}},
	{says: "CopyInside with an ID can be repeated", needs: NoCopy, check: func(e *env) {
		WriteFile(e, e.fs, "/f", Pattern(1, 1000))
		exclusive := !e.lacks(NoExclusiveCommit | NoCommitMemory)
		for range 3 {
			e.copy("/f", "/copy", pfs.CopyOptions{ID: someID, NoReplace: exclusive})
			WantFile(e, e.fs, "/copy", Pattern(1, 1000))
		}
		WriteFile(e, e.fs, "/f", Pattern(2, 1000))
		e.copy("/f", "/copy", pfs.CopyOptions{ID: someID})
		WantFile(e, e.fs, "/copy", Pattern(2, 1000))
		WantNames(e, e.fs, pfs.Root, "copy", "f")
		WantKind(e, errOf(pfs.CopyInside(e.ctx, e.fs, "/f", "/copy", pfs.CopyOptions{ID: "No ID"}, nil)), pfs.Invalid)
	}},
}

func (e *env) copy(src, dst pfs.Path, opts pfs.CopyOptions) pfs.Info {
	e.Helper()
	info, err := pfs.CopyInside(e.ctx, e.fs, src, dst, opts, nil)
	e.ok(err)
	return info
}
