// Package cliargs lets people write command lines as they are used to, on top of
// github.com/urfave/cli/v2, whose parser stops at the first operand: flags may
// follow operands, "--" ends them, long names work with one dash or two
// ("-jobname x", "--name=x"), one-letter flags combine ("-lah"), and a lone "-"
// and negative numbers are operands. What is wrong with a command line is a
// [UsageError], with a suggestion where one is near.
package cliargs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"
)

// helpFlagOff switches urfave's own help flag off, in the way it documents: its
// "-h" would win over a command's "-h" for sizes that people can read.
var helpFlagOff = sync.OnceFunc(func() { cli.HelpFlag = nil })

// Run runs app on args, whose first element is the name of the program. Every
// command gets the flag --help (and -h, unless it has another use for it). Errors
// are returned and never printed; what is wrong with the command line is a
// *UsageError. Without a command, an app that has no Action shows its help.
func Run(ctx context.Context, app *cli.App, args []string) error {
	helpFlagOff()
	prepare(app)
	line, err := parse(app, args)
	if err != nil {
		return err
	}
	if line.help || len(line.path) == 0 && app.Action == nil {
		_, err := io.WriteString(app.Writer, Help(app, line.path...))
		return err
	}
	if err := line.complete(); err != nil {
		return err
	}
	err = app.RunContext(ctx, line.args())
	if u := (*UsageError)(nil); errors.As(err, &u) && u.Command == "" {
		u.Command = line.command()
	}
	return err
}

// prepare takes printing and exiting out of urfave's hands.
func prepare(app *cli.App) {
	app.HideHelp, app.HideVersion = true, true
	app.DisableSliceFlagSeparator = true
	app.ExitErrHandler = func(*cli.Context, error) {}
	app.OnUsageError = asUsageError
	app.Flags = withHelp(app.Flags)
	prepareCommands(app.Commands)
}

func prepareCommands(commands []*cli.Command) {
	for _, c := range commands {
		c.HideHelp = true
		c.OnUsageError = asUsageError
		c.Flags = withHelp(c.Flags)
		prepareCommands(c.Subcommands)
	}
}

// asUsageError takes what the flag package says of a value that does not fit.
func asUsageError(_ *cli.Context, err error, _ bool) error {
	return Usagef("%s", strings.TrimSuffix(err.Error(), ": parse error"))
}

const helpName = "help"

func withHelp(flags []cli.Flag) []cli.Flag {
	help := &cli.BoolFlag{Name: helpName, Usage: "show this help", DisableDefaultText: true}
	if findFlag(flags, helpName) != nil {
		return flags
	}
	if findFlag(flags, "h") == nil {
		help.Aliases = []string{"h"}
	}
	return append(flags, help)
}

// UsageError says what is wrong with a command line.
type UsageError struct {
	Command string // the command it belongs to, as typed: "paddlectl cp"
	Text    string
}

// Usagef makes a UsageError; Run fills in the command.
func Usagef(format string, args ...any) error {
	return &UsageError{Text: fmt.Sprintf(format, args...)}
}

func (e *UsageError) Error() string { return e.Text }
