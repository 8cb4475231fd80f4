package pfstest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// nodePromises are about the properties of a file other than content: attributes, names, type.
var nodePromises = []promise{
	{says: "each file has an ID that a rename keeps", needs: NoFileID, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir", "/full")
		WriteFile(e, e.fs, "/full/f", nil)
		WriteFile(e, e.fs, "/f", []byte("content"))
		WriteFile(e, e.fs, "/g", []byte("content"))
		seen := map[uint64]pfs.Path{}
		for _, name := range []pfs.Path{"/full", "/f", "/g"} {
			id := MustStat(e, e.fs, name).ID
			if other, ok := seen[id]; id == 0 || ok {
				e.Errorf("ID %d of %s is 0 or that of %q", id, name, other)
			}
			seen[id] = name
		}
		before := MustStat(e, e.fs, "/f").ID
		e.ok(e.fs.Rename(e.ctx, "/f", "/dir/f"))
		if after := MustStat(e, e.fs, "/dir/f").ID; after != before {
			e.Errorf("ID was %d before Rename and is %d", before, after)
		}
		for entry, err := range pfs.Entries(e.ctx, e.fs, "/dir", nil) {
			if e.ok(err); entry.ID != 0 && entry.ID != before {
				e.Errorf("List has the ID %d, Stat %d", entry.ID, before)
			}
		}
	}},
	{says: "SetAttr of the size cuts and lengthens", needs: NoHandle | NoRandomWrite, check: func(e *env) {
		data := Pattern(1, 100_000)
		WriteFile(e, e.fs, "/f", data)
		e.setAttr("/f", pfs.AttrSize, pfs.Attrs{Size: 70_001})
		WantFile(e, e.fs, "/f", data[:70_001])
		e.setAttr("/f", pfs.AttrSize, pfs.Attrs{Size: 80_000})
		WantFile(e, e.fs, "/f", append(data[:70_001:70_001], make([]byte, 9_999)...))
		MustMkdir(e, e.fs, "/dir")
		e.want(pfs.SetAttr(e.ctx, e.fs, "/dir", pfs.AttrSize, pfs.Attrs{}), pfs.IsDir, "/dir")
	}},
	{says: "SetAttr of the access time sets it and nothing else", needs: NoAccessTime, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		want := MustStat(e, e.fs, "/f")
		at := time.Unix(1e9, 123456789)
		e.setAttr("/f", pfs.AttrAccessTime, pfs.Attrs{AccessTime: at})
		got := MustStat(e, e.fs, "/f")
		e.sameTime("access time", got.AccessTime, at)
		want.Version = got.Version
		e.sameInfo("the file", got, want)
		e.setAttr("/f", pfs.AttrAccessTime|pfs.AttrModTime, pfs.Attrs{AccessTime: at.Add(time.Hour), ModTime: at})
		got = MustStat(e, e.fs, "/f")
		e.sameTime("access time", got.AccessTime, at.Add(time.Hour))
		e.sameTime("modification time", got.ModTime, at)
	}},
	// The present owner is set again, which a store may allow to users who are not root.
	{says: "SetAttr of the owner and group sets them, or answers Permission", needs: NoSetOwner, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		was := MustStat(e, e.fs, "/f")
		mask, attrs := pfs.AttrOwner|pfs.AttrGroup, pfs.Attrs{Owner: was.Owner, Group: was.Group}
		if was.Owner == "" {
			mask, attrs = pfs.AttrUID|pfs.AttrGID, pfs.Attrs{UID: was.UID + 1, GID: was.GID + 1}
		}
		if err := pfs.SetAttr(e.ctx, e.fs, "/f", mask, attrs); err != nil {
			e.want(err, pfs.Permission, "/f")
			attrs.UID, attrs.GID = was.UID, was.GID
		}
		got := MustStat(e, e.fs, "/f")
		if mask&pfs.AttrUID != 0 && (got.UID != attrs.UID || got.GID != attrs.GID) {
			e.Errorf("owner %d and group %d, want %d and %d", got.UID, got.GID, attrs.UID, attrs.GID)
		}
		if mask&pfs.AttrOwner != 0 && (got.Owner != was.Owner || got.Group != was.Group) {
			e.Errorf("owner %q and group %q, want %q and %q", got.Owner, got.Group, was.Owner, was.Group)
		}
		WantFile(e, e.fs, "/f", []byte("content"))
	}},
	{says: "SetAttr of the replication sets it", needs: NoReplication, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		e.setAttr("/f", pfs.AttrReplication, pfs.Attrs{Replication: 2})
		if got := MustStat(e, e.fs, "/f").Replication; got != 2 {
			e.Errorf("replication %d, want 2", got)
		}
	}},
	{says: "SetAttr of an attribute that the store lacks answers Unsupported and changes nothing", needs: NoChtime, only: NoReplication | NoSetOwner | NoAccessTime, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		want := MustStat(e, e.fs, "/f")
		for gap, mask := range map[Gap]pfs.AttrMask{
			NoReplication: pfs.AttrReplication, NoSetOwner: pfs.AttrUID, NoAccessTime: pfs.AttrAccessTime,
		} {
			if e.lacks(gap) {
				err := pfs.SetAttr(e.ctx, e.fs, "/f", pfs.AttrModTime|mask, pfs.Attrs{ModTime: time.Unix(1e9, 0), AccessTime: time.Unix(1e9, 0), Replication: 1})
				e.want(err, pfs.Unsupported, "/f")
				e.sameInfo("the file", MustStat(e, e.fs, "/f"), want)
			}
		}
	}},
	{says: "SetAttr of invalid values answers Invalid", needs: NoChmod, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		for mask, attrs := range map[pfs.AttrMask]pfs.Attrs{
			1 << 15:                            {},
			pfs.AttrMode | pfs.AttrSize:        {Mode: 0o600, Size: -1},
			pfs.AttrMode | pfs.AttrReplication: {Mode: 0o600},
		} {
			err := pfs.SetAttr(e.ctx, e.fs, "/f", mask, attrs)
			if !errors.Is(err, pfs.Invalid) && !errors.Is(err, pfs.Unsupported) {
				e.Errorf("mask %#x: %v, want Invalid", mask, err)
			}
		}
		WantFile(e, e.fs, "/f", []byte("content"))
	}},
	// It is right that the time of a link cannot be set.
	{says: "SetAttr with AttrLink changes the link", needs: NoChtime | NoSymlink, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		MustLink(e, e.fs, "f", "/link")
		want := MustStat(e, e.fs, "/f")
		at := time.Unix(1e9, 0)
		err := pfs.SetAttr(e.ctx, e.fs, "/link", pfs.AttrModTime|pfs.AttrLink, pfs.Attrs{ModTime: at})
		if err == nil {
			e.sameTime("time of the link", MustStat(e, e.fs, "/link").ModTime, at)
		} else {
			e.want(err, pfs.Unsupported, "/link")
		}
		e.sameInfo("the file", MustStat(e, e.fs, "/f"), want)
	}},
	{says: "an extended attribute is kept as it was set", needs: NoXattr, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		x := pfs.XattrsOf(e.fs)
		for _, name := range []pfs.Path{"/f", "/dir"} {
			if name == "/f" {
				WriteFileWith(e, e.fs, "/f", []byte("content"), pfs.CommitOptions{Digest: digest.Bytes([]byte("content"))})
			}
			for attr, value := range map[string]string{"user.b": "value", "user.a": "\x00\xff", "user.empty": "", "user.ü x": "y"} {
				e.ok(x.SetXattr(e.ctx, name, attr, []byte("before"), 0))
				e.ok(x.SetXattr(e.ctx, name, attr, []byte(value), 0))
				got, err := x.Xattr(e.ctx, name, attr)
				if e.ok(err); string(got) != value {
					e.Errorf("%s = %q, want %q", attr, got, value)
				}
			}
			e.wantXattrs(name, "user.a", "user.b", "user.empty", "user.ü x")
			e.ok(x.RemoveXattr(e.ctx, name, "user.b"))
			e.want(x.RemoveXattr(e.ctx, name, "user.b"), pfs.NoAttr, name)
			e.want(errOf(x.Xattr(e.ctx, name, "user.b")), pfs.NoAttr, name)
			e.ok(e.fs.Rename(e.ctx, name, "/moved"))
			e.wantXattrs("/moved", "user.a", "user.empty", "user.ü x")
			e.ok(e.fs.Remove(e.ctx, "/moved"))
		}
	}},
	{says: "XattrCreate and XattrReplace check whether the attribute exists", needs: NoXattr, check: func(e *env) {
		WriteFile(e, e.fs, "/f", nil)
		x := pfs.XattrsOf(e.fs)
		e.want(x.SetXattr(e.ctx, "/f", "user.a", []byte("1"), pfs.XattrReplace), pfs.NoAttr, "/f")
		e.ok(x.SetXattr(e.ctx, "/f", "user.a", []byte("2"), pfs.XattrCreate))
		e.want(x.SetXattr(e.ctx, "/f", "user.a", []byte("3"), pfs.XattrCreate), pfs.Exist, "/f")
		e.ok(x.SetXattr(e.ctx, "/f", "user.a", []byte("4"), pfs.XattrReplace))
		if got, err := x.Xattr(e.ctx, "/f", "user.a"); err != nil || string(got) != "4" {
			e.Errorf("user.a = %q, %v, want 4", got, err)
		}
	}},
	{says: "extended attributes that users may not use are refused", needs: NoXattr, check: func(e *env) {
		WriteFile(e, e.fs, "/f", nil)
		x := pfs.XattrsOf(e.fs)
		for attr, want := range map[string]pfs.Kind{
			"": pfs.Unsupported, "a": pfs.Unsupported, "trusted.a": pfs.Unsupported, "security.selinux": pfs.Unsupported, "system.posix_acl_access": pfs.Unsupported,
			"user.": pfs.Invalid, "user.a\x00b": pfs.Invalid, "user.pfs.digest": pfs.Permission,
		} {
			e.want(errOf(x.Xattr(e.ctx, "/f", attr)), want, "/f")
			e.want(x.SetXattr(e.ctx, "/f", attr, []byte("x"), 0), want, "/f")
			e.want(x.RemoveXattr(e.ctx, "/f", attr), want, "/f")
		}
		e.wantXattrs("/f")
	}},
	{says: "an extended attribute that is too long answers NoSpace", needs: NoXattr, check: func(e *env) {
		WriteFile(e, e.fs, "/f", nil)
		err := pfs.XattrsOf(e.fs).SetXattr(e.ctx, "/f", "user.a", bytes.Repeat([]byte("x"), 200_000), 0)
		e.want(err, pfs.NoSpace, "/f")
		e.wantXattrs("/f")
	}},
	{says: "a hard link is another name of the same file", needs: NoHardLink, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/f", Pattern(1, 1000))
		e.ok(pfs.HardLink(e.ctx, e.fs, "/f", "/dir/g"))
		WantFile(e, e.fs, "/dir/g", Pattern(1, 1000))
		f, g := MustStat(e, e.fs, "/f"), MustStat(e, e.fs, "/dir/g")
		if f.ID != g.ID || f.Links != 2 || g.Links != 2 {
			e.Errorf("IDs %d and %d, links %d and %d", f.ID, g.ID, f.Links, g.Links)
		}
		e.ok(e.fs.Rename(e.ctx, "/f", "/dir/g")) // both names stay, as in POSIX, or one
		e.ok(e.fs.Remove(e.ctx, "/dir/g"))
		if there, err := pfs.Exists(e.ctx, e.fs, "/f"); err != nil || there {
			WantFile(e, e.fs, "/f", Pattern(1, 1000))
			if got := MustStat(e, e.fs, "/f").Links; got != 1 {
				e.Errorf("%d links after one was removed", got)
			}
		}
	}},
	{says: "HardLink answers Exist if the new name exists", needs: NoHardLink, check: func(e *env) {
		MustMkdir(e, e.fs, "/dir")
		WriteFile(e, e.fs, "/f", []byte("file"))
		WriteFile(e, e.fs, "/g", []byte("other"))
		for _, name := range []pfs.Path{"/g", "/dir", "/f", pfs.Root} {
			e.want(pfs.HardLink(e.ctx, e.fs, "/f", name), pfs.Exist, name)
		}
		e.want(pfs.HardLink(e.ctx, e.fs, "/dir", "/new"), pfs.IsDir, "/dir")
		WantFile(e, e.fs, "/g", []byte("other"))
		WantNames(e, e.fs, pfs.Root, "dir", "f", "g")
	}},
	{says: "a change through one name is seen under all", needs: NoHardLink | NoHandle | NoRandomWrite, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("content"))
		e.ok(pfs.HardLink(e.ctx, e.fs, "/f", "/g"))
		h := e.handle("/g", readWrite)
		e.overwrite(h, []byte("CON"), 0)
		WantFile(e, e.fs, "/f", []byte("CONtent"))
		WriteFile(e, e.fs, "/g", []byte("replaced"))
		WantFile(e, e.fs, "/f", []byte("CONtent"))
		e.wantContent(h, []byte("CONtent"))
	}},
	{says: "Mknod makes FIFOs and sockets", needs: NoMknod, check: func(e *env) {
		for name, mode := range map[pfs.Path]fs.FileMode{"/fifo": fs.ModeNamedPipe | 0o640, "/socket": fs.ModeSocket | 0o600} {
			e.ok(pfs.Mknod(e.ctx, e.fs, name, mode, 0))
			info := MustStat(e, e.fs, name)
			if info.Mode.Type() != mode.Type() || !e.lacks(NoMode) && info.Mode != mode || info.Size != 0 {
				e.Errorf("%s is %+v", name, info)
			}
			e.want(pfs.Mknod(e.ctx, e.fs, name, mode, 0), pfs.Exist, name)
			ctx, cancel := context.WithTimeout(e.ctx, 10*time.Second) // Open must not wait for a FIFO
			e.wantOneOf(errOf(e.fs.Open(ctx, name)), []pfs.Kind{pfs.Invalid, pfs.Unsupported}, name)
			cancel()
		}
		device := fs.ModeDevice | fs.ModeCharDevice | 0o600
		if err := pfs.Mknod(e.ctx, e.fs, "/null", device, 0x103); err == nil {
			if info := MustStat(e, e.fs, "/null"); info.Mode.Type() != device.Type() || info.Device != 0x103 && info.Device != 0 {
				e.Errorf("/null is %+v", info)
			}
		} else {
			e.wantOneOf(err, []pfs.Kind{pfs.Permission, pfs.Unsupported}, "/null")
		}
	}},
	{says: "Mknod of another type answers Invalid", needs: NoMknod, check: func(e *env) {
		for _, mode := range []fs.FileMode{0o600, fs.ModeDir | 0o700, fs.ModeSymlink, fs.ModeIrregular} {
			e.want(pfs.Mknod(e.ctx, e.fs, "/new", mode, 0), pfs.Invalid, "/new")
		}
		WantNames(e, e.fs, pfs.Root)
	}},
	{says: "Concat appends the sources in order and removes them", needs: NoConcat, check: func(e *env) {
		want := Pattern(1, 70_000)
		WriteFile(e, e.fs, "/f", want)
		for i, name := range []pfs.Path{"/b", "/a"} {
			data := Pattern(uint64(i+2), 100_000+i)
			WriteFile(e, e.fs, name, data)
			want = append(want, data...)
		}
		e.ok(pfs.Concat(e.ctx, e.fs, "/f", []pfs.Path{"/b", "/a"}))
		WantFile(e, e.fs, "/f", want)
		WantNames(e, e.fs, pfs.Root, "f")
	}},
	{says: "Concat that fails changes nothing", needs: NoConcat, check: func(e *env) {
		WriteFile(e, e.fs, "/f", []byte("target"))
		WriteFile(e, e.fs, "/a", []byte("source"))
		MustMkdir(e, e.fs, "/dir")
		e.want(pfs.Concat(e.ctx, e.fs, "/f", []pfs.Path{"/a", "/missing"}), pfs.NotExist, "/missing")
		e.want(pfs.Concat(e.ctx, e.fs, "/f", []pfs.Path{"/a", "/dir"}), pfs.IsDir, "/dir")
		e.want(pfs.Concat(e.ctx, e.fs, "/f", []pfs.Path{"/a", "/f"}), pfs.Invalid, "/f")
		e.want(pfs.Concat(e.ctx, e.fs, "/f", []pfs.Path{"/a", "/a"}), pfs.Invalid, "/a")
		WantFile(e, e.fs, "/f", []byte("target"))
		WantFile(e, e.fs, "/a", []byte("source"))
	}},
}

// setAttr sets attributes of name.
func (e *env) setAttr(name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) {
	e.Helper()
	e.ok(pfs.SetAttr(e.ctx, e.fs, name, mask, attrs))
}

// wantXattrs fails unless name has those extended attributes.
func (e *env) wantXattrs(name pfs.Path, want ...string) {
	e.Helper()
	got, err := pfs.XattrsOf(e.fs).ListXattr(e.ctx, name)
	if e.ok(err); !slices.Equal(got, want) {
		e.Errorf("extended attributes of %s are %q, want %q", name, got, want)
	}
}
