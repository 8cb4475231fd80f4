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
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/urfave/cli/v2"
)

// helpFlagOff switches urfave's own help flag off, in the way it documents: its
// "-h" would win over a command's "-h" for sizes that people can read.
var helpFlagOff = sync.OnceFunc(func() { cli.HelpFlag = nil })

// Run runs app on args, whose first element is the name of the program. Every
// command gets the flag --help (and -h, unless it has another use for it). Errors
// are returned and never printed; what is wrong with the command line is a
// *UsageError. Without a command, an app that has no Action shows its help. An app
// with a command "version" gets a flag --version that runs it.
func Run(ctx context.Context, app *cli.App, args []string) error {
	helpFlagOff()
	prepare(app)
	line, err := parse(app, args)
	if err != nil {
		return err
	}
	if line.version {
		return app.RunContext(ctx, []string{app.Name, versionName})
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
	if slices.ContainsFunc(app.Commands, func(c *cli.Command) bool { return c.Name == versionName }) {
		app.Flags = append(app.Flags, &cli.BoolFlag{Name: versionName, Usage: "show the version, as the command of that name does", DisableDefaultText: true})
	}
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

// unfit is what the flag package says of a value that does not fit.
var unfit = regexp.MustCompile(`(?s)^invalid (boolean )?value ("(?:[^"\\]|\\.)*") for (?:flag )?-([^ :]+): (.*)$`)

// asUsageError says in the words of the other errors what the flag package says.
func asUsageError(_ *cli.Context, err error, _ bool) error {
	m := unfit.FindStringSubmatch(err.Error())
	if m == nil {
		return Usagef("%v", err)
	}
	boolean, quoted, name, why := m[1] != "", m[2], m[3], m[4]
	value, err := strconv.Unquote(quoted)
	if err != nil || value == "" {
		value = quoted
	}
	switch {
	case boolean:
		why = "true or false is needed"
	case why == "parse error":
		why = "a number is needed"
	}
	return Usagef("--%s %s: %s", name, value, why)
}

const (
	helpName    = "help"
	versionName = "version"
)

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
