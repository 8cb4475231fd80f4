package main

import (
	"os"
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
	if !strings.Contains(r.said, "fingerprint SHA256:") {
		t.Errorf("no fingerprint in:\n%s", r.said)
	}
	local := filepath.Join(dir, "f")
	if err := os.WriteFile(local, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := testbed.SSHClient{Dir: dir, Address: "127.0.0.1:" + sshPort(t, r.said), User: "ann", Password: strings.TrimSpace(goodPassword)}
	out, err := c.Run(t, "mkdir new\nput "+local+" /mnt/old/f\nls -l new/f\n", "sftp", "-oBatchMode=no", "-b-", "HOST")
	if err != nil || !strings.Contains(out, "new/f\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "store", "home", "ann", "new", "f")); err != nil {
		t.Error(err)
	}
	if code, log := r.stop(); code != 0 {
		t.Errorf("code %d\n%s", code, log)
	}
}

// sshPort returns the port of the gateway for SFTP of a service.
func sshPort(t *testing.T, said string) string {
	t.Helper()
	m := regexp.MustCompile(`sftp -P (\d+) NAME@`).FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("no port of SSH in:\n%s", said)
	}
	return m[1]
}
