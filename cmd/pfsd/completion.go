package main

import (
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/urfave/cli/v2"
)

func (m *Main) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a script that completes commands and flags in a shell",
		ArgsUsage: strings.Join(cliargs.Shells, "|"),
		Description: "Prints a script that completes commands, flags and their values, and names of accounts\n" +
			"after --data DIR. To load it in every shell:\n" +
			"  bash: pfsd completion bash > ~/.local/share/bash-completion/completions/pfsd\n" +
			"  zsh:  pfsd completion zsh > a file _pfsd in a directory of $fpath\n" +
			"  fish: pfsd completion fish > ~/.config/fish/completions/pfsd.fish",
		Action: func(c *cli.Context) error {
			args, err := operands(c, "the shell")
			if err != nil {
				return err
			}
			script, err := cliargs.CompletionScript(args[0], program)
			if err != nil {
				return err
			}
			m.printer.Printf("%s", script)
			return nil
		},
	}
}

// candidatesCommand is the command that the shell scripts call.
func (m *Main) candidatesCommand(app *cli.App) *cli.Command {
	return &cli.Command{
		Name:   cliargs.CompletionCommand,
		Hidden: true,
		Action: func(c *cli.Context) error {
			words := c.Args().Slice()
			for _, word := range cliargs.Candidates(app, words, cliargs.Known{
				Value:   func(string, string) []string { return nil }, // shells complete files
				Operand: func(command string, i int, _ string) []string { return operandWords(app, command, i, words) },
			}) {
				m.printer.Printf("%s\n", word)
			}
			return nil
		},
	}
}

var roles = []string{string(auth.Admin), string(auth.Publisher), string(auth.User)}

// operandWords returns the candidates for operand i of a command.
func operandWords(app *cli.App, command string, i int, words []string) []string {
	switch command {
	case "completion":
		return cliargs.Shells
	case "help":
		return cliargs.CommandWords(app.Commands)
	case "user role":
		if i == 1 {
			return roles
		}
		fallthrough
	case "user passwd", "user rm", "user set":
		if i == 0 {
			return accountNames(words)
		}
	}
	return nil
}

// accountNames returns the names of the accounts in the directory that --data names among words, if
// they can be read.
func accountNames(words []string) (names []string) {
	for i, word := range words {
		dir, ok := strings.CutPrefix(word, "--data=")
		if word == "--data" && i+1 < len(words) {
			dir, ok = words[i+1], true
		}
		if !ok {
			continue
		}
		accounts, err := accountsIn(dir)
		if err != nil {
			return nil
		}
		for _, a := range accounts.List() {
			names = append(names, a.Name)
		}
	}
	return names
}
