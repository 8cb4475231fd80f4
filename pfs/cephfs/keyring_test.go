//go:build ceph

package cephfs

import "testing"

func TestKeyOf(t *testing.T) {
	for keyring, want := range map[string]string{
		"[client.pfs]\n\tkey = AQ==\n":                                 "AQ==",
		"[client.pfs]\nkey=AQ==":                                       "AQ==",
		"[client.pfs]\n\tcaps mds = \"allow *\"\n\tkey = \"AQ==\" ; x": "AQ==",
		"[mon.]\n\tkey = no\n[client.pfs]\n\tkey = AQ==\n[osd.0]\n":    "AQ==",
		"[client.pfs]\n[client.other]\n\tkey = no\n":                   "",
		"[client.pfs2]\n\tkey = no\n":                                  "",
		"key = no\n":                                                   "",
	} {
		if got, ok := keyOf(keyring, "pfs"); got != want || ok != (want != "") {
			t.Errorf("the key in %q is %q, %v, want %q", keyring, got, ok, want)
		}
	}
}
