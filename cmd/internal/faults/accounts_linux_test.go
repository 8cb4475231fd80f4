package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// TestHDFSAccounts mounts an HDFS as two of its users, with one cache directory: neither reads what only the other may.
func TestHDFSAccounts(t *testing.T) {
	needMount(t)
	c := testbed.HDFS(t)
	dir, cache := c.Scratch(t), t.TempDir()
	as := func(user string, more ...string) *mounted {
		url := fmt.Sprintf("hdfs://%s?conf-dir=%s&user=%s", dir, c.ConfDir, user)
		return newMount(t, nil, append([]string{"--store", url, "--cache-dir", cache}, more...)...)
	}
	must(t, os.Chmod(as(c.Superuser).dir, 0o777))
	private := as("alice").dir + "/private"
	must(t, os.WriteFile(private, []byte("private"), 0o600))
	time.Sleep(3 * time.Second) // younger files are not cached
	for _, user := range []string{"alice", "bob", "alice"} {
		m := as(user, "--read-only")
		if _, err := os.Stat(m.dir + "/private"); err != nil {
			t.Fatal(err)
		}
		switch got, err := os.ReadFile(m.dir + "/private"); {
		case user == "alice" && (err != nil || string(got) != "private"):
			t.Errorf("%s reads %q, %v", user, got, err)
		case user == "bob" && !errors.Is(err, fs.ErrPermission):
			t.Errorf("%s reads %q, %v", user, got, err)
		}
	}
}
