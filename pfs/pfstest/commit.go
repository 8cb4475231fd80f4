package pfstest

import (
	"context"
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

var commitPromises = []promise{
	{says: "Commit returns what Stat will say", check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		w := e.create("/dir/f", pfs.CreateOptions{})
		data := Pattern(1, 4321)
		e.put(w, data)
		got, err := w.Commit(e.ctx, pfs.CommitOptions{
			Size: 4321, Mode: 0o640, ModTime: time.Unix(1_400_000_000, 0), Digest: digest.Bytes(data),
		})
		e.ok(err)
		e.sameInfo("what Commit returns", got, MustStat(e, e.fs, "/dir/f"))
		if got.Name != "f" || got.Size != 4321 || !got.IsRegular() {
			e.Errorf("Commit returns %+v", got)
		}
	}},
	{says: "Commit of fewer bytes than Size answers Integrity and keeps the upload", check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("old"))
		w := e.create("/f", pfs.CreateOptions{})
		data := Pattern(1, 1000)
		e.put(w, data[:900])
		e.want(errOf(w.Commit(e.ctx, pfs.CommitOptions{Size: 1000})), pfs.Integrity, "/f")
		WantFile(e, e.fs, "/f", []byte("old"))
		e.ok(errOf(w.WriteAt(e.ctx, data[900:], 900)))
		e.commit(w, 1000)
		WantFile(e, e.fs, "/f", data)
	}},
	{says: "preallocation does not hide that bytes are missing", check: func(e *env) {
		w := e.stage("/f", pfs.CreateOptions{ID: someID, Size: 100_000}, Pattern(1, 1000))
		e.want(errOf(w.Commit(e.ctx, pfs.CommitOptions{Size: 100_000})), pfs.Integrity, "/f")
		e.ok(w.Suspend(e.ctx))
		w = e.create("/f", pfs.CreateOptions{ID: someID, Size: 100_000})
		e.want(errOf(w.Commit(e.ctx, pfs.CommitOptions{Size: 100_000})), pfs.Integrity, "/f")
		WantAbsent(e, e.fs, "/f")
	}},
	{says: "Commit cuts off what was staged beyond Size", check: func(e *env) {
		for _, size := range []int{0, 1, 999, 60_000} {
			w := e.stage("/f", pfs.CreateOptions{}, Pattern(1, 100_000))
			if got := e.commit(w, size).Size; got != int64(size) {
				e.Errorf("size = %d, want %d", got, size)
			}
			WantFile(e, e.fs, "/f", Pattern(1, size))
		}
	}},
	{says: "Commit of nothing is an empty file", check: func(e *env) {
		w := e.create("/f", pfs.CreateOptions{})
		e.commit(w, 0)
		WantFile(e, e.fs, "/f", nil)
		WantNames(e, e.fs, pfs.Root, "f")
	}},
	{says: "Commit replaces a file with all its attributes", check: func(e *env) {
		WriteFileWith(e, e.fs, "/f", Pattern(1, 5000), pfs.CommitOptions{
			Mode: 0o600, ModTime: time.Unix(1e9, 0), Digest: digest.Bytes(Pattern(1, 5000)),
		})
		WriteFile(e, e.fs, "/f", Pattern(2, 100))
		WantFile(e, e.fs, "/f", Pattern(2, 100))
		info := MustStat(e, e.fs, "/f")
		e.wantDigest(info, Pattern(2, 100))
		if !e.lacks(NoMode) && info.Mode != 0o644 {
			e.Errorf("mode = %v, want the default 0644", info.Mode)
		}
		if time.Since(info.ModTime) > time.Hour {
			e.Errorf("time = %v, want now", info.ModTime)
		}
		WantNames(e, e.fs, pfs.Root, "f")
	}},
	{says: "Commit over a link replaces the link, not what it leads to", needs: NoSymlink, check: func(e *env) {
		WriteFile(e, e.fs, "/target", []byte("target"))
		MustLink(e, e.fs, "target", "/link")
		MustLink(e, e.fs, "nowhere", "/dangling")
		for _, name := range []pfs.Path{"/link", "/dangling"} {
			WriteFile(e, e.fs, name, []byte("file"))
			WantFile(e, e.fs, name, []byte("file"))
			if info := MustStat(e, e.fs, name); !info.IsRegular() || info.Target != "" {
				e.Errorf("%s is %+v, want a file", name, info)
			}
		}
		WantFile(e, e.fs, "/target", []byte("target"))
		WantAbsent(e, e.fs, "/nowhere")
	}},
	{says: "Commit over a directory answers IsDir and keeps the upload", needs: NoEmptyDir, check: func(e *env) {
		w := e.stage("/name", pfs.CreateOptions{}, []byte("content"))
		MustMkdir(e, e.fs, "/name")
		e.want(errOf(w.Commit(e.ctx, pfs.CommitOptions{Size: 7})), pfs.IsDir, "/name")
		WantNames(e, e.fs, "/name")
		e.ok(e.fs.Remove(e.ctx, "/name"))
		e.commit(w, 7)
		WantFile(e, e.fs, "/name", []byte("content"))
	}},
	{says: "Commit with NoReplace answers Exist if something has the name", needs: NoExclusiveCommit, check: func(e *env) {
		exclusive := pfs.CommitOptions{Size: 3, NoReplace: true}
		w := e.stage("/f", pfs.CreateOptions{}, []byte("new"))
		WriteFile(e, e.fs, "/f", []byte("there first"))
		e.want(errOf(w.Commit(e.ctx, exclusive)), pfs.Exist, "/f")
		WantFile(e, e.fs, "/f", []byte("there first"))
		e.ok(e.fs.Remove(e.ctx, "/f"))
		e.ok(errOf(w.Commit(e.ctx, exclusive)))
		e.ok(errOf(w.Commit(e.ctx, exclusive)))
		WantFile(e, e.fs, "/f", []byte("new"))
		if e.lacks(NoSymlink) {
			return
		}
		MustLink(e, e.fs, "nowhere", "/link")
		w = e.stage("/link", pfs.CreateOptions{}, []byte("new"))
		e.want(errOf(w.Commit(e.ctx, exclusive)), pfs.Exist, "/link")
	}},
	{says: "a second Commit succeeds and changes nothing", check: func(e *env) {
		w := e.stage("/f", pfs.CreateOptions{}, Pattern(1, 1000))
		first := e.commit(w, 1000)
		e.sameInfo("what the second Commit returns", e.commit(w, 1000), first)
		e.sameInfo("the file", MustStat(e, e.fs, "/f"), first)
	}},
	{says: "Commit through another Staged of the ID succeeds", check: func(e *env) {
		w := e.stage("/f", pfs.CreateOptions{ID: someID}, Pattern(1, 1000))
		e.ok(w.Sync(e.ctx))
		other := e.create("/f", pfs.CreateOptions{ID: someID, Reopen: true})
		e.commit(w, 1000)
		e.commit(other, 1000)
		WantFile(e, e.fs, "/f", Pattern(1, 1000))
		WantNames(e, e.fs, pfs.Root, "f")
	}},
	{says: "Commit can be repeated by a caller that did not get the answer", needs: NoCommitMemory, check: func(e *env) {
		w := e.stage("/f", pfs.CreateOptions{ID: someID}, Pattern(1, 1000))
		first := e.commit(w, 1000)
		if e.opts.Reopen != nil {
			e.elsewhere()
		}
		again := pfs.CommitOptions{Size: 1000, NoReplace: !e.lacks(NoExclusiveCommit)}
		for range 2 {
			info, err := e.create("/f", pfs.CreateOptions{ID: someID}).Commit(e.ctx, again)
			e.ok(err)
			e.sameInfo("what the retried Commit returns", info, first)
		}
		w = e.stage("/f", pfs.CreateOptions{ID: someID}, Pattern(1, 1000))
		e.ok(errOf(w.Commit(e.ctx, again)))
		WantFile(e, e.fs, "/f", Pattern(1, 1000))
		WantNames(e, e.fs, pfs.Root, "f")
	}},
	{says: "a committed ID that is written again is a new upload", check: func(e *env) {
		w := e.stage("/f", pfs.CreateOptions{ID: someID}, Pattern(1, 1000))
		e.commit(w, 1000)
		for i, size := range []int{1000, 2000, 500} {
			before, after := ReadFile(e, e.fs, "/f"), Pattern(uint64(i)+2, size)
			w = e.stage("/f", pfs.CreateOptions{ID: someID}, after)
			WantFile(e, e.fs, "/f", before)
			e.commit(w, size)
			WantFile(e, e.fs, "/f", after)
		}
	}},
	{says: "the permission bits are kept", needs: NoMode, check: func(e *env) {
		for asked, want := range map[fs.FileMode]fs.FileMode{0: 0o644, 0o600: 0o600, 0o755: 0o755, 0o666: 0o666, 0o444: 0o444} {
			WriteFileWith(e, e.fs, "/f", []byte("content"), pfs.CommitOptions{Mode: asked})
			if got := MustStat(e, e.fs, "/f").Mode; got != want {
				e.Errorf("mode %v was kept as %v, want %v", asked, got, want)
			}
		}
	}},
	{says: "the modification time is kept to the stated precision", check: func(e *env) {
		for _, at := range []time.Time{time.Unix(1, 0), time.Unix(1e9, 123456789), time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC)} {
			WriteFileWith(e, e.fs, "/f", []byte("content"), pfs.CommitOptions{ModTime: at})
			e.sameTime("time", MustStat(e, e.fs, "/f").ModTime, at)
		}
		WriteFile(e, e.fs, "/f", []byte("content"))
		if got := MustStat(e, e.fs, "/f").ModTime; time.Since(got).Abs() > time.Minute {
			e.Errorf("the zero time is kept as %v, want now", got)
		}
	}},
	{says: "a digest is kept with the content it was made for", needs: NoKeptDigest, check: func(e *env) {
		data := Pattern(1, 5000)
		d := digest.Bytes(data)
		WriteFileWith(e, e.fs, "/f", data, pfs.CommitOptions{Digest: d, ModTime: time.Unix(1e9, 5)})
		if got := MustStat(e, e.fs, "/f").Digest; got != d {
			e.Fatalf("digest = %q, want %q", got, d)
		}
		if got := e.open("/f").Info().Digest; got != d {
			e.Errorf("digest of the open file = %q, want %q", got, d)
		}
		e.ok(e.fs.Rename(e.ctx, "/f", "/g"))
		if got := MustStat(e, e.fs, "/g").Digest; got != d {
			e.Errorf("digest after Rename = %q, want %q", got, d)
		}
		WriteFileWith(e, e.fs, "/g", Pattern(2, 5000), pfs.CommitOptions{ModTime: time.Unix(1e9, 5)})
		e.wantDigest(MustStat(e, e.fs, "/g"), Pattern(2, 5000))
	}},
}

// wantDigest fails if info has a digest other than that of data. The store may have computed one
// that was not given.
func (e *env) wantDigest(info pfs.Info, data []byte) {
	e.Helper()
	if info.Digest == "" {
		return
	}
	if want := digestOfBytes(data, digest.Algorithm(info.Digest)); info.Digest != want {
		e.Fatalf("%s has the digest %q, that of its content is %q", info.Name, info.Digest, want)
	}
}

// digestOfBytes computes a digest with the algorithm; empty if it is unknown.
func digestOfBytes(data []byte, algorithm string) string {
	read := func(p []byte, off int64) error { copy(p, data[off:]); return nil }
	d, _ := digest.Of(context.Background(), read, int64(len(data)), algorithm, 1, nil)
	return d
}
