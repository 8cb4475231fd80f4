package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

const program = "pfsd"

// Main is the program with its arguments, streams and signals.
type Main struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Hangups is called by the service, which reloads its certificate and reopens its audit log at
	// every signal on the channel. nil means never.
	Hangups func() <-chan os.Signal

	printer *cliio.Printer
}

// Run executes args, where args[0] is the name of the program, and returns the exit code. When ctx
// is done the service shuts down cleanly and other commands are interrupted.
func (m *Main) Run(ctx context.Context, args []string) int {
	m.printer = &cliio.Printer{
		Program: program, Out: cliio.NewOutput(m.Stdout), Err: m.Stderr, Plain: !cliio.IsTerminal(m.Stdout),
	}
	app := m.app()
	err := cliargs.Run(ctx, app, args)
	if flushErr := m.printer.Out.Flush(); err == nil {
		err = flushErr
	}
	if err != nil && ctx.Err() != nil && pfs.KindOf(err) == pfs.Canceled {
		m.printer.Message("interrupted")
		return int(cliio.Interrupted)
	}
	m.report(err)
	return int(cliio.CodeOf(err))
}

// report prints the error, and a pointer to the help for a wrong command line.
func (m *Main) report(err error) {
	if err == nil {
		return
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range several.Unwrap() {
			m.report(err)
		}
		return
	}
	m.printer.Message("%v", cause(err))
	var usage *cliargs.UsageError
	if errors.As(err, &usage) && usage.Command != "" {
		fmt.Fprintf(m.Stderr, "hint: %s --help\n", cliio.Escape(usage.Command))
	}
}

func (m *Main) app() *cli.App {
	app := &cli.App{
		Name:        program,
		Usage:       "the pfs service",
		Description: "The pfs service: trees of files for paddlectl and other clients, over HTTPS.\nTo begin: pfsd user add NAME --data DIR; pfsd serve --data DIR",
		Reader:      m.Stdin,
		Writer:      m.printer.Out,
		ErrWriter:   m.Stderr,
	}
	app.Commands = []*cli.Command{
		m.serveCommand(), m.checkCommand(), m.userCommand(), m.versionCommand(), m.completionCommand(), m.helpCommand(app),
		m.candidatesCommand(app),
	}
	return app
}

// operands returns the operands of a command that takes exactly the named ones.
func operands(c *cli.Context, names ...string) ([]string, error) {
	args := c.Args().Slice()
	switch {
	case len(args) < len(names):
		return nil, cliargs.Usagef("%s is missing", names[len(args)])
	case len(args) > len(names):
		return nil, cliargs.Usagef("unexpected argument %q", args[len(names)])
	}
	return args, nil
}

// cause returns the text of err without its Kind if the error has no path: then the text already
// names the file or account and the problem, and the Kind would repeat it.
func cause(err error) error {
	e, ok := err.(*pfs.Error)
	if !ok || e.Path != "" || e.Err == nil {
		return err
	}
	return cause(e.Err)
}
