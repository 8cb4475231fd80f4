package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
)

// inZsh completes text in an interactive zsh that finds the script in its fpath, and prints the
// resulting line.
const inZsh = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; stty -echo; fpath=($PWD $fpath); autoload -U compinit; compinit -u; echo RE""ADY'
zpty -r -m shell line '*READY*'
zpty -w -n shell "$TYPED"$'\t; echo "END"\n'
zpty -r -m shell line '*END*'
print -r -- "$line"
zpty -d shell
`

// TestShells lets the shells themselves complete, which are not on every machine.
func TestShells(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	// The program that completes: two candidates for anything.
	program := "#!/bin/sh\nprintf '%s\\n' /pfs/local/dir/ /pfs/local/other\n"
	if err := os.WriteFile(filepath.Join(dir, "paddlectl"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, script string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script := func(shell string) string {
		t.Helper()
		text, err := cliargs.CompletionScript(shell, "paddlectl", "paddlecloud")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	write("_paddlectl", script("zsh"))
	write("fish/completions/paddlectl.fish", script("fish"))
	write("paddlectl.bash", script("bash"))

	tests := []struct{ shell, script, want string }{
		{"bash", "source ./paddlectl.bash; COMP_LINE='paddlectl ls /pfs/local/d'; COMP_POINT=${#COMP_LINE}; " +
			"COMP_WORDS=(paddlectl ls /pfs/local/d); COMP_CWORD=2; $(complete -p paddlectl | sed 's/.*-F //; s/ .*//') paddlectl; echo \"${COMPREPLY[@]}\"", "/pfs/local/dir/"},
		{"fish", "complete -C 'paddlectl ls /pfs/local/d'", "/pfs/local/dir/"},
		{"zsh", inZsh, "/pfs/local/dir/"},
	}
	for _, tt := range tests {
		t.Run(tt.shell, func(t *testing.T) {
			if _, err := exec.LookPath(tt.shell); err != nil {
				t.Skipf("there is no %s on this machine", tt.shell)
			}
			c := exec.CommandContext(t.Context(), tt.shell, "-c", tt.script)
			c.Dir = dir
			c.Env = append(os.Environ(), "TYPED=paddlectl ls /pfs/local/d", "TERM=dumb")
			out, err := c.CombinedOutput()
			out = bytes.ReplaceAll(out, []byte("\a"), nil) // zsh rings between the typed text and the completion
			if err != nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("completed to %q, %v; want %s in it", out, err, tt.want)
			}
		})
	}
}
