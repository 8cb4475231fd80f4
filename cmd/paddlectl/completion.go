package main

import (
	"context"
	_ "embed"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/urfave/cli/v2"
)

func (d *deps) completionCommand() *cli.Command {
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
			script, err := cliargs.CompletionScript(operands[0], "paddlectl", "paddlecloud")
			if err != nil {
				return err
			}
			d.out.Printf("%s", script)
			return nil
		},
	})
}
