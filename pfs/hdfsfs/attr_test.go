package hdfsfs

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/relay"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func TestAttributes(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	ctx := t.Context()
	data := pfstest.Pattern(1, small+1000)
	pfstest.WriteFile(t, f, "/f", data)
	at := time.UnixMilli(1_000_000_123)
	must(t, f.SetAttr(ctx, "/f", pfs.AttrMode|pfs.AttrSize|pfs.AttrModTime|pfs.AttrAccessTime|pfs.AttrOwner|pfs.AttrGroup|pfs.AttrReplication,
		pfs.Attrs{Mode: 0o600, Size: 1000, ModTime: at, AccessTime: at.Add(time.Second), Owner: "alice", Group: "staff", Replication: 1}))
	info := pfstest.MustStat(t, f, "/f")
	if info.Mode != 0o600 || info.Size != 1000 || !info.ModTime.Equal(at) || !info.AccessTime.Equal(at.Add(time.Second)) ||
		info.Owner != "alice" || info.Group != "staff" || info.Replication != 1 || info.BlockSize != small || info.ID == 0 {
		t.Errorf("the file is %+v", info)
	}
	pfstest.WantFile(t, f, "/f", data[:1000])
	if err := f.SetAttr(ctx, "/f", pfs.AttrMode|pfs.AttrSize, pfs.Attrs{Mode: 0o777, Size: 2000}); !errors.Is(err, pfs.Unsupported) {
		t.Errorf("a larger size: %v", err)
	}
	h, err := f.OpenHandle(ctx, "/f", pfs.OpenRead, 0)
	must(t, err)
	must(t, f.Rename(ctx, "/f", "/g"))
	must(t, h.SetAttr(ctx, pfs.AttrMode, pfs.Attrs{Mode: 0o640}))
	now, err := h.Stat(ctx)
	if err != nil || now.ID != info.ID || now.Mode != 0o640 || now.Name != "f" {
		t.Errorf("the handle describes %+v, %v", now, err)
	}
	must(t, f.Remove(ctx, "/g"))
	if _, err := h.Stat(ctx); !errors.Is(err, pfs.Stale) {
		t.Errorf("a file that was removed: %v", err)
	}
	must(t, h.Close(ctx))
	must(t, f.Mkdir(ctx, "/dir", 0o755))
	must(t, f.SetAttr(ctx, "/dir", pfs.AttrMode, pfs.Attrs{Mode: fs.ModeSticky | 0o777}))
	if info := pfstest.MustStat(t, f, "/dir"); info.Mode != fs.ModeDir|fs.ModeSticky|0o777 {
		t.Errorf("the directory is %v", info.Mode)
	}
}

