package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/urfave/cli/v2"
)

// completions makes the completion script of each shell.
var completions = map[string]func(*cli.App) string{
	"bash": bashCompletion,
	"zsh":  zshCompletion,
	"fish": fishCompletion,
}

func (m *Main) completionCommand(app *cli.App) *cli.Command {
	shells := slices.Sorted(maps.Keys(completions))
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a script that completes commands and flags in a shell",
		ArgsUsage: strings.Join(shells, "|"),
		Description: "Prints a script that completes commands and flags. To have it in every shell:\n" +
			"  bash: pfsd completion bash > ~/.local/share/bash-completion/completions/pfsd\n" +
			"  zsh:  pfsd completion zsh > a file _pfsd in a directory of $fpath\n" +
			"  fish: pfsd completion fish > ~/.config/fish/completions/pfsd.fish",
		Action: func(c *cli.Context) error {
			args, err := operands(c, "the shell")
			if err != nil {
				return err
			}
			script, ok := completions[args[0]]
			if !ok {
				return cliargs.Usagef("no completion for %q: %s", args[0], strings.Join(shells, ", "))
			}
			m.printer.Printf("%s", script(app))
			return nil
		},
	}
}

// words returns what may follow a command: its subcommands and flags.
func words(commands []*cli.Command, flags []cli.Flag) string {
	var all []string
	for _, c := range commands {
		all = append(all, c.Name)
	}
	for _, f := range flags {
		all = append(all, "--"+f.Names()[0])
	}
	return strings.Join(all, " ")
}

func bashCompletion(app *cli.App) string {
	return "_pfsd() {\n  local next\n" + candidates(app, `${COMP_WORDS[*]:1:COMP_CWORD-1}`) +
		"  COMPREPLY=($(compgen -W \"$next\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\ncomplete -o default -F _pfsd pfsd\n"
}

func zshCompletion(app *cli.App) string {
	return "#compdef pfsd\n_pfsd() {\n  local line=\"${(j: :)words[2,CURRENT-1]}\" next\n" + candidates(app, `$line`) +
		"  compadd -- ${=next} || _files\n}\n" +
		// Found in fpath, the script itself is the first call of the function.
		"if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then _pfsd \"$@\"; else compdef _pfsd pfsd; fi\n"
}

// candidates is the part of a script that sets $next to what may follow, line being
// how the shell writes the words before, behind the program.
func candidates(app *cli.App, line string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  case \"%s \" in\n", line)
	for _, c := range app.Commands {
		for _, sub := range c.Subcommands {
			fmt.Fprintf(&b, "  \"%s %s \"*) next=%q ;;\n", c.Name, sub.Name, words(nil, sub.Flags))
		}
		fmt.Fprintf(&b, "  \"%s \"*) next=%q ;;\n", c.Name, words(c.Subcommands, c.Flags))
	}
	fmt.Fprintf(&b, "  *) next=%q ;;\n  esac\n", words(app.Commands, app.Flags))
	return b.String()
}

func fishCompletion(app *cli.App) string {
	var b strings.Builder
	for _, c := range app.Commands {
		fmt.Fprintf(&b, "complete -c pfsd -n __fish_use_subcommand -f -a %s -d %s\n", c.Name, fishQuote(c.Usage))
		fishFlags(&b, "__fish_seen_subcommand_from "+c.Name, c.Flags)
		for _, sub := range c.Subcommands {
			fmt.Fprintf(&b, "complete -c pfsd -n '__fish_seen_subcommand_from %s' -f -a %s -d %s\n", c.Name, sub.Name, fishQuote(sub.Usage))
			fishFlags(&b, fmt.Sprintf("__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from %s", c.Name, sub.Name), sub.Flags)
		}
	}
	return b.String()
}

func fishFlags(b *strings.Builder, when string, flags []cli.Flag) {
	for _, f := range flags {
		doc, ok := f.(cli.DocGenerationFlag)
		if !ok {
			continue
		}
		value := ""
		if doc.TakesValue() {
			value = " -r"
		}
		fmt.Fprintf(b, "complete -c pfsd -n '%s' -l %s%s -d %s\n", when, f.Names()[0], value, fishQuote(strings.ReplaceAll(doc.GetUsage(), "`", "")))
	}
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
