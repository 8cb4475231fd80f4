package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestServeSFTP copies a file with OpenSSH to a service that its configuration file describes.
func TestServeSFTP(t *testing.T) {
	testbed.SSH(t)
	dir := t.TempDir()
	config := writeConfig(t, dir, "sftp:\n  listen: 127.0.0.1:0\n  aliases:\n    /mnt/old: /pfs/local/home/{user}/new\n")
	r := start(t, filepath.Join(dir, "data"), "--config", config)
	port := regexp.MustCompile(`sftp -P (\d+) NAME@`).FindStringSubmatch(r.said)
	if port == nil || !strings.Contains(r.said, "fingerprint SHA256:") {
		t.Fatalf("no address in:\n%s", r.said)
	}
	askpass := filepath.Join(dir, "askpass")
	if err := os.WriteFile(askpass, []byte("#!/bin/sh\necho '"+strings.TrimSpace(goodPassword)+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "sftp", "-F/dev/null", "-P"+port[1], "-oUserKnownHostsFile="+filepath.Join(dir, "known"), "-oStrictHostKeyChecking=accept-new",
		"-oBatchMode=no", "-b-", "ann@127.0.0.1")
	c.Env = append(os.Environ(), "SSH_ASKPASS="+askpass, "SSH_ASKPASS_REQUIRE=force")
	c.Stdin = strings.NewReader("mkdir new\nput " + askpass + " /mnt/old/f\nls -l new/f\n")
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "new/f\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "store", "home", "ann", "new", "f")); err != nil {
		t.Error(err)
	}
	if code, log := r.stop(); code != 0 {
		t.Errorf("code %d\n%s", code, log)
	}
}
