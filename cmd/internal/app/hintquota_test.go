package app

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

// TestQuotaIsHintedAtOnce checks that an exceeded quota has one hint, however many files it refuses.
func TestQuotaIsHintedAtOnce(t *testing.T) {
	var stderr bytes.Buffer
	a := New(&Main{Stdout: &stderr, Stderr: &stderr})
	for i := range 3 {
		a.report(pfs.E("test.Commit", pfs.Path(fmt.Sprintf("/pfs/dc/home/ann/d%d/f%d", i, i)), pfs.Quota, nil))
	}
	text := stderr.String()
	if strings.Count(text, "hint:") != 1 || !strings.Contains(text, "quota /pfs/dc/home/ann shows") || strings.Count(text, "quota exceeded") != 3 {
		t.Errorf("got\n%s", text)
	}
}

func TestLimitedDir(t *testing.T) {
	for name, want := range map[pfs.Path]pfs.Path{
		"/pfs/dc/home/ann/d/f": "/pfs/dc/home/ann", "/pfs/dc/home/ann": "/pfs/dc/home/ann",
		"/pfs/dc/mnt/m/d/home/x/f": "/pfs/dc/mnt/m/d/home/x", "/pfs/dc/mnt/m": "/pfs/dc/mnt/m", "/pfs/dc/public": "/pfs/dc/public",
		"/pfs/dc/public/d/f": "/pfs/dc/public/d",
	} {
		if got := limitedDir(name); got != want {
			t.Errorf("limitedDir(%s) = %s, want %s", name, got, want)
		}
	}
}
