package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

// spec describes a command, for the parser, for --help and for docs/reference.md.
type spec struct {
	name     string
	args     string // operands, as the usage line shows them
	summary  string // one line, in the list of commands
	text     string // what it does, precisely
	examples []string
	exits    []cliio.Code // besides Done, Failed and Usage
	flags    []cli.Flag
	hidden   bool

	// least and most bound the number of operands; most < 0 means any number.
	least, most int

	// given, if not nil, is told before run how to ask whether a flag was given.
	given func(isSet func(name string) bool)
	run   func(ctx context.Context, operands []string) error
	subs  []*cli.Command
}

// command makes the command of s.
func (d *deps) command(s spec) *cli.Command {
	c := &cli.Command{
		Name:        s.name,
		Usage:       s.summary,
		ArgsUsage:   s.args,
		Description: s.description(),
		Flags:       s.flags,
		Hidden:      s.hidden,
		Subcommands: s.subs,
	}
	if s.run != nil {
		c.Action = func(cc *cli.Context) error {
			d.out.Command = strings.TrimPrefix(cc.Command.HelpName, cc.App.Name+" ")
			operands := cc.Args().Slice()
			if err := s.checkCount(len(operands)); err != nil {
				return err
			}
			if s.given != nil {
				s.given(cc.IsSet)
			}
			d.waiting.quiet = cc.Bool("quiet")
			return s.run(cc.Context, operands)
		}
	}
	return c
}

func (s spec) checkCount(n int) error {
	switch {
	case n < s.least:
		return cliargs.Usagef("too few operands: %s is needed", s.args)
	case s.most == 0 && n > 0:
		return cliargs.Usagef("takes no operands, got %d", n)
	case s.most >= 0 && n > s.most:
		return cliargs.Usagef("too many operands: %d where %s is needed", n, s.args)
	}
	return nil
}

// description makes the body of the help text.
func (s spec) description() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(s.text))
	if len(s.examples) > 0 {
		b.WriteString("\n\nExamples:\n  " + strings.Join(s.examples, "\n  "))
	}
	if s.run != nil && !s.hidden {
		b.WriteString("\n\nExit codes:")
		for _, c := range s.codes() {
			fmt.Fprintf(&b, "\n  %3d  %s", c, c)
		}
	}
	return b.String()
}

// codes lists the exit codes of s in order.
func (s spec) codes() []cliio.Code {
	listed := map[cliio.Code]bool{cliio.Done: true, cliio.Failed: true, cliio.Usage: true}
	for _, c := range s.exits {
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

// remoteExits are the codes of commands that ask a service.
func remoteExits(more ...cliio.Code) []cliio.Code {
	return append(more, cliio.Denied, cliio.Unavailable, cliio.Interrupted)
}

// pathExits are the codes of commands that take paths on a service.
func pathExits(more ...cliio.Code) []cliio.Code {
	return remoteExits(append(more, cliio.NotFound, cliio.Exists, cliio.Partly)...)
}
