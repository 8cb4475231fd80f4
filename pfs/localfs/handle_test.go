package localfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const readWrite = pfs.OpenRead | pfs.OpenWrite

func openHandle(t *testing.T, f *FS, name pfs.Path, flags pfs.OpenFlags) pfs.Handle {
	t.Helper()
	h, err := f.OpenHandle(t.Context(), name, flags, 0o600)
	must(t, err)
	t.Cleanup(func() { h.Close(t.Context()) })
	return h
}

// A file created by a handle, and the bytes written to it, count against the quota at once, under
// any name.
func TestHandleKeepsQuotas(t *testing.T) {
	f, _ := openStore(t, Options{NoSync: true})
	ctx := t.Context()
	must(t, f.Mkdir(ctx, "/q", 0o755))
	must(t, f.SetQuota(ctx, "/q", 1000, 1))
	h := openHandle(t, f, "/q/f", readWrite|pfs.OpenCreate|pfs.OpenAppend)
	wantUsage(t, f, "/q", 0, 1, 0)
	if _, err := f.OpenHandle(ctx, "/q/g", readWrite|pfs.OpenCreate, 0o600); !errors.Is(err, pfs.Quota) {
		t.Errorf("a second file: %v", err)
	}
	if err := f.HardLink(ctx, "/q/f", "/q/g"); !errors.Is(err, pfs.Quota) {
		t.Errorf("a second name: %v", err)
	}
	if err := f.Mknod(ctx, "/q/g", fs.ModeNamedPipe|0o600, 0); !errors.Is(err, pfs.Quota) {
		t.Errorf("a FIFO: %v", err)
	}
	_, err := h.WriteAt(ctx, make([]byte, 600), 0)
	must(t, err)
	must(t, f.Rename(ctx, "/q/f", "/q/renamed"))
	if _, err := h.WriteAt(ctx, make([]byte, 600), 0); !errors.Is(err, pfs.Quota) {
		t.Errorf("appending beyond the quota: %v", err)
	}
	if err := h.Allocate(ctx, 0, 2000); !errors.Is(err, pfs.Quota) {
		t.Errorf("allocating beyond the quota: %v", err)
	}
	must(t, h.SetAttr(ctx, pfs.AttrSize, pfs.Attrs{Size: 1000}))
	wantUsage(t, f, "/q", 1000, 1, 0)
	must(t, f.SetAttr(ctx, "/q/renamed", pfs.AttrSize, pfs.Attrs{Size: 10}))
	wantUsage(t, f, "/q", 10, 1, 0)
}

// The handle follows the file by its descriptor, not by its name.
func TestHandleFollowsItsFile(t *testing.T) {
	f, dir := openStore(t, Options{})
	ctx := t.Context()
	h := openHandle(t, f, "/f", readWrite|pfs.OpenCreate|pfs.OpenExclusive)
	was, err := h.Stat(ctx)
	must(t, err)
	must(t, f.Rename(ctx, "/f", "/g"))
	write(t, f, "/g", 10) // replaces it
	_, err = h.WriteAt(ctx, []byte("later"), 3)
	must(t, err)
	must(t, h.SetAttr(ctx, pfs.AttrMode|pfs.AttrModTime, pfs.Attrs{Mode: fs.ModeSetuid | 0o700, ModTime: time.Unix(5, 0)}))
	must(t, h.Sync(ctx))
	now, err := h.Stat(ctx)
	must(t, err)
	if now.ID != was.ID || now.Links != 0 || now.Size != 8 || now.Mode != fs.ModeSetuid|0o700 || now.ModTime.Unix() != 5 || now.Name != "f" {
		t.Errorf("the handle describes %+v, before %+v", now, was)
	}
	if info, err := os.Stat(filepath.Join(dir, "g")); err != nil || info.Size() != 10 {
		t.Errorf("the file of the name: %v, %v", info, err)
	}
}

func TestSpecialFiles(t *testing.T) {
	f, dir := openStore(t, Options{})
	ctx := t.Context()
	must(t, f.Mknod(ctx, "/fifo", fs.ModeNamedPipe|0o622, 0))
	must(t, f.Mknod(ctx, "/socket", fs.ModeSocket|0o600, 0))
	if info, err := os.Lstat(filepath.Join(dir, "fifo")); err != nil || info.Mode() != fs.ModeNamedPipe|0o622 {
		t.Errorf("the FIFO: %v, %v", info, err)
	}
	if _, err := f.OpenHandle(ctx, "/fifo", readWrite|pfs.OpenCreate, 0); !errors.Is(err, pfs.Invalid) {
		t.Errorf("opening a FIFO: %v", err)
	}
	if err := f.Mknod(ctx, "/dir", fs.ModeDir|0o700, 0); !errors.Is(err, pfs.Invalid) {
		t.Errorf("a directory by Mknod: %v", err)
	}
	if err := f.Mknod(ctx, "/fifo", fs.ModeNamedPipe, 0); !errors.Is(err, pfs.Exist) {
		t.Errorf("a second FIFO: %v", err)
	}
}

