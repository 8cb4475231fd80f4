package sftpd_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
)

// TestSSHFS works on a mount of sshfs as programs do: new files, changes in place, trees.
func TestSSHFS(t *testing.T) {
	if _, err := os.Stat("/dev/fuse"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	w := newWorld(t)
	m := filepath.Join(w.dir, "mount")
	if err := os.Mkdir(m, 0o755); err != nil {
		t.Fatal(err)
	}
	w.must(t, "", "sshfs", "HOST:", m)
	unmount := func() ([]byte, error) { return exec.Command("fusermount", "-u", m).CombinedOutput() }
	defer func() { _, _ = exec.Command("fusermount", "-uz", m).CombinedOutput() }()
	large := random(6<<20 + 5)
	w.local(t, "large", large)
	script := `set -e
cd "$1"
cp ../large large
cmp ../large large
mkdir -p d/e
echo one > d/f
echo two >> d/f
[ "$(cat d/f)" = "$(printf 'one\ntwo')" ]
printf X | dd of=large bs=1 seek=4194304 conv=notrunc status=none
mv d/f d/e/g
ln -s e/g d/link
cat d/link
cp --preserve=mode,timestamps ../large copy
truncate -s 10 copy
cp ../large copy
cmp ../large copy
echo short > copy
[ "$(cat copy)" = short ]
rm copy
chmod 600 d/e/g
touch -d 2020-01-02T03:04:05Z d/e/g
stat -c '%a %Y %s' d/e/g
for i in $(seq 50); do echo $i > d/n$i; done
ls d | wc -l
rm -r d/n*
df . > /dev/null
`
	out, err := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", m).CombinedOutput()
	if want := "one\ntwo\n600 1577934245 8\n52\n"; err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
	// sshfs ignores the errors of CLOSE: only fsync tells a program that the file cannot be published.
	if err := os.Mkdir(filepath.Join(m, "gone"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(m, "gone/lost"), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("lost"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.store, "home", gatewaytest.Alice, "gone")); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err == nil {
		t.Error("fsync of a file that cannot be published: no error")
	}
	_ = f.Close()
	if out, err := unmount(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	large[4<<20] = 'X'
	w.wantFile(t, "large", large)
	w.wantFile(t, "d/e/g", []byte("one\ntwo\n"))
	entries, err := os.ReadDir(filepath.Join(w.store, "home", gatewaytest.Alice))
	if err != nil || strings.Contains(fmt.Sprint(entries), ".pfs-up") {
		t.Errorf("%v, %v", entries, err)
	}
	if bytes.Contains([]byte(w.Log()), []byte("level=ERROR")) {
		t.Errorf("errors in the log:\n%s", w.Log())
	}
}
