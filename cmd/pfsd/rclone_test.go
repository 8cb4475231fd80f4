package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const rcloneVersion = "v1.75.1"

// rclone returns a program with the remotes that the tests need. It is built once.
func rclone(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(cache, "pfs-testbed", "rclone-remotes-"+rcloneVersion)
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	dir := t.TempDir()
	source := "package main\n\nimport (\n\t\"github.com/rclone/rclone/cmd\"\n"
	for _, p := range []string{"backend/local", "backend/sftp", "backend/webdav", "cmd/about", "cmd/check", "cmd/copy", "cmd/lsjson", "cmd/move", "cmd/obscure", "cmd/purge"} {
		source += fmt.Sprintf("\t_ \"github.com/rclone/rclone/%s\"\n", p)
	}
	source += ")\n\nfunc main() { cmd.Main() }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(bin), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"mod", "init", "rclone"}, {"mod", "edit", "-require=github.com/rclone/rclone@" + rcloneVersion}, {"mod", "tidy"},
		{"build", "-o", bin, "."},
	} {
		c := exec.Command("go", args...)
		c.Dir, c.Env = dir, append(os.Environ(), "GOFLAGS=")
		if out, err := c.CombinedOutput(); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("rclone cannot be built: go %v: %v\n%s", args, err, out)
			}
			t.Skipf("rclone cannot be built: go %v: %v\n%s", args, err, out)
		}
	}
	return bin
}

// TestRclone: rclone copies a tree to each gateway that it knows and back, compares all bytes, and moves and removes it.
func TestRclone(t *testing.T) {
	bin := rclone(t)
	r := start(t, dataFor(t), "--no-tls", "--sftp", "127.0.0.1:0")
	local := t.TempDir()
	files := 200
	if testing.Short() {
		files = 20
	}
	for i := range files {
		name := filepath.Join(local, fmt.Sprintf("d%d", i%7), fmt.Sprintf("file %d é&<>#%%?.txt", i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.Repeat("x", i*i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(local, "large"), []byte(strings.Repeat("0123456789", 3<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	password := obscured(t, bin, strings.TrimSpace(goodPassword))
	port := regexp.MustCompile(`sftp -P (\d+) NAME@`).FindStringSubmatch(r.said)
	if port == nil {
		t.Fatalf("no port of SSH in\n%s", r.said)
	}
	for name, remote := range map[string]string{
		"webdav": fmt.Sprintf(":webdav,url='%s/dav/pfs/local/home/ann',vendor=owncloud,user=ann,pass=%s:", r.endpoint, password),
		"sftp":   fmt.Sprintf(":sftp,host=127.0.0.1,port=%s,known_hosts_file=none,user=ann,pass=%s:", port[1], password),
	} {
		t.Run(name, func(t *testing.T) {
			do := func(args ...string) string {
				t.Helper()
				c := exec.Command(bin, append(args, "--config", "/dev/null", "--retries", "1")...)
				out, err := c.CombinedOutput()
				if err != nil {
					t.Fatalf("rclone %v: %v\n%s", args, err, out)
				}
				return string(out)
			}
			do("copy", local, remote+"data")
			do("check", "--download", local, remote+"data")
			if out := do("copy", "-v", local, remote+"data"); strings.Contains(out, "Copied") {
				t.Errorf("a second copy sends files again:\n%s", out)
			}
			if testing.Short() {
				return
			}
			do("copy", remote+"data", remote+"copy")
			do("move", remote+"copy", remote+"moved")
			do("check", "--download", local, remote+"moved")
			back := t.TempDir()
			do("copy", remote+"moved", back)
			do("check", "--download", local, back)
			if out := do("about", remote); !strings.Contains(out, "Free") {
				t.Errorf("about: %s", out)
			}
			do("purge", remote+"moved")
			do("purge", remote+"data")
			if out := do("lsjson", remote); strings.TrimSpace(out) != "[\n]" && strings.TrimSpace(out) != "[]" {
				t.Errorf("left: %s", out)
			}
		})
	}
}

// obscured returns a password as rclone takes it.
func obscured(t *testing.T, bin, password string) string {
	t.Helper()
	out, err := exec.Command(bin, "obscure", password).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
