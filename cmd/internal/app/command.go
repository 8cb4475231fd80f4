package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

// Spec describes a command for the parser, --help and docs/reference.md.
type Spec struct {
	Name     string
	Args     string // the operands in the usage line
	Summary  string // one line for the list of commands
	Text     string // the full description
	Examples []string
	Exits    []cliio.Code // other than Done, Failed and Usage
	Flags    []cli.Flag
	Hidden   bool

	// Least and Most limit the number of operands; Most < 0 means any number.
	Least, Most int

	// Given, if not nil, is called before Run. isSet reports whether a flag was given.
	Given func(isSet func(name string) bool)
	Run   func(ctx context.Context, operands []string) error
	Subs  []*cli.Command
}

// NewCommand returns the command that s describes.
func (a *App) NewCommand(s Spec) *cli.Command {
	c := &cli.Command{
		Name:        s.Name,
		Usage:       s.Summary,
		ArgsUsage:   s.Args,
		Description: s.description(),
		Flags:       s.Flags,
		Hidden:      s.Hidden,
		Subcommands: s.Subs,
	}
	if s.Run != nil {
		c.Action = func(cc *cli.Context) error {
			a.Command = strings.TrimPrefix(cc.Command.HelpName, cc.App.Name+" ")
			operands := cc.Args().Slice()
			if err := s.checkCount(len(operands)); err != nil {
				return err
			}
			if s.Given != nil {
				s.Given(cc.IsSet)
			}
			a.Waiting.quiet = cc.Bool("quiet")
			return s.Run(cc.Context, operands)
		}
	}
	return c
}

func (s Spec) checkCount(n int) error {
	switch {
	case n < s.Least:
		return cliargs.Usagef("too few operands: %s is needed", s.Args)
	case s.Most == 0 && n > 0:
		return cliargs.Usagef("takes no operands, got %d", n)
	case s.Most >= 0 && n > s.Most:
		return cliargs.Usagef("too many operands: %d where %s is needed", n, s.Args)
	}
	return nil
}

// description returns the body of the help text.
func (s Spec) description() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(s.Text))
	if len(s.Examples) > 0 {
		b.WriteString("\n\nExamples:\n  " + strings.Join(s.Examples, "\n  "))
	}
	if s.Run != nil && !s.Hidden {
		b.WriteString("\n\nExit codes:")
		for _, c := range s.codes() {
			fmt.Fprintf(&b, "\n  %3d  %s", c, c)
		}
	}
	return b.String()
}

// codes returns the exit codes of s in order.
func (s Spec) codes() []cliio.Code {
	listed := map[cliio.Code]bool{cliio.Done: true, cliio.Failed: true, cliio.Usage: true}
	for _, c := range s.Exits {
		listed[c] = true
	}
	var codes []cliio.Code
	for _, c := range cliio.Codes() {
		if listed[c] {
			codes = append(codes, c)
		}
	}
	return codes
}

// RemoteExits returns the exit codes of commands that call a service, and more.
func RemoteExits(more ...cliio.Code) []cliio.Code {
	return append(more, cliio.Denied, cliio.Unavailable, cliio.Interrupted)
}

// PathExits returns the exit codes of commands that take paths on a service, and more.
func PathExits(more ...cliio.Code) []cliio.Code {
	return RemoteExits(append(more, cliio.NotFound, cliio.Exists, cliio.Partly)...)
}
