//go:build ceph

package cephfs

import "testing"

func TestHostOf(t *testing.T) {
	for monitor, want := range map[string]string{
		"mon1":           "mon1",
		"mon1:6789":      "mon1",
		"127.0.0.1":      "127.0.0.1",
		"127.0.0.1:3300": "127.0.0.1",
		"[::1]":          "::1",
		"[::1]:3300":     "::1",
		"[v2:127.0.0.1:3300/0,v1:127.0.0.1:6789/0]": "",
	} {
		if got := hostOf(monitor); got != want {
			t.Errorf("the host of %q is %q, want %q", monitor, got, want)
		}
	}
}
