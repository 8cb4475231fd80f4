package main

import (
	"context"
	_ "embed"
	"sort"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/urfave/cli/v2"
)

// The scripts ask the hidden command __complete for candidates.
var (
	//go:embed completion/bash.sh
	bashScript string
	//go:embed completion/zsh.sh
	zshScript string
	//go:embed completion/fish.fish
	fishScript string
)

func (d *deps) completionCommand() *cli.Command {
	scripts := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}
	return d.command(spec{
		name: "completion", args: "bash|zsh|fish", least: 1, most: 1,
		summary: "print the script that completes commands and paths",
		text: `Prints a script for your shell that completes subcommands, flags and paths, those
on the service, too. Where the service does not answer within a moment, or you are
not logged in, there are no candidates.`,
		examples: []string{
			"source <(paddlectl completion bash)",
			"paddlectl completion zsh > ~/.zsh/completions/_paddlectl",
			"paddlectl completion fish > ~/.config/fish/completions/paddlectl.fish",
		},
		run: func(_ context.Context, operands []string) error {
			script, ok := scripts[operands[0]]
			if !ok {
				shells := make([]string, 0, len(scripts))
				for name := range scripts {
					shells = append(shells, name)
				}
				sort.Strings(shells)
				return cliargs.Usagef("no script for %q, only for %s", operands[0], strings.Join(shells, ", "))
			}
			d.out.Printf("%s", script)
			return nil
		},
	})
}
