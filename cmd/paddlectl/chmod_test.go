package main

import (
	"context"
	"io/fs"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

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

func (o *ownModes) SetAttr(ctx context.Context, name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) error {
	if name.Base() == "others" {
		return pfs.E("ownModes", name, pfs.Permission, nil)
	}
	if err := o.check(ctx, name.Parent(), 0o100); err != nil {
		return err
	}
	return pfs.SetAttr(ctx, o.FileSystem, name, mask, attrs)
}

// TestChmod changes the modes of trees. It keeps links and names the entries that it cannot change.
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
		{"600 HOME/t/link", "", "none, which does not exist\n", cliio.NotFound},
		{"999 HOME/t/run", "", "mode 999: an octal number", cliio.Usage},
		{"600 here", "", "paths of the service begin with /pfs/", cliio.Usage},
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
