package main

import (
	"os"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

// TestMisspeltPlaces checks the hint for a misspelt path in the part that users cannot create.
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
	a := app.New(testMain(t, nil))
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
		if got := a.WayOut(pfs.E("x.Y", path, pfs.Permission, nil)); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for path, want := range map[pfs.Path]string{
		"/pfs/dc/hom":      "did you mean /pfs/dc/home?",
		"/pfs/dc/file.csv": "your home is /pfs/dc/home/alice",
	} {
		if got := a.WayOut(pfs.E("x.Y", path, pfs.ReadOnly, nil)); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestNoHintToMakeAHomeOfNobody checks that the hint mkdir -p appears only for directories that it
// can create.
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
