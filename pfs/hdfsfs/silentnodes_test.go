package hdfsfs

import (
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestSilentDataNodes reads and writes while all DataNodes accept connections and never answer. Each operation ends after a few
// timeouts.
func TestSilentDataNodes(t *testing.T) {
	testbed.Long(t)
	c := testbed.HDFSAlone(t)
	o := options(c, c.Scratch(t))
	o.Timeout = 2 * time.Second
	f := open(t, o)
	data := pfstest.Pattern(5, 100_000)
	for _, name := range []pfs.Path{"/read", "/open", "/append", "/appending"} {
		pfstest.WriteFile(t, f, name, data)
	}
	ctx := t.Context()
	handle := func(name pfs.Path) pfs.Handle {
		h, err := f.OpenHandle(ctx, name, pfs.OpenWrite|pfs.OpenAppend, 0)
		must(t, err)
		return h
	}
	create := func(name pfs.Path) pfs.Staged {
		w, err := f.Create(ctx, name, pfs.CreateOptions{})
		must(t, err)
		return w
	}
	appending, staged := handle("/appending"), create("/staged")
	_, err := appending.WriteAt(ctx, data, 0)
	must(t, err)
	_, err = staged.WriteAt(ctx, data, 0)
	must(t, err)
	opened, err := f.Open(ctx, "/open")
	must(t, err)
	nodes := []string{"dn1", "dn2", "dn3"}
	resume := sync.OnceFunc(func() {
		for _, dn := range nodes {
			c.Resume(t, dn)
		}
	})
	defer resume()
	for _, dn := range nodes {
		c.Pause(t, dn)
	}

	var all sync.WaitGroup
	for what, do := range map[string]func() error{
		"read": func() error { _, err := readAll(ctx, f, "/read", len(data)); return err },
		"read an open file": func() error {
			_, err := opened.ReadAt(ctx, make([]byte, len(data)), 0)
			return err
		},
		"append": func() error {
			h := handle("/append")
			_, err := h.WriteAt(ctx, data, 0)
			_ = h.Close(ctx)
			return err
		},
		"sync": func() error { return appending.Sync(ctx) },
		"upload": func() error {
			w := create("/new")
			defer w.Close(ctx)
			_, err := w.WriteAt(ctx, data, 0)
			return err
		},
		"commit": func() error { _, err := staged.Commit(ctx, pfs.CommitOptions{Size: int64(len(data))}); return err },
		"batch":  func() error { return f.WriteBatch(ctx, []pfs.BatchEntry{{Path: "/small", Data: data[:100]}})[0] },
	} {
		all.Go(func() {
			began := time.Now()
			err := do()
			took := time.Since(began)
			t.Logf("%s: %v after %v", what, err, took)
			if err == nil || took > 8*o.Timeout {
				t.Errorf("%s: %v after %v", what, err, took)
			}
		})
	}
	all.Wait()
	resume()
	_ = appending.Close(ctx)
	_ = staged.Close(ctx)
}
