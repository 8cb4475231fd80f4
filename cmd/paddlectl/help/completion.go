package help

import (
	"context"
	_ "embed"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func Completion(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "completion", Args: "bash|zsh|fish", Least: 1, Most: 1,
		Summary: "print the script that completes commands and paths",
		Text: `Prints a script for your shell that completes subcommands, flags and paths, those
on the service, too. Where the service does not answer within a moment, or you are
not logged in, there are no candidates.`,
		Examples: []string{
			"source <(paddlectl completion bash)",
			"paddlectl completion zsh > ~/.zsh/completions/_paddlectl",
			"paddlectl completion fish > ~/.config/fish/completions/paddlectl.fish",
		},
		Run: func(_ context.Context, operands []string) error {
			script, err := cliargs.CompletionScript(operands[0], "paddlectl", "paddlecloud")
			if err != nil {
				return err
			}
			a.Printf("%s", script)
			return nil
		},
	})
}
