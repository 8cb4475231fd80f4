package files

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

// TestModes parses modes as chmod does, and refuses others.
func TestModes(t *testing.T) {
	for _, tt := range []struct {
		text      string
		old, want fs.FileMode
		dir       bool
	}{
		{"644", 0o777, 0o644, false}, {"0", 0o777, 0, false}, {"0755", 0, 0o755, true},
		{"u+x", 0o644, 0o744, false}, {"+x", 0o644, 0o755, false}, {"+w", 0o444, 0o644, false}, {"a+w", 0o444, 0o666, false},
		{"-w", 0o666, 0o466, false}, {"a-w", 0o666, 0o444, false}, {"=rw", 0o777, 0o644, false}, {"go=", 0o777, 0o700, false},
		{"u=rwX,go=rX", 0o600, 0o644, false}, {"u=rwX,go=rX", 0o600, 0o755, true}, {"u=rwX,go=rX", 0o710, 0o755, false},
		{"g=u", 0o640, 0o660, false}, {"o=g", 0o640, 0o644, false}, {"ug+o", 0o005, 0o555, false}, {"o-u", 0o757, 0o750, false},
		{"u=r-x+w", 0o100, 0o600, false}, {"u+rwX,go-w", 0o466, 0o644, false}, {"u+", 0o644, 0o644, false},
	} {
		change, err := parseMode(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		info := pfs.Info{Mode: tt.old}
		if tt.dir {
			info.Mode |= fs.ModeDir
		}
		if got := change(info); got != tt.want {
			t.Errorf("%s of %o: %o, want %o", tt.text, tt.old, got, tt.want)
		}
	}
	for text, want := range map[string]string{
		"":     `mode "": write it as 755, u+rwX or go-w`,
		"888":  "mode 888: an octal number up to 777 is needed",
		"1777": "mode 1777: an octal number up to 777 is needed",
		"u":    `mode "u": write it as 755, u+rwX or go-w`,
		"u+s":  `mode "u+s": 's' is not one of r, w, x and X`,
		"z+r":  `mode "z+r": 'z' is not one of u, g, o and a`,
		"u+r,": `mode "u+r,": write it as 755, u+rwX or go-w`,
		"g=a":  `mode "g=a": 'a' is not one of r, w, x and X`,
		"g=ur": `mode "g=ur": 'u' is not one of r, w, x and X`,
	} {
		if _, err := parseMode(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestModesAsThoseOfChmod compares with the program of this machine.
func TestModesAsThoseOfChmod(t *testing.T) {
	if _, err := exec.LookPath("chmod"); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"640", "u+x", "+x", "+w", "-w", "-r", "=rw", "=", "a=rX", "g=u", "u=g,g=o", "o+u-x", "ug=rw,o-rwx", "u-X", "go+X"} {
		for _, old := range []fs.FileMode{0o600, 0o644, 0o755, 0o421, 0o060} {
			if err := os.Chmod(file, old); err != nil {
				t.Fatal(err)
			}
			// chmod fails if the umask kept some bits; the mode counts.
			exec.Command("sh", "-c", `umask 022; chmod -- "$1" "$2" 2>&1`, "sh", text, file).Run()
			want, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			change, err := parseMode(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := change(pfs.Info{Mode: old}); got != want.Mode() {
				t.Errorf("%s of %o: %o, chmod makes it %o", text, old, got, want.Mode())
			}
		}
	}
}
