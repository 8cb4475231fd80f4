//go:build ceph

package cephfs

import (
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestRenameCutOff renames a directory to a name that another service is renaming one to: it ends before
// anything has changed, so that the same renaming asked for again finds things as they were.
func TestRenameCutOff(t *testing.T) {
	ctx := t.Context()
	opts := optionsOf(testbed.Ceph(t))
	one := openEmpty(t, opts)
	opts.Root, opts.Timeout = one.store.opts.Root, time.Second
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
