package files

import (
	"bytes"
	"io/fs"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/pfs"
)

func TestLsColors(t *testing.T) {
	c := parseLsColors("rs=0:di=01;34:ln=target:ex=:*.tar=01;31:*.x.tar=35:*README=4:bad:*.evil=1m\x1b[2J:*.plain=00:fi=0")
	for name, tt := range map[string]struct {
		mode fs.FileMode
		want string
	}{
		"dir":        {fs.ModeDir | 0o755, "\x1b[01;34mdir\x1b[0m"},
		"link":       {fs.ModeSymlink | 0o777, "link"},
		"a.tar":      {0o644, "\x1b[01;31ma.tar\x1b[0m"},
		"b.x.tar":    {0o755, "\x1b[35mb.x.tar\x1b[0m"}, // executable files have no colour here
		"c.x.tar":    {fs.ModeDir, "\x1b[01;34mc.x.tar\x1b[0m"},
		"README":     {0o644, "\x1b[4mREADME\x1b[0m"},
		"d.evil":     {0o644, "d.evil"},
		"e.plain":    {0o644, "e.plain"},
		"f":          {0o644, "f"},
		"socket.tar": {fs.ModeSocket, "\x1b[01;31msocket.tar\x1b[0m"},
	} {
		if got := c.paint(pfs.Info{Name: name, Mode: tt.mode}, name); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	def := parseLsColors(defaultColors)
	if got := def.paint(pfs.Info{Mode: 0o755}, "x"); got != "\x1b[01;32mx\x1b[0m" {
		t.Errorf("an executable file: %q", got)
	}
}

// TestLsColorsAreForTerminals checks when there are colors: not in a test, which has no terminal.
func TestLsColorsAreForTerminals(t *testing.T) {
	env := map[string]string{}
	a := app.New(&app.Main{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Getenv: func(key string) string { return env[key] }})
	if newLsColors(a, colorAuto) != nil || newLsColors(a, colorNever) != nil || newLsColors(a, colorAlways) == nil {
		t.Error("colours without a terminal, or none where they are asked for")
	}
	env["NO_COLOR"] = "1"
	if newLsColors(a, colorAlways) == nil {
		t.Error("NO_COLOR counts for more than --color always")
	}
}