// Attributes of a link are set on the link; its target keeps its own.
func TestAttributesOfLinks(t *testing.T) {
	f, _ := openStore(t, Options{})
	ctx := t.Context()
	write(t, f, "/f", 10)
	must(t, f.Symlink(ctx, "f", "/link"))
	before, err := f.Stat(ctx, "/f")
	must(t, err)
	at := time.Unix(1000, 0)
	must(t, f.SetAttr(ctx, "/link", pfs.AttrLink|pfs.AttrModTime|pfs.AttrAccessTime, pfs.Attrs{ModTime: at, AccessTime: at.Add(time.Hour)}))
	link, err := f.Stat(ctx, "/link")
	must(t, err)
	if !link.ModTime.Equal(at) || !link.AccessTime.Equal(at.Add(time.Hour)) {
		t.Errorf("the link has the times %v and %v", link.ModTime, link.AccessTime)
	}
	if now, err := f.Stat(ctx, "/f"); err != nil || !now.ModTime.Equal(before.ModTime) {
		t.Errorf("the file has the time %v, before %v, %v", now.ModTime, before.ModTime, err)
	}
	if os.Geteuid() == 0 {
		must(t, f.SetAttr(ctx, "/link", pfs.AttrLink|pfs.AttrUID, pfs.Attrs{UID: 4711}))
		if link, err = f.Stat(ctx, "/link"); err != nil || link.UID != 4711 {
			t.Errorf("the link belongs to %d, %v", link.UID, err)
		}
	}
	if err := f.SetAttr(ctx, "/link", pfs.AttrLink|pfs.AttrMode, pfs.Attrs{Mode: 0o600}); !errors.Is(err, pfs.Unsupported) {
		t.Errorf("mode of a link: %v", err)
	}
	if err := f.SetAttr(ctx, "/f", pfs.AttrOwner, pfs.Attrs{Owner: "no such user"}); !errors.Is(err, pfs.NotExist) {
		t.Errorf("an owner that there is not: %v", err)
	}
}

// The stored digests of this package are neither visible nor changeable as extended attributes.
func TestExtendedAttributes(t *testing.T) {
	f, _ := openStore(t, Options{})
	ctx := t.Context()
	write(t, f, "/f", 10)
	c, err := f.Capabilities(ctx, "/")
	must(t, err)
	if !c.Has(pfs.CanXattr) {
		t.Skip("no extended attributes on this disk")
	}
	must(t, f.SetXattr(ctx, "/f", "user.b", []byte("value"), pfs.XattrCreate))
	must(t, f.SetXattr(ctx, "/f", "user.a", nil, 0))
	names, err := f.ListXattr(ctx, "/f")
	if err != nil || !slices.Equal(names, []string{"user.a", "user.b"}) {
		t.Errorf("attributes %q, %v", names, err)
	}
	if value, err := f.Xattr(ctx, "/f", "user.b"); err != nil || string(value) != "value" {
		t.Errorf("value %q, %v", value, err)
	}
	must(t, f.RemoveXattr(ctx, "/f", "user.a"))
	for what, tt := range map[string]struct {
		err  error
		want pfs.Kind
	}{
		"created twice":      {f.SetXattr(ctx, "/f", "user.b", nil, pfs.XattrCreate), pfs.Exist},
		"replaced unseen":    {f.SetXattr(ctx, "/f", "user.c", nil, pfs.XattrReplace), pfs.NoAttr},
		"removed unseen":     {f.RemoveXattr(ctx, "/f", "user.c"), pfs.NoAttr},
		"too long":           {f.SetXattr(ctx, "/f", "user.c", make([]byte, 100_000), 0), pfs.NoSpace},
		"the mark":           {f.RemoveXattr(ctx, "/f", "user.pfs.digest"), pfs.Permission},
		"not of a user":      {f.SetXattr(ctx, "/f", "trusted.x", nil, 0), pfs.Unsupported},
		"removed of nothing": {f.RemoveXattr(ctx, "/g", "user.a"), pfs.NotExist},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", what, tt.err, tt.want)
		}
	}
}

// TestFileIDAfterRemove makes files after others were removed, whose inodes ext4 gives to them.
func TestFileIDAfterRemove(t *testing.T) {
	f, _ := openStore(t, Options{})
	ctx := t.Context()
	if !f.births {
		t.Skip("the file system keeps no times of birth")
	}
	seen := map[uint64]bool{}
	for range 3 {
		time.Sleep(20 * time.Millisecond) // more than a tick of the clock of the kernel
		h := openHandle(t, f, "/f", readWrite|pfs.OpenCreate|pfs.OpenExclusive)
		opened, err := h.Stat(ctx)
		must(t, err)
		must(t, h.Close(ctx))
		must(t, f.Rename(ctx, "/f", "/g"))
		must(t, f.HardLink(ctx, "/g", "/h"))
		for _, name := range []pfs.Path{"/g", "/h"} {
			if info, err := f.Stat(ctx, name); err != nil || info.ID != opened.ID {
				t.Fatalf("%s has the ID %x, %v; the file that was opened %x", name, info.ID, err, opened.ID)
			}
		}
		if seen[opened.ID] {
			t.Fatal("a file has the ID of one that was removed")
		}
		seen[opened.ID] = true
		must(t, f.Remove(ctx, "/g"))
		must(t, f.Remove(ctx, "/h"))
	}
}
