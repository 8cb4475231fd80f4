package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// replicas are processes of pfsd on a local store.
type replicas struct {
	*testbed.Replicas
	t    *testing.T
	data string
}

func newReplicas(t *testing.T, program string, n int) *replicas {
	t.Helper()
	data := dataFor(t)
	testbed.AddUser(t, program, data, "ann", strings.TrimSpace(goodPassword))
	config := writeConfig(t, t.TempDir(), "webhdfs: {"+believing+"}\n")
	return &replicas{testbed.StartReplicas(t, program, n, "--data", data, "--config", config, "--no-tls", "--sftp", "127.0.0.1:0", "--webhdfs", "127.0.0.1:0"), t, data}
}

// home returns the place of a file of ann's in the store.
func (r *replicas) home(name string) string {
	return filepath.Join(r.data, "store", "home", "ann", name)
}

// TestReplicaKilled kills processes of pfsd in the middle of uploads through gateways.
func TestReplicaKilled(t *testing.T) {
	testbed.SSH(t)
	program := testbed.BuildPfsd(t)
	t.Run("ssh", func(t *testing.T) { sshKilled(t, program) })
	t.Run("webhdfs", func(t *testing.T) { webhdfsKilled(t, program) })
}

// sshKilled kills a pfsd in the middle of uploads by OpenSSH: the only one, which is started again, or one of two
// behind a balancer. The user continues. No file is half there, no byte is wrong, and those that were noted are not sent again.
func sshKilled(t *testing.T, program string) {
	const size, killAt = 32<<20 + 77, 20 << 20
	for _, row := range []struct {
		name              string
		replicas          int
		old, damage, long bool
		command           string
	}{
		{name: "sftp", replicas: 1, old: true, command: "sftp -oBatchMode=no -b- HOST"},
		{name: "sftp, damaged", replicas: 1, damage: true, long: true, command: "sftp -oBatchMode=no -b- HOST"},
		{name: "scp", replicas: 2, command: "scp -s -r tree HOST:"},
		{name: "scp -O", replicas: 2, long: true, command: "scp -O -r tree HOST:"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.long {
				testbed.Long(t)
			}
			r := newReplicas(t, program, row.replicas)
			c := testbed.SSHClient{Dir: t.TempDir(), Address: r.Balance((*testbed.Pfsd).SSH), User: "ann", Password: strings.TrimSpace(goodPassword)}
			do := func(stdin, command string) (string, error) {
				args := strings.Fields(command)
				return c.Run(t, stdin, args[0], args[1:]...)
			}
			must := func(stdin, command string) string {
				t.Helper()
				out, err := do(stdin, command)
				if err != nil {
					t.Fatalf("%s: %v\n%s%s", command, err, stdin, out)
				}
				return out
			}
			tree := map[string][]byte{"large": pfstest.Pattern(7, size)}
			for i := range 5 {
				tree[fmt.Sprintf("small%d", i)] = pfstest.Pattern(uint64(i), 1000*i)
			}
			if err := os.Mkdir(filepath.Join(c.Dir, "tree"), 0o755); err != nil {
				t.Fatal(err)
			}
			for name, content := range tree {
				if err := os.WriteFile(filepath.Join(c.Dir, "tree", name), content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			const sftp = "sftp -oBatchMode=no -b- HOST"
			if row.old {
				must("mkdir tree\nput tree/small1 tree/large\n", sftp)
			}

			r.KillAfter(killAt)
			if out, err := do("put -R tree\n", row.command); err == nil {
				t.Errorf("%s succeeds although its replica was killed:\n%s", row.command, out)
			}
			sent := r.Killed()
			if row.replicas == 1 {
				r.Revive()
			}
			for name, content := range tree { // what has a name is whole
				got, err := os.ReadFile(r.home("tree/" + name))
				switch {
				case name == "large" && row.old && bytes.Equal(got, tree["small1"]), name == "large" && !row.old && os.IsNotExist(err):
				case name != "large" && (os.IsNotExist(err) || bytes.Equal(got, content)):
				default:
					t.Errorf("after the kill %s has %d bytes, %v", name, len(got), err)
				}
			}
			const reput = "reput tree/large tree/large\n"
			if row.damage {
				r.damage("tree", 5<<20)
				if out, err := do(reput, sftp); err == nil {
					t.Errorf("continued with damaged bytes:\n%s", out)
				}
			} else {
				must(reput, sftp)
				if n := sent(); n > size-killAt/2 {
					t.Errorf("%d bytes of %d were sent again after a kill at %d", n, size, killAt)
				}
				if got, err := os.ReadFile(r.home("tree/large")); err != nil || !bytes.Equal(got, tree["large"]) {
					t.Errorf("after reput the file has %d bytes of %d, %v", len(got), size, err)
				}
			}
			must("put -R tree\n", row.command)
			for name, content := range tree {
				if got, err := os.ReadFile(r.home("tree/" + name)); err != nil || !bytes.Equal(got, content) {
					t.Errorf("%s has %d bytes of %d, %v", name, len(got), len(content), err)
				}
			}
			sum := fmt.Sprintf("%x  tree/large\n", sha256.Sum256(tree["large"]))
			if got := must("", "ssh HOST sha256sum tree/large"); got != sum {
				t.Errorf("sha256sum says %s, want %s", got, sum)
			}
		})
	}
}

// damage changes a byte of what an interrupted upload has left in a directory.
func (r *replicas) damage(dir string, off int64) {
	r.t.Helper()
	staged, err := filepath.Glob(filepath.Join(r.home(dir), ".pfs-up-*"))
	if err != nil {
		r.t.Fatal(err)
	}
	done := false
	for _, name := range staged {
		if info, err := os.Stat(name); err != nil || info.Size() <= off {
			continue
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			r.t.Fatal(err)
		}
		b := make([]byte, 1)
		_, err = f.ReadAt(b, off)
		if err == nil {
			b[0] ^= 1
			_, err = f.WriteAt(b, off)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			r.t.Fatal(err)
		}
		done = true
	}
	if !done {
		r.t.Fatalf("no staged bytes in %q", staged)
	}
}

// webhdfsKilled kills one of two replicas in the middle of CREATE and of APPEND. The client sees an error. It repeats the CREATE,
// which has left nothing, and appends what the length of the file says is missing.
func webhdfsKilled(t *testing.T, program string) {
	r := newReplicas(t, program, 2)
	address := r.Balance(func(p *testbed.Pfsd) string { return p.Address("WebHDFS on http://") })
	dir := t.TempDir()
	content := pfstest.Pattern(8, 32<<20+77)
	curl := func(args ...string) ([]byte, error) {
		c := exec.CommandContext(t.Context(), "curl", append([]string{"-sSf"}, args...)...)
		var stderr strings.Builder
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil {
			err = fmt.Errorf("curl %q: %w: %s%s", args, err, &stderr, out)
		}
		return out, err
	}
	ask := func(answer any, method, query string) {
		t.Helper()
		out, err := curl("-X", method, "http://"+address+"/webhdfs/v1/f?user.name=ann&op="+query)
		if err == nil {
			err = json.Unmarshal(out, answer)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	send := func(method, op string, body []byte) error {
		t.Helper()
		name := filepath.Join(dir, "body")
		if err := os.WriteFile(name, body, 0o600); err != nil {
			t.Fatal(err)
		}
		var begun struct{ Location string }
		ask(&begun, method, op+"&noredirect=true")
		_, err := curl("-X", method, "-T", name, begun.Location)
		return err
	}
	want := func(what string, want []byte) {
		t.Helper()
		if got, err := os.ReadFile(r.home("f")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the file has %d bytes of %d, %v", what, len(got), len(want), err)
		}
	}
	old := []byte("old")
	if err := send("PUT", "CREATE", old); err != nil {
		t.Fatal(err)
	}
	r.KillAfter(20 << 20)
	if err := send("PUT", "CREATE&overwrite=true", content); err == nil {
		t.Error("CREATE succeeds although its replica was killed")
	}
	r.Killed()
	want("after the kill", old)
	if err := send("PUT", "CREATE&overwrite=true", content); err != nil {
		t.Error(err)
	}
	want("after another CREATE", content)

	r.Revive()
	more := pfstest.Pattern(9, 32<<20)
	whole := append(bytes.Clone(content), more...)
	r.KillAfter(20 << 20)
	if err := send("POST", "APPEND", more); err == nil {
		t.Error("APPEND succeeds although its replica was killed")
	}
	r.Killed()
	var status struct{ FileStatus struct{ Length int } }
	ask(&status, "GET", "GETFILESTATUS")
	length := status.FileStatus.Length
	if length <= len(content) || length >= len(whole) {
		t.Fatalf("after the kill the file has %d bytes: want a part of what was appended to %d", length, len(content))
	}
	want("after the kill of APPEND", whole[:length])
	if err := send("POST", "APPEND", whole[length:]); err != nil {
		t.Error(err)
	}
	want("after another APPEND", whole)
}
