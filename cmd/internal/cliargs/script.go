package cliargs

import (
	_ "embed"
	"strings"
)

// CompletionCommand is the hidden command that the scripts call for candidates: after "--" come the
// words of the line up to the cursor, the last one possibly empty. It prints the completions, one a
// line.
const CompletionCommand = "__complete"

// Shells are the shells that CompletionScript supports.
var Shells = []string{"bash", "fish", "zsh"}

var (
	//go:embed completion/bash.sh
	bashScript string
	//go:embed completion/fish.fish
	fishScript string
	//go:embed completion/zsh.sh
	zshScript string
)

// CompletionScript returns the completion script of a shell for program and its aliases. It returns
// an error for an unknown shell.
func CompletionScript(shell, program string, aliases ...string) (string, error) {
	script, ok := map[string]string{"bash": bashScript, "fish": fishScript, "zsh": zshScript}[shell]
	if !ok {
		return "", Usagef("no script for %q, only for %s", shell, strings.Join(Shells, ", "))
	}
	others := strings.Join(append([]string{""}, aliases...), " ")
	return strings.NewReplacer(" ALIASES", others, "PROGRAM", program).Replace(script), nil
}
