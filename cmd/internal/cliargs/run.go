// Package cliargs extends the command lines of github.com/urfave/cli/v2, whose parser stops at the
// first operand: flags may follow operands, "--" ends them, long names work with one dash or two
// ("-jobname x", "--name=x"), one-letter flags combine ("-lah"), and a lone "-" and negative
// numbers are operands. An invalid command line is a [UsageError], with a suggestion if a known
// name is similar.
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

// helpFlagOff disables urfave's help flag in the documented way: its "-h" would take precedence
// over a command's "-h" for human-readable sizes.
var helpFlagOff = sync.OnceFunc(func() { cli.HelpFlag = nil })

// Run runs app with args, whose first element is the name of the program. Every command gets the
// flag --help (and -h, unless it uses that otherwise). Run returns errors and never prints them; an
// invalid command line is a *UsageError. Without a command, an app without an Action shows its
// help. An app with a command "version" gets a flag --version that runs it.
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

// prepare stops urfave from printing and exiting.
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

// unfit matches the flag package's error about an invalid value.
var unfit = regexp.MustCompile(`(?s)^invalid (boolean )?value ("(?:[^"\\]|\\.)*") for (?:flag )?-([^ :]+): (.*)$`)

// asUsageError converts the errors of the flag package.
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

// UsageError describes an invalid command line.
type UsageError struct {
	Command string // the command it belongs to, as typed: "paddlectl cp"
	Text    string
}

// Usagef returns a UsageError; Run sets the command.
func Usagef(format string, args ...any) error {
	return &UsageError{Text: fmt.Sprintf(format, args...)}
}

func (e *UsageError) Error() string { return e.Text }
