//go:build ceph

package cephfs

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestRenameCutOff renames a directory to a name that another service is renaming one to. It fails
// before anything has changed, so that the same rename can be repeated.
func TestRenameCutOff(t *testing.T) {
	ctx := t.Context()
	opts := optionsOf(testbed.Ceph(t))
	one := openEmpty(t, opts)
	opts.Root, opts.Timeout = one.store.opts.Root, 3*time.Second
	two := openStore(t, opts)
	pfstest.MustMkdir(t, one, "/from")
	pfstest.WriteFile(t, one, "/from/f", []byte("content"))

	_, err := in(ctx, one, "test", pfs.Root, func(d *dir) (struct{}, error) {
		unlock, err := d.lockName("to")
		if err != nil {
			return struct{}{}, err
		}
		defer unlock()
		pfstest.WantKind(t, two.Rename(ctx, "/from", "/to"), pfs.Unavailable)
		pfstest.WantNames(t, two, pfs.Root, "from")
		return struct{}{}, two.Rename(ctx, "/from", "/elsewhere")
	})
	if err != nil {
		t.Fatalf("with a lock on another name: %v", err)
	}
	if err := two.Rename(ctx, "/elsewhere", "/to"); err != nil {
		t.Fatalf("once the lock is gone: %v", err)
	}
	pfstest.WantNames(t, one, pfs.Root, "to")
	pfstest.WantNames(t, one, "/to", "f")
	pfstest.MustMkdir(t, one, "/more")
	pfstest.WantKind(t, two.Rename(ctx, "/more", "/to"), pfs.Exist)
}

// TestRenameExclusiveKeepsOthers renames a file to a free name while another file takes its old
// name: that one stays, under one of the two.
func TestRenameExclusiveKeepsOthers(t *testing.T) {
	f := openEmpty(t, optionsOf(testbed.Ceph(t)))
	lost, rounds := 0, 100
	if testing.Short() {
		rounds = 25
	}
	for i := range rounds {
		to := pfs.Root.Join(fmt.Sprintf("to-%d", i))
		pfstest.WriteFile(t, f, "/from", []byte("before"))
		pfstest.WriteFile(t, f, "/other", []byte("other"))
		var wg sync.WaitGroup
		var errs [2]error
		wg.Go(func() { errs[0] = f.RenameExclusive(t.Context(), "/from", to) })
		wg.Go(func() { errs[1] = f.Rename(t.Context(), "/other", "/from") })
		wg.Wait()
		must(t, errors.Join(errs[:]...))
		if contentOf(t, f, "/from") != "other" && contentOf(t, f, to) != "other" {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("of %d files that took the old name, %d are lost", rounds, lost)
	}
}

// contentOf returns the content of a file, "" if it does not exist.
func contentOf(t *testing.T, f FS, name pfs.Path) string {
	t.Helper()
	r, err := f.Open(t.Context(), name)
	if errors.Is(err, pfs.NotExist) {
		return ""
	}
	must(t, err)
	defer r.Close()
	p, err := io.ReadAll(pfs.NewReader(t.Context(), r))
	must(t, err)
	return string(p)
}
