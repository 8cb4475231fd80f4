package main

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestModes reads modes as chmod does, and refuses what is none.
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
		"u+s":  `mode "u+s": 's' is none of r, w, x and X`,
		"z+r":  `mode "z+r": 'z' is none of u, g, o and a`,
		"u+r,": `mode "u+r,": write it as 755, u+rwX or go-w`,
		"g=a":  `mode "g=a": 'a' is none of r, w, x and X`,
		"g=ur": `mode "g=ur": 'u' is none of r, w, x and X`,
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
			// The exit code tells that bits stay for the sake of the umask.
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

// ownModes keeps the permissions of directories, as a store does that is used as the
// user.
type ownModes struct{ pfs.FileSystem }

func (o *ownModes) check(ctx context.Context, name pfs.Path, bits fs.FileMode) error {
	for dir := name; dir != home && dir.Within(home); dir = dir.Parent() {
		if info, err := o.Stat(ctx, dir); err == nil && info.IsDir() && info.Mode&bits != bits {
			return pfs.E("ownModes", dir, pfs.Permission, nil)
		}
	}
	return nil
}

func (o *ownModes) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	if err := o.check(ctx, dir, 0o500); err != nil {
		return pfs.Page{}, err
	}
	return o.FileSystem.List(ctx, dir, opts)
}

func (o *ownModes) Chmod(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	if name.Base() == "others" {
		return pfs.E("ownModes", name, pfs.Permission, nil)
	}
	if err := o.check(ctx, name.Parent(), 0o100); err != nil {
		return err
	}
	return pfs.SetAttr(ctx, o.FileSystem, name, pfs.AttrMode, pfs.Attrs{Mode: mode})
}

// TestChmod opens and closes trees, leaves links alone and names what it cannot change.
func TestChmod(t *testing.T) {
	mem := newHome(t)
	for _, name := range []pfs.Path{home + "/t/sub/f", home + "/t/others", home + "/t/run"} {
		if err := pfs.MkdirAll(t.Context(), mem, name.Parent(), 0o755); err != nil {
			t.Fatal(err)
		}
		pfstest.WriteFile(t, mem, name, nil)
	}
	for link, target := range map[pfs.Path]string{home + "/t/link": "none", home + "/top": "t/run"} {
		if err := pfs.MakeLink(t.Context(), mem, target, link); err != nil {
			t.Fatal(err)
		}
	}
	fsys := &ownModes{mem}
	for _, tt := range []struct {
		args, stdout, stderr string
		code                 cliio.Code
	}{
		{"-v 755 HOME/t/run", "0755 HOME/t/run\n", "", cliio.Done},
		{"-v u-x HOME/top", "0655 HOME/t/run\n", "", cliio.Done},
		{"-R a-rwx HOME/t/sub", "", "", cliio.Done},
		{"-R -v u=rwX,go= HOME/t/sub", "0700 HOME/t/sub\n0600 HOME/t/sub/f\n", "", cliio.Done},
		{"-R go=rX HOME/t", "", "HOME/t/others: permission denied\n", cliio.Partly},
		{"600 HOME/t/others", "", "HOME/t/others: permission denied\n", cliio.Denied},
		{"600 HOME/none", "", "HOME/none: no such file or directory\n", cliio.NotFound},
		{"600 HOME/none HOME/t/run", "", "HOME/none: no such file or directory\n", cliio.Partly},
		{"600 HOME/t/link", "", "none, which is not there\n", cliio.NotFound},
		{"999 HOME/t/run", "", "mode 999: an octal number", cliio.Usage},
		{"600 here", "", "those of the service begin with /pfs/", cliio.Usage},
		{"-- -r HOME/t/run", "", "", cliio.Done},
	} {
		atHome := func(text string) string { return strings.ReplaceAll(text, "HOME", home) }
		got := run(t, testMain(t, fsys, append([]string{"chmod"}, strings.Fields(atHome(tt.args))...)...))
		if got.code != tt.code || got.stdout != atHome(tt.stdout) || !strings.Contains(got.stderr, atHome(tt.stderr)) || tt.stderr == "" && got.stderr != "" || strings.Count(got.stderr, "denied") > 1 {
			t.Errorf("%s: code %d, %q, %q", tt.args, got.code, got.stdout, got.stderr)
		}
	}
	for name, want := range map[pfs.Path]fs.FileMode{"t": 0o755, "t/sub": 0o755, "t/sub/f": 0o644, "t/run": 0o200} {
		if info, err := mem.Stat(t.Context(), home+"/"+name); err != nil || info.Mode.Perm() != want {
			t.Errorf("%s: mode %o, %v; want %o", name, info.Mode.Perm(), err, want)
		}
	}
	plain := struct{ pfs.FileSystem }{mem}
	if got := run(t, testMain(t, plain, "chmod", "600", home+"/t/run")); got.code != cliio.Failed || !strings.Contains(got.stderr, "not supported by this store: permission bits") {
		t.Errorf("a store without modes: code %d, %q", got.code, got.stderr)
	}
}
