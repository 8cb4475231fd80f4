package pfstest

import (
	"errors"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// gapPromises check that a store admits its gaps.
var gapPromises = []promise{
	{says: "MakeLink answers Unsupported", check: unsupported("MakeLink"), only: NoSymlink},
	{says: "SetAttr of the mode answers Unsupported", check: unsupported("SetAttr of the mode"), only: NoChmod},
	{says: "SetAttr of the time answers Unsupported", check: unsupported("SetAttr of the time"), only: NoChtime},
	{says: "OpenHandle answers Unsupported", check: unsupported("OpenHandle"), only: NoHandle},
	{says: "extended attributes answer Unsupported", check: unsupported("SetXattr"), only: NoXattr},
	{says: "HardLink answers Unsupported", check: unsupported("HardLink from"), only: NoHardLink},
	{says: "Mknod answers Unsupported", check: unsupported("Mknod"), only: NoMknod},
	{says: "Concat answers Unsupported", check: unsupported("Concat to"), only: NoConcat},
	{says: "RenameExclusive answers Unsupported", check: unsupported("RenameExclusive from"), only: NoExclusiveRename},
	{says: "SetQuota answers Unsupported", check: unsupported("SetQuota"), only: NoQuota},
	{says: "SpaceOf answers Unsupported", check: unsupported("SpaceOf"), only: NoSpaceReport},
	{says: "Digest answers Unsupported", check: unsupported("Digest"), only: NoDigester},
	{says: "Sweep answers Unsupported", check: unsupported("Sweep"), only: NoSweep},
	{says: "LocateBlocks answers Unsupported", check: unsupported("LocateBlocks"), only: NoBlockLocations},
	{says: "CopyInside answers Unsupported", check: unsupported("CopyInside from"), only: NoCopy},
	{says: "Rename of a directory answers Unsupported", only: NoRenameDir, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir/sub")
		WriteFile(e, e.fs, "/dir/sub/f", []byte("content"))
		e.want(e.fs.Rename(e.ctx, "/dir/sub", "/new"), pfs.Unsupported, "/dir/sub")
		WantFile(e, e.fs, "/dir/sub/f", []byte("content"))
		WantNames(e, e.fs, pfs.Root, "dir")
	}},
	{says: "a directory is there while there is a file below it", only: NoEmptyDir, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir/sub")
		WantAbsent(e, e.fs, "/dir/sub")
		WantNames(e, e.fs, pfs.Root)
		WriteFile(e, e.fs, "/dir/sub/f", []byte("content"))
		if info := MustStat(e, e.fs, "/dir"); !info.IsDir() {
			e.Errorf("mode of a directory with a file below it = %v", info.Mode)
		}
		WantNames(e, e.fs, "/dir", "sub")
		e.want(e.fs.Remove(e.ctx, "/dir"), pfs.NotEmpty, "/dir")
		e.ok(e.fs.Remove(e.ctx, "/dir/sub/f"))
		WantAbsent(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/dir", []byte("content"))
		WantNames(e, e.fs, pfs.Root, "dir")
	}},
	{says: "Staged.ReadAt answers Unsupported, and Commit publishes what was staged", only: NoReadStaged, check: func(e *env) {
		w := e.stage("/f", pfs.CreateOptions{ID: someID}, []byte("content"))
		e.want(errOf(w.ReadAt(e.ctx, make([]byte, 7), 0)), pfs.Unsupported, "/f")
		e.ok(w.Suspend(e.ctx))
		w = e.stage("/f", pfs.CreateOptions{ID: someID}, []byte("CONTENT"))
		e.commit(w, 7)
		WantFile(e, e.fs, "/f", []byte("CONTENT"))
	}},
	{says: "For and As answer Unsupported", only: noOwners, check: func(e *env) {
		owner := pfs.Owner{Name: "nobody", UID: 65534, GID: 65534}
		WantKind(e, errOf(pfs.WithOwner(e.fs, owner)), pfs.Unsupported)
		WantKind(e, errOf(pfs.Impersonate(e.fs, owner)), pfs.Unsupported)
	}},
	{says: "As answers Unsupported", only: NoImpersonate, check: func(e *env) {
		WantKind(e, errOf(pfs.Impersonate(e.fs, e.opts.Owners[0])), pfs.Unsupported)
	}},
	{says: "LeafDigests answers Unsupported", only: NoLeafDigests, check: func(e *env) {
		w := e.stage("/f", pfs.CreateOptions{}, Pattern(1, 1000))
		if c, ok := w.(pfs.LeafDigester); ok {
			WantKind(e, errOf(c.LeafDigests(e.ctx, 1000, 0, 1)), pfs.Unsupported)
		}
	}},
	{says: "Commit with NoReplace answers Unsupported and publishes nothing", only: NoExclusiveCommit, check: func(e *env) {
		w := e.stage("/f", pfs.CreateOptions{}, []byte("content"))
		e.want(errOf(w.Commit(e.ctx, pfs.CommitOptions{Size: 7, NoReplace: true})), pfs.Unsupported, "/f")
		WantAbsent(e, e.fs, "/f")
		e.commit(w, 7)
		WantFile(e, e.fs, "/f", []byte("content"))
	}},
	{says: "the store returns its own permission bits", only: NoMode, check: func(e *env) {
		got := map[fs.FileMode]bool{}
		for _, mode := range []fs.FileMode{0o600, 0o755} {
			info := WriteFileWith(e, e.fs, "/f", nil, pfs.CommitOptions{Mode: mode})
			e.sameInfo("what Commit returns", info, MustStat(e, e.fs, "/f"))
			got[info.Mode] = true
		}
		if got[0o600] && got[0o755] {
			e.Error("the store keeps permission bits: it does not have this gap")
		}
	}},
	{says: "no digest is returned", only: NoKeptDigest, check: func(e *env) {
		data := Pattern(1, 1000)
		info := WriteFileWith(e, e.fs, "/f", data, pfs.CommitOptions{Digest: digest.Bytes(data)})
		if got := MustStat(e, e.fs, "/f").Digest; got != "" || info.Digest != "" {
			e.Errorf("digests %q and %q: the store does not have this gap", info.Digest, got)
		}
	}},
	{says: "a committed ID is unknown and does no harm", only: NoCommitMemory, check: func(e *env) {
		w := e.stage("/f", pfs.CreateOptions{ID: someID}, Pattern(1, 1000))
		e.commit(w, 1000)
		e.wantGone("/f", someID)
		w = e.create("/f", pfs.CreateOptions{ID: someID})
		e.want(errOf(w.Commit(e.ctx, pfs.CommitOptions{Size: 1000})), pfs.Integrity, "/f")
		WantFile(e, e.fs, "/f", Pattern(1, 1000))
	}},
	{says: "a name with a colon answers Invalid to every operation", only: NoColon, check: func(e *env) {
		e.each(func(op operation) bool { return !op.anywhere }, func(e *env, op operation) {
			for _, name := range []pfs.Path{"/a:b", "/:", "/a:b/f"} {
				if err := op.call(e.ctx, e.fs, name); !errors.Is(err, pfs.Invalid) {
					e.Errorf("%q: error %v, want Invalid", name, err)
				}
			}
			WantNames(e, e.fs, pfs.Root, otherFile.Base())
		})
	}},
	{says: "writes far beyond the quota are refused in the end", check: checkLooseBytes, only: LooseQuota},
	{says: "files far beyond the quota are refused in the end", check: checkLooseFiles, only: LooseQuota},
}

// unsupported checks that the operation answers Unsupported and does nothing.
func unsupported(name string) func(e *env) {
	return func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/dir/f", []byte("content"))
		WriteFile(e, e.fs, otherFile, []byte("other"))
		for _, op := range operations {
			if op.name != name {
				continue
			}
			for _, p := range []pfs.Path{"/dir/f", "/dir/new"} {
				if err := op.call(e.ctx, e.fs, p); !errors.Is(err, pfs.Unsupported) {
					e.Errorf("%s: error %v, want Unsupported", p, err)
				}
			}
		}
		WantNames(e, e.fs, "/dir", "f")
		WantNames(e, e.fs, pfs.Root, "dir", otherFile.Base())
	}
}
