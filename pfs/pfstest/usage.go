package pfstest

import (
	"errors"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

var usagePromises = []promise{
	{says: "UsageOf counts what is below a directory, not itself", check: func(e *env) {
		e.wantUsage(pfs.Root, 0, 0, 0)
		MustMkdir(e, e.fs, "/a/b/c")
		WriteFile(e, e.fs, "/a/f", Pattern(1, 1000))
		WriteFile(e, e.fs, "/a/b/c/g", Pattern(1, 234))
		WriteFile(e, e.fs, "/h", nil)
		e.wantUsage(pfs.Root, 1234, 3, 3)
		e.wantUsage("/a", 1234, 2, 2)
		e.wantUsage("/a/b", 234, 1, 1)
		e.wantUsage("/a/b/c", 234, 1, 0)
	}},
	{says: "UsageOf follows every change", needs: NoRenameDir, check: func(e *env) {
		MustMkdir(e, e.fs, "/a/b")
		WriteFile(e, e.fs, "/a/b/f", Pattern(1, 1000))
		WriteFile(e, e.fs, "/a/b/f", Pattern(1, 300))
		e.wantUsage("/a", 300, 1, 1)
		if e.lacks(NoCopy) {
			WriteFile(e, e.fs, "/a/g", Pattern(1, 300))
		} else {
			e.copy("/a/b/f", "/a/g", pfs.CopyOptions{})
		}
		e.wantUsage("/a", 600, 2, 1)
		e.ok(e.fs.Rename(e.ctx, "/a/b", "/moved"))
		e.wantUsage("/a", 300, 1, 0)
		e.wantUsage("/moved", 300, 1, 0)
		e.ok(e.fs.Rename(e.ctx, "/a/g", "/moved/f"))
		e.wantUsage(pfs.Root, 300, 1, 2)
		if !e.lacks(NoHandle | NoRandomWrite | LateWrites) {
			e.overwrite(e.handle("/moved/f", readWrite), []byte("tail"), 996)
			e.wantUsage("/moved", 1000, 1, 0)
		}
		e.ok(pfs.RemoveTree(e.ctx, e.fs, "/moved"))
		e.ok(e.fs.Remove(e.ctx, "/a"))
		e.wantUsage(pfs.Root, 0, 0, 0)
	}},
	{says: "UsageOf does not count uploads as files", check: func(e *env) {
		w := e.stage("/f", pfs.CreateOptions{}, Pattern(1, 1000))
		e.ok(w.Sync(e.ctx))
		got, err := pfs.UsageOf(e.ctx, e.fs, pfs.Root)
		e.ok(err)
		if got.Files != 0 || got.Dirs != 0 {
			e.Errorf("usage is %+v while a file is staged", got)
		}
	}},
	{says: "SetQuota is seen in UsageOf and can be lifted", needs: NoQuota, check: func(e *env) {
		MustMkdir(e, e.fs, "/home")
		e.ok(pfs.SetQuota(e.ctx, e.fs, "/home", 12_345_678, 99))
		for _, want := range []pfs.Usage{{MaxBytes: 12_345_678, MaxFiles: 99}, {MaxBytes: 1 << 30}, {}} {
			e.ok(pfs.SetQuota(e.ctx, e.fs, "/home", want.MaxBytes, want.MaxFiles))
			got, err := pfs.UsageOf(e.ctx, e.fs, "/home")
			e.ok(err)
			if got.MaxStored != 0 && got.MaxStored < want.MaxBytes {
				e.Errorf("the copies have less than one: %+v", got)
			}
			if got.MaxStored = 0; got != want {
				e.Errorf("usage = %+v, want %+v", got, want)
			}
		}
	}},
	{says: "a write that would exceed the quota answers Quota", needs: NoQuota | LooseQuota, check: func(e *env) {
		const limit = "of the limit of 97.7 KiB (100000 bytes) for \"home\" are left"
		const left = "(40000 bytes) " + limit
		MustMkdir(e, e.fs, "/home")
		e.ok(pfs.SetQuota(e.ctx, e.fs, "/home", 100_000, 0))
		WriteFile(e, e.fs, "/home/f", Pattern(1, 60_000))
		e.wantOver(e.write("/home/g", Pattern(1, 60_000), pfs.CommitOptions{}), limit, "/home/g") // some stores refuse later than others
		WantAbsent(e, e.fs, "/home/g")
		if !e.lacks(NoCopy) {
			e.wantOver(errOf(pfs.CopyInside(e.ctx, e.fs, "/home/f", "/home/g", pfs.CopyOptions{}, nil)), left, "/home/g")
		}
		e.wantOver(pfs.WriteBatch(e.ctx, e.fs, []pfs.BatchEntry{{Path: "/home/g", Data: Pattern(1, 60_000)}})[0], left, "/home/g")
		if !e.lacks(NoHandle | NoRandomWrite | LateWrites) {
			e.wantOver(errOf(e.handle("/home/f", readWrite).WriteAt(e.ctx, []byte("x"), 100_000)), left, "/home/f")
		}
		WriteFile(e, e.fs, "/elsewhere", Pattern(1, 60_000))
		e.wantOver(e.fs.Rename(e.ctx, "/elsewhere", "/home/g"), left, "/elsewhere", "/home/g")
		e.wantUsage("/home", 60_000, 1, 0)
		WantFile(e, e.fs, "/home/f", Pattern(1, 60_000))
		e.ok(pfs.SetQuota(e.ctx, e.fs, "/home", 0, 0))
		e.ok(e.fs.Rename(e.ctx, "/elsewhere", "/home/g"))
	}},
	{says: "a file too many answers Quota", needs: NoQuota | LooseQuota, check: func(e *env) {
		const left = "0 of the limit of 3 files and directories for \"home\" are left"
		MustMkdir(e, e.fs, "/home")
		e.ok(pfs.SetQuota(e.ctx, e.fs, "/home", 0, 3))
		WriteFile(e, e.fs, "/home/a", nil)
		WriteFile(e, e.fs, "/home/b", nil)
		MustMkdir(e, e.fs, "/home/c")
		e.wantOver(e.write("/home/d", nil, pfs.CommitOptions{}), left, "/home/d")
		e.wantOver(e.fs.Mkdir(e.ctx, "/home/d", 0o755), left, "/home/d")
		e.ok(e.fs.Mkdir(e.ctx, "/home/c", 0o755))
		WriteFile(e, e.fs, "/home/a", []byte("replaced"))
		WantNames(e, e.fs, "/home", "a", "b", "c")
	}},
	{says: "a quota applies to everything below", needs: NoRenameDir | NoQuota | LooseQuota, check: func(e *env) {
		MustMkdir(e, e.fs, "/home/a/b/c", "/other")
		e.ok(pfs.SetQuota(e.ctx, e.fs, "/home", 100_000, 0))
		WriteFile(e, e.fs, "/home/a/f", Pattern(1, 60_000))
		e.want(e.write("/home/a/b/c/f", Pattern(1, 60_000), pfs.CommitOptions{}), pfs.Quota, "/home/a/b/c/f")
		e.ok(e.write("/other/f", Pattern(1, 60_000), pfs.CommitOptions{}))
		e.ok(e.fs.Rename(e.ctx, "/home/a/f", "/home/a/b/c/f"))
		e.want(e.fs.Rename(e.ctx, "/other", "/home/other"), pfs.Quota, "/other", "/home/other")
		WantFile(e, e.fs, "/other/f", Pattern(1, 60_000))
	}},
	{says: "an upload counts once, however often it is resumed", needs: NoQuota | LooseQuota, check: func(e *env) {
		MustMkdir(e, e.fs, "/home")
		e.ok(pfs.SetQuota(e.ctx, e.fs, "/home", 100_000, 1))
		content := Pattern(1, 90_000)
		opts := pfs.CreateOptions{ID: someID, Size: 90_000}
		first := e.stage("/home/f", opts, content)
		second := e.create("/home/f", opts) // while the first is open
		e.ok(second.Suspend(e.ctx))
		third := e.create("/home/f", opts)
		e.ok(first.Suspend(e.ctx))
		e.ok(third.Suspend(e.ctx))
		last := e.create("/home/f", opts) // while no other is open
		e.put(last, content)
		e.ok(errOf(last.Commit(e.ctx, pfs.CommitOptions{Size: 90_000})))
		e.wantUsage("/home", 90_000, 1, 0)
		WantFile(e, e.fs, "/home/f", content)
	}},
	{says: "removed and replaced files no longer count", needs: NoQuota | LooseQuota, check: func(e *env) {
		MustMkdir(e, e.fs, "/home")
		e.ok(pfs.SetQuota(e.ctx, e.fs, "/home", 100_000, 2))
		for range 3 {
			WriteFile(e, e.fs, "/home/f", Pattern(1, 90_000))
			WriteFile(e, e.fs, "/home/f", Pattern(2, 95_000))
			e.ok(e.fs.Remove(e.ctx, "/home/f"))
		}
		for i := range 3 {
			w := e.stage("/home/g", pfs.CreateOptions{Size: 90_000}, Pattern(uint64(i), 90_000))
			e.ok(w.Close(e.ctx))
		}
		_, err := e.fs.Create(e.ctx, "/home/g", pfs.CreateOptions{Size: 1 << 40})
		if err != nil && !errors.Is(err, pfs.Quota) && !errors.Is(err, pfs.NoSpace) {
			e.Errorf("Create of a size that cannot fit: %v", err)
		}
		e.wantUsage("/home", 0, 0, 0)
	}},
	{says: "a file that two uploads replace at the same time is subtracted once", needs: NoQuota | LooseQuota, check: func(e *env) {
		MustMkdir(e, e.fs, "/home")
		e.ok(pfs.SetQuota(e.ctx, e.fs, "/home", 100_000, 0))
		WriteFile(e, e.fs, "/home/f", Pattern(1, 30_000))
		var all []pfs.Staged
		for range 3 {
			all = append(all, e.create("/home/f", pfs.CreateOptions{}))
		}
		for i, w := range all {
			e.put(w, Pattern(uint64(i), 10))
			if i == 2 {
				e.ok(e.fs.Remove(e.ctx, "/home/f"))
			}
			e.ok(errOf(w.Commit(e.ctx, pfs.CommitOptions{Size: 10})))
			e.ok(w.Close(e.ctx))
		}
		e.wantUsage("/home", 10, 1, 0)
	}},
}

// wantUsage fails unless the tree below name has these totals.
func (e *env) wantUsage(name pfs.Path, bytes, files, dirs int64) {
	e.Helper()
	got, err := pfs.UsageOf(e.ctx, e.fs, name)
	e.ok(err)
	if got.Bytes != bytes || got.Files != files || got.Dirs != dirs {
		e.Fatalf("usage of %s is %d bytes, %d files, %d directories, want %d, %d, %d",
			name, got.Bytes, got.Files, got.Dirs, bytes, files, dirs)
	}
}

// wantOver checks that err is a Quota error about one of the paths, with the limit and the
// remaining quota.
func (e *env) wantOver(err error, says string, about ...pfs.Path) {
	e.Helper()
	e.want(err, pfs.Quota, about...)
	if !strings.Contains(err.Error(), says) {
		e.Errorf("%q does not say %q", err, says)
	}
}
