package hdfsfs

import (
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestQuotaAtCreate checks that Create refuses a file that would exceed a quota.
func TestQuotaAtCreate(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	must(t, f.Mkdir(t.Context(), "/home", 0o755))
	must(t, f.Mkdir(t.Context(), "/home/d", 0o755))
	create := func(name pfs.Path, size int64) error {
		w, err := f.Create(t.Context(), name, pfs.CreateOptions{Size: size})
		if err == nil {
			must(t, w.Close(t.Context()))
		}
		return err
	}
	must(t, create("/home/d/f", 9*small)) // no quota; this is cached
	must(t, f.SetQuota(t.Context(), "/home", 4*small, 0))
	pfstest.WriteFile(t, f, "/home/old", pfstest.Pattern(1, 2*small))

	err := create("/home/d/f", 3*small)
	pfstest.WantKind(t, err, pfs.Quota)
	if want := "2.0 MiB (2097152 bytes) of the limit of 4.0 MiB (4194304 bytes) for \"home\" are left, and this asks for 3.0 MiB (3145728 bytes)"; !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	must(t, create("/home/d/f", 2*small))
	must(t, create("/home/old", 4*small)) // replaces a file of that size
	pfstest.WantKind(t, create("/home/old", 5*small), pfs.Quota)
	if n, _, err := f.Sweep(t.Context(), "/home", 0); n != 0 || err != nil {
		t.Errorf("%d uploads are left, %v", n, err)
	}
}

func TestWithoutQuota(t *testing.T) {
	var w withoutQuota
	if w.has("/a") {
		t.Error("what nobody asked about has no quota")
	}
	w.add("/a")
	if !w.has("/a") || w.has("/b") {
		t.Error("what has no quota is not remembered, or more is")
	}
	w.forget("/a")
	if w.has("/a") {
		t.Error("what may have a quota is taken to have none")
	}
	w.add("/a")
	w.until["/a"] = time.Now().Add(-time.Second)
	if w.has("/a") {
		t.Error("what was said long ago is believed")
	}
}
