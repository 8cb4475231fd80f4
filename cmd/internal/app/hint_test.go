package app

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// TestLoginHints checks that the hint names the service that refused the login, and that there
// is no hint for a login that is refused because of its rate.
func TestLoginHints(t *testing.T) {
	a := New(&Main{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }})
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
		if got := a.WayOut(a.LoginHint(tt.err, e)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	removed := pfs.E("x.Y", "", pfs.Unauthenticated, config.ErrNoAccount)
	for _, err := range []error{removed, a.LoginHint(removed, e)} {
		if got := a.WayOut(err); got != "" {
			t.Errorf("an account that was removed: %q, want nothing: no login helps", got)
		}
	}
	if a.LoginHint(nil, e) != nil {
		t.Error("a hint without an error")
	}
}

func TestSpaceLine(t *testing.T) {
	a := New(&Main{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }})
	here := "df -h '/a b' shows the space on this machine"
	if runtime.GOOS == "windows" {
		here = ""
	}
	for path, want := range map[pfs.Path]string{
		"/pfs/dc/home/alice/f": "paddlectl df shows the space on each datacenter",
		"":                     "paddlectl df shows the space on each datacenter",
		"/a b/f":               here,
	} {
		if got := a.WayOut(pfs.E("x.Y", path, pfs.NoSpace, nil)); got != want {
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
