package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLitmus runs the test suite for WebDAV servers of that name. Only what docs/gateways.md says of properties and shared
// locks fails, and a namespace that Go's decoder accepts.
func TestLitmus(t *testing.T) {
	if _, err := exec.LookPath("litmus"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v; on Debian: apt-get install litmus", err)
		}
		t.Skipf("%v; on Debian: apt-get install litmus", err)
	}
	r := start(t, dataFor(t), "--no-tls")
	c := exec.CommandContext(t.Context(), "litmus", "-k", r.endpoint+"/dav/pfs/local/home/ann/", "ann", strings.TrimSpace(goodPassword))
	c.Dir = t.TempDir() // it writes a log
	out, _ := c.CombinedOutput()
	for _, set := range []string{"basic", "copymove", "props", "locks", "http"} {
		if !strings.Contains(string(out), "<- summary for `"+set+"'") {
			t.Errorf("%s did not run", set)
		}
	}
	known := []string{"propfind_invalid2", "propset", "propmanyns", "propget", "owner_modify", "lock_shared"}
	for _, failed := range regexp.MustCompile(`(\w+)\.* FAIL`).FindAllStringSubmatch(string(out), -1) {
		if !slices.Contains(known, failed[1]) {
			t.Errorf("%s fails", failed[1])
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
