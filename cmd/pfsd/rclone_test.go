package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// rcloneClients are rclone with the remotes that gateways serve.
func rcloneClients() []gatewayClient {
	do := func(w *gatewayWorld, args ...string) (string, error) {
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "REMOTE:", w.remote)
		}
		c := exec.CommandContext(w.t.Context(), rclone(w.t), append(args, "--config", "/dev/null", "--retries", "1")...)
		c.Dir = w.dir
		out, err := c.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("rclone %q: %w\n%s", args, err, out)
		}
		return string(out), err
	}
	step := func(op string, args ...string) gatewayStep {
		return gatewayStep{op: op, do: func(w *gatewayWorld) error {
			_, err := do(w, slices.Clone(args)...)
			return err
		}}
	}
	client := func(name string, remote func(w *gatewayWorld, password string) string) gatewayClient {
		return gatewayClient{name: name, short: 3, begin: func(w *gatewayWorld) {
			w.remote = remote(w, obscured(w.t, rclone(w.t), strings.TrimSpace(goodPassword)))
			files := 200
			if testing.Short() {
				files = 20
			}
			for i := range files { // names that are hard to quote
				name := filepath.Join(w.dir, "tree", fmt.Sprintf("d%d", i%7), fmt.Sprintf("file %d é&<>#%%?.txt", i))
				if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(strings.Repeat("x", i*i)), 0o600)); err != nil {
					w.t.Fatal(err)
				}
			}
		}, steps: []gatewayStep{
			step("copy there", "copy", "tree", "REMOTE:data"),
			step("`check --download`", "check", "--download", "tree", "REMOTE:data"),
			{op: "copy again, which sends nothing", do: func(w *gatewayWorld) error {
				out, err := do(w, "copy", "-v", "tree", "REMOTE:data")
				if err == nil && strings.Contains(out, "Copied") {
					err = fmt.Errorf("files are sent again:\n%s", out)
				}
				return err
			}},
			step("copy inside", "copy", "REMOTE:data", "REMOTE:copy"),
			{op: "move", do: func(w *gatewayWorld) error {
				_, err := do(w, "move", "REMOTE:copy", "REMOTE:moved")
				_, err2 := do(w, "check", "--download", "tree", "REMOTE:moved")
				return errors.Join(err, err2)
			}},
			{op: "copy back", do: func(w *gatewayWorld) error {
				_, err := do(w, "copy", "REMOTE:moved", "back")
				_, err2 := do(w, "check", "--download", "tree", "back")
				return errors.Join(err, err2)
			}},
			{op: "about", do: func(w *gatewayWorld) error {
				out, err := do(w, "about", "REMOTE:")
				if err == nil && !strings.Contains(out, "Free") {
					err = fmt.Errorf("about: %s", out)
				}
				return err
			}},
			{op: "purge", do: func(w *gatewayWorld) error {
				_, err := do(w, "purge", "REMOTE:moved")
				_, err2 := do(w, "purge", "REMOTE:data")
				out, err3 := do(w, "lsjson", "REMOTE:")
				if strings.Contains(out, "Path") {
					err3 = fmt.Errorf("left: %s", out)
				}
				return errors.Join(err, err2, err3)
			}},
		}}
	}
	return []gatewayClient{
		client("rclone sftp", func(w *gatewayWorld, password string) string {
			return fmt.Sprintf(":sftp,host=127.0.0.1,port=%s,known_hosts_file=none,user=ann,pass=%s:%s/", sshPort(w.t, w.said), password, w.at)
		}),
		client("rclone webdav", func(w *gatewayWorld, password string) string {
			return fmt.Sprintf(":webdav,url='%s',vendor=owncloud,user=ann,pass=%s:", w.davURL(""), password)
		}),
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
