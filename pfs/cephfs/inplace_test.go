//go:build ceph

package cephfs

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// A handle continues with its file over another mount, under the file's current name.
func TestHandleGoesOn(t *testing.T) {
	f := openEmpty(t, optionsOf(testbed.Ceph(t)))
	ctx := t.Context()
	h, err := f.OpenHandle(ctx, "/f", pfs.OpenRead|pfs.OpenWrite|pfs.OpenCreate|pfs.OpenExclusive, 0o640)
	must(t, err)
	defer h.Close(ctx)
	if _, err := h.WriteAt(ctx, []byte("one "), 0); err != nil {
		t.Fatal(err)
	}
	must(t, h.Sync(ctx))
	was, err := h.Stat(ctx)
	must(t, err)
	must(t, f.Rename(ctx, "/f", "/g"))
	pfstest.WriteFile(t, f, "/f", []byte("another file"))
	lose := func() {
		m, err := f.store.mounted(ctx)
		must(t, err)
		f.store.giveUp(m, errors.New("for the test"))
	}
	lose()
	_, err = h.WriteAt(ctx, []byte("two"), 4)
	must(t, err)
	lose()
	if err := h.Sync(ctx); !errors.Is(err, pfs.Unavailable) {
		t.Errorf("a sync of what was written before the mount was lost: %v", err)
	}
	_, err = h.WriteAt(ctx, []byte("two"), 4)
	must(t, err)
	must(t, h.Sync(ctx))
	pfstest.WantFile(t, f, "/g", []byte("one two"))
	now, err := h.Stat(ctx)
	must(t, err)
	if now.ID != was.ID || now.Links != 1 || now.Mode != 0o640 {
		t.Errorf("the handle describes %+v, before %+v", now, was)
	}
	must(t, f.Remove(ctx, "/g"))
	lose()
	// The cluster removes the file some time after its last session ended.
	if now, err := h.Stat(ctx); err == nil && now.ID != was.ID || err != nil && !errors.Is(err, pfs.Stale) {
		t.Errorf("the file was removed, and the mount lost: %+v, %v", now, err)
	}
	must(t, h.Close(ctx))
}

// Appends over two mounts are all kept.
func TestAppend(t *testing.T) {
	c := testbed.Ceph(t)
	opts := optionsOf(c)
	f := openEmpty(t, opts)
	ctx := t.Context()
	var all sync.WaitGroup
	for range 4 {
		h, err := f.OpenHandle(ctx, "/log", pfs.OpenWrite|pfs.OpenCreate|pfs.OpenAppend, 0o600)
		must(t, err)
		all.Go(func() {
			for i := range 5 {
				if _, err := h.WriteAt(ctx, fmt.Appendf(nil, "line %d\n", i), 0); err != nil {
					t.Error(err)
				}
			}
			if err := h.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if info := pfstest.MustStat(t, f, "/log"); info.Size != 4*5*7 {
		t.Errorf("%d bytes, want %d", info.Size, 4*5*7)
	}
}

func TestAttributes(t *testing.T) {
	f := openEmpty(t, optionsOf(testbed.Ceph(t)))
	ctx := t.Context()
	pfstest.WriteFile(t, f, "/f", []byte("content"))
	at := time.Unix(1000, 0)
	must(t, f.SetAttr(ctx, "/f", pfs.AttrMode|pfs.AttrSize|pfs.AttrModTime|pfs.AttrAccessTime|pfs.AttrUID|pfs.AttrGroup,
		pfs.Attrs{Mode: fs.ModeSticky | 0o600, Size: 3, ModTime: at, AccessTime: at.Add(1), UID: 11, Group: "12"}))
	must(t, f.HardLink(ctx, "/f", "/second"))
	info := pfstest.MustStat(t, f, "/second")
	if info.Mode != fs.ModeSticky|0o600 || info.Size != 3 || !info.ModTime.Equal(at) || !info.AccessTime.Equal(at.Add(1)) ||
		info.UID != 11 || info.GID != 12 || info.Links != 2 || info.ID != pfstest.MustStat(t, f, "/f").ID {
		t.Errorf("the file is %+v", info)
	}
	first, last := time.Unix(0, 0), time.Unix(math.MaxUint32, 0) // as Linux does it, too
	must(t, f.SetAttr(ctx, "/f", pfs.AttrModTime|pfs.AttrAccessTime, pfs.Attrs{ModTime: first.AddDate(-100, 0, 0), AccessTime: last.AddDate(100, 0, 0)}))
	if info := pfstest.MustStat(t, f, "/f"); !info.ModTime.Equal(first) || !info.AccessTime.Equal(last) {
		t.Errorf("the times are %v and %v", info.ModTime, info.AccessTime)
	}
	must(t, f.Mknod(ctx, "/fifo", fs.ModeNamedPipe|0o622, 0))
	if info := pfstest.MustStat(t, f, "/fifo"); info.Mode != fs.ModeNamedPipe|0o622 {
		t.Errorf("the FIFO is %v", info.Mode)
	}
	must(t, f.SetXattr(ctx, "/f", "user.b", []byte("value"), pfs.XattrCreate))
	must(t, f.SetXattr(ctx, "/f", "user.a", nil, 0))
	if names, err := f.ListXattr(ctx, "/f"); err != nil || !slices.Equal(names, []string{"user.a", "user.b"}) {
		t.Errorf("attributes %q, %v", names, err)
	}
	if value, err := f.Xattr(ctx, "/f", "user.b"); err != nil || string(value) != "value" {
		t.Errorf("value %q, %v", value, err)
	}
	must(t, f.RemoveXattr(ctx, "/f", "user.a"))
	if _, err := f.Xattr(ctx, "/f", "user.a"); !errors.Is(err, pfs.NoAttr) {
		t.Errorf("an attribute that was removed: %v", err)
	}
	if err := f.SetXattr(ctx, "/f", "user.b", nil, pfs.XattrCreate); !errors.Is(err, pfs.Exist) {
		t.Errorf("an attribute made twice: %v", err)
	}
	if err := f.SetXattr(ctx, "/f", "user.c", make([]byte, 100_000), 0); !errors.Is(err, pfs.NoSpace) {
		t.Errorf("a long attribute: %v", err)
	}
}