// TestTruncateOnce has another writer append after HDFS has shortened the last block, and before the one who shortens the file
// asks whether it has: the file is not shortened a second time.
func TestTruncateOnce(t *testing.T) {
	c := testbed.HDFS(t)
	o := options(c, c.Scratch(t))
	other := open(t, o)
	var calls atomic.Int32
	asks, appended := make(chan bool, 100), make(chan bool)
	o.NameNodes = []string{relay.New(t, func() string { return c.NameNodes[0] }, func(_ int, p []byte) bool {
		again := bytes.Contains(p, []byte("truncate")) && calls.Add(1) > 1
		if again || bytes.Contains(p, []byte("isFileClosed")) {
			asks <- true
			<-appended
		}
		return true
	}).Address()}
	f := open(t, o)
	data := pfstest.Pattern(1, 3000)
	pfstest.WriteFile(t, f, "/f", data)
	done := make(chan error)
	go func() { done <- f.SetAttr(t.Context(), "/f", pfs.AttrSize, pfs.Attrs{Size: 1000}) }()
	<-asks
	h := openFor(t, other, "/f", appending)
	for end := time.Now().Add(time.Minute); ; must(t, wait(t.Context(), 100*time.Millisecond)) {
		_, err := h.WriteAt(t.Context(), []byte("more"), 0)
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	must(t, h.Sync(t.Context()))
	close(appended)
	must(t, <-done)
	must(t, h.Close(t.Context()))
	pfstest.WantFile(t, other, "/f", slices.Concat(data[:1000], []byte("more")))
	if n := calls.Load(); n != 1 {
		t.Errorf("the file was shortened %d times", n)
	}
}

func TestExtendedAttributes(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	ctx := t.Context()
	pfstest.WriteFile(t, f, "/f", []byte("content"))
	must(t, f.SetXattr(ctx, "/f", "user.b", []byte("val\x00\xffue"), pfs.XattrCreate))
	must(t, f.SetXattr(ctx, "/f", "user.a", nil, 0))
	if names, err := f.ListXattr(ctx, "/f"); err != nil || !slices.Equal(names, []string{"user.a", "user.b"}) {
		t.Errorf("attributes %q, %v", names, err)
	}
	if value, err := f.Xattr(ctx, "/f", "user.b"); err != nil || string(value) != "val\x00\xffue" {
		t.Errorf("value %q, %v", value, err)
	}
	must(t, f.RemoveXattr(ctx, "/f", "user.a"))
	if _, err := f.Xattr(ctx, "/f", "user.a"); !errors.Is(err, pfs.NoAttr) {
		t.Errorf("an attribute that was removed: %v", err)
	}
	if err := f.SetXattr(ctx, "/f", "user.b", nil, pfs.XattrCreate); !errors.Is(err, pfs.Exist) {
		t.Errorf("an attribute made twice: %v", err)
	}
	if err := f.SetXattr(ctx, "/f", "user.c", nil, pfs.XattrReplace); !errors.Is(err, pfs.NoAttr) {
		t.Errorf("a replaced attribute that is not there: %v", err)
	}
	must(t, f.SetXattr(ctx, "/f", "user.b", nil, pfs.XattrReplace))
	made := make(chan error)
	const together = 8
	for range together {
		go func() { made <- f.SetXattr(ctx, "/f", "user.d", nil, pfs.XattrCreate) }()
	}
	created := 0
	for range together {
		if err := <-made; err == nil {
			created++
		} else if !errors.Is(err, pfs.Exist) {
			t.Errorf("one of %d that create an attribute: %v", together, err)
		}
	}
	if created != 1 {
		t.Errorf("%d of %d have created the attribute", created, together)
	}
	if err := f.SetXattr(ctx, "/f", "user.c", make([]byte, 100_000), 0); !errors.Is(err, pfs.NoSpace) {
		t.Errorf("a long attribute: %v", err)
	}
}

// The store's own checksum equals the output of the real client, before and after a concat.
func TestStoreChecksum(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	ctx := t.Context()
	pfstest.WriteFile(t, f, "/f", pfstest.Pattern(1, 2*small))
	pfstest.WriteFile(t, f, "/g", pfstest.Pattern(2, 1000))
	must(t, f.Concat(ctx, "/f", []pfs.Path{"/g"}))
	pfstest.WantFile(t, f, "/f", slices.Concat(pfstest.Pattern(1, 2*small), pfstest.Pattern(2, 1000)))
	pfstest.WantNames(t, f, "/", "f")
	wantStoreChecksum(t, c, f, "/f")
}

// wantStoreChecksum compares the checksum of a file with the one that Hadoop's own client prints.
func wantStoreChecksum(t *testing.T, c *testbed.HDFSCluster, f *FS, name pfs.Path) {
	t.Helper()
	got, err := f.Digest(t.Context(), name, ChecksumAlgorithm, nil)
	must(t, err)
	out := c.Do(t, "fs", "-checksum", f.at(name))
	words := strings.Fields(out)
	if len(words) != 3 || got != ChecksumAlgorithm+":"+words[2] {
		t.Errorf("checksum %s, the client prints %q", got, out)
	}
}
