package main

import (
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// TestLoginHints checks that the way out is that of the service which refused, and
// that a login which comes too often has none beside its message.
func TestLoginHints(t *testing.T) {
	d := newDeps(&Main{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }})
	e := config.Entry{Name: "far", Username: "bob", Endpoint: "https://far:1"}
	const login = "paddlectl login --endpoint https://far:1 --username bob --datacenter far"
	pin := &client.PinError{Pinned: "aa", Shown: "bb"}
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"not logged in", pfs.E("x.Y", "", pfs.Unauthenticated, nil), login},
		{"another certificate", pfs.E("x.Y", "", pfs.Unauthenticated, pin), "if its administrator confirms the new one: " + login + " --fingerprint bb"},
		{"too often", pfs.Errorf("x.Y", "", pfs.Limit, "try again in 1s"), ""},
	} {
		if got := d.wayOut(d.loginHint(tt.err, e)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	removed := pfs.E("x.Y", "", pfs.Unauthenticated, config.ErrNoAccount)
	for _, err := range []error{removed, d.loginHint(removed, e)} {
		if got := d.wayOut(err); got != "" {
			t.Errorf("an account that was removed: %q, want nothing: no login helps", got)
		}
	}
	if d.loginHint(nil, e) != nil {
		t.Error("a hint without an error")
	}
}

func TestSpaceLine(t *testing.T) {
	d := newDeps(&Main{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }})
	here := "df -h '/a b' shows the space on this machine"
	if runtime.GOOS == "windows" {
		here = ""
	}
	for path, want := range map[pfs.Path]string{
		"/pfs/dc/home/alice/f": "paddlectl df shows the space on each datacenter",
		"":                     "paddlectl df shows the space on each datacenter",
		"/a b/f":               here,
	} {
		if got := d.wayOut(pfs.E("x.Y", path, pfs.NoSpace, nil)); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

func TestRenameLine(t *testing.T) {
	for quoted, want := range map[string]string{
		`"b\xffd"`:     `mv '/a b'/$'b\xffd' '/a b'/NEW-NAME`,
		`"it's\xff"`:   `mv '/a b'/$'it\'s\xff' '/a b'/NEW-NAME`,
		`".pfs-quota"`: `mv '/a b'/$'.pfs-quota' '/a b'/NEW-NAME`,
	} {
		got := renameLine(&transfer.NameError{Dir: "/a b", Quoted: quoted})
		if !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", quoted, got, want)
		}
	}
}

// TestNoHintToMakeAHomeOfNobody checks that mkdir -p is named for what it can make only.
func TestNoHintToMakeAHomeOfNobody(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const nobody = "/pfs/dc/home/nobody"
	for _, args := range [][]string{
		{"mkdir", nobody + "/d"}, {"touch", nobody + "/f"}, {"cp", "f", nobody + "/f"},
	} {
		got := run(t, testMain(t, newHome(t), args...))
		if got.code != cliio.NotFound || strings.Contains(got.stderr, "hint:") {
			t.Errorf("%q: code %d, %s", args, got.code, got.stderr)
		}
		args[len(args)-1] = strings.ReplaceAll(args[len(args)-1], "nobody", "alice/none")
		if got := run(t, testMain(t, newHome(t), args...)); !strings.Contains(got.stderr, "hint: paddlectl mkdir -p "+home+"/none") {
			t.Errorf("%q: code %d, %s", args, got.code, got.stderr)
		}
	}
}

// TestMisspeltPlaces checks the way out where the part of a path that nobody can make is
// misspelt.
func TestMisspeltPlaces(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, want string }{
		{"/pfs/dc/hom/alice/x", "did you mean /pfs/dc/home/alice/x?"},
		{"/pfs/dc/users/alcie/x y", "did you mean '/pfs/dc/home/alice/x y'?"},
		{"/pfs/dc/pubic/x", "did you mean /pfs/dc/public/x?"},
		{"/pfs/dc/elsewhere/x", "your home is /pfs/dc/home/alice"},
		{"/pfs/dc/elsewhere/x/y", "paddlectl ls /pfs/dc shows what is there"},
	} {
		for _, args := range [][]string{{"ls"}, {"mkdir"}, {"touch"}, {"cat"}, {"cp", "f"}} {
			got := run(t, testMain(t, newHome(t), append(args, tt.path)...))
			if got.code != cliio.NotFound || !strings.HasSuffix(got.stderr, "\nhint: "+tt.want+"\n") {
				t.Errorf("%q %s: code %d, %s, want %q", args, tt.path, got.code, got.stderr, tt.want)
			}
		}
	}
	d := newDeps(testMain(t, nil))
	for path, want := range map[pfs.Path]string{
		"/pfs/dc/home/alcie/x":  "did you mean /pfs/dc/home/alice/x?",
		"/pfs/dc/home/bob":      "your home is /pfs/dc/home/alice",
		"/pfs/dc/home/bob/x":    "",
		"/pfs/dc/home/alice":    "",
		"/pfs/dc/home/alice/x":  "",
		"/pfs/dc/public/x":      "",
		"/pfs/public/dataset/x": "",
		"/etc/x":                "",
	} {
		if got := d.wayOut(pfs.E("x.Y", path, pfs.Permission, nil)); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for path, want := range map[pfs.Path]string{
		"/pfs/dc/hom":      "did you mean /pfs/dc/home?",
		"/pfs/dc/file.csv": "your home is /pfs/dc/home/alice",
	} {
		if got := d.wayOut(pfs.E("x.Y", path, pfs.ReadOnly, nil)); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
