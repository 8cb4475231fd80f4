//go:build ceph

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestCheckCephFS checks the messages about a misconfigured real CephFS.
func TestCheckCephFS(t *testing.T) {
	c := testbed.Ceph(t)
	keyring := "keyring: " + c.Keyring
	ok, says := checkStore(t, "cephfs://"+c.Monitors+"/"+c.FileSystem, keyring)
	wantSays(t, "a good store", ok, says, true, "read back")
	ok, says = checkStore(t, "cephfs://"+c.Monitors+"/"+c.FileSystem+"/missing", keyring)
	wantSays(t, "no root", ok, says, false, `directory "/missing"`)
	ok, says = checkStore(t, "cephfs://"+c.Monitors+"/other", keyring)
	wantSays(t, "no file system", ok, says, false, `file system "other"`)
	ok, says = checkStore(t, "cephfs://"+c.Monitors+"/"+c.FileSystem, "keyring: /no/such/keyring")
	wantSays(t, "no keyring", ok, says, false, "/no/such/keyring")
	ok, says = checkStore(t, "cephfs://"+c.Monitors+"/"+c.FileSystem, keyring, "user: nobody")
	wantSays(t, "no key", ok, says, false, "client.nobody")

	wrong := filepath.Join(t.TempDir(), "keyring")
	if err := os.WriteFile(wrong, []byte("[client.admin]\n\tkey = AQAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAA==\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ok, says = checkStore(t, "cephfs://"+c.Monitors+"/"+c.FileSystem, "keyring: "+wrong, brief)
	wantSays(t, "a wrong key", ok, says, false, "client.admin", wrong)
	ok, says = checkStore(t, "cephfs://"+silent(t)+"/"+c.FileSystem, keyring, brief)
	wantSays(t, "silent monitors", ok, says, false, "monitors")
}

// An MDS whose clock is hours ahead serves no client. A client's clock may be wrong.
func TestCheckCephFSClock(t *testing.T) {
	c := testbed.CephAlone(t)
	store, keyring := "cephfs://"+c.Monitors+"/"+c.FileSystem, "keyring: "+c.Keyring
	c.Clock(t, "mds", "+3h")
	ok, says := checkStore(t, store, keyring, brief)
	wantSays(t, "an MDS ahead", ok, says, false, "CephFS", "clocks")
	c.Clock(t, "mds", "0")
	ok, says = checkStore(t, store, keyring)
	wantSays(t, "an MDS in time", ok, says, true, "read back")
}
