package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// asking holds the flags --interactive and --force of commands that remove or replace.
type asking struct{ interactive, force bool }

// interactiveFlag is --interactive, which asks before what usage says.
func (a *asking) interactiveFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "interactive", Aliases: []string{"i"}, Usage: usage + "; the answer is a line of standard input", Destination: &a.interactive}
}

// forceFlag is --force, of which usage says what it means.
func (a *asking) forceFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Usage: usage, Destination: &a.force}
}

// check refuses flags that contradict each other.
func (a asking) check(noClobber bool) error {
	switch {
	case a.interactive && a.force:
		return cliargs.Usagef("--interactive and --force contradict each other")
	case a.interactive && noClobber:
		return cliargs.Usagef("--interactive and --no-clobber contradict each other")
	case a.force && noClobber:
		return cliargs.Usagef("--force and --no-clobber contradict each other")
	}
	return nil
}

// may asks whether to do something to a path, if questions are wanted. Every answer that
// does not begin with "y", and the end of standard input, means no.
func (a asking) may(ctx context.Context, d *deps, do string, p pfs.Path) (bool, error) {
	if !a.interactive {
		return true, nil
	}
	d.questions.Lock()
	defer d.questions.Unlock()
	_ = d.out.Out.Flush() // an error is told at the end
	line, err := d.answer(ctx, fmt.Sprintf("%s: %s: %s %s? ", d.out.Program, d.out.Command, do, cliio.Escape(localText(p))))
	if ctx.Err() != nil {
		return false, pfs.CheckContext(ctx, "paddlectl.ask", p)
	}
	if err != nil {
		fmt.Fprintln(d.stderr) // no line ended the question
	}
	return err == nil && strings.HasPrefix(strings.ToLower(line), "y"), nil
}

// answer writes a question and reads a line from standard input.
func (d *deps) answer(ctx context.Context, question string) (string, error) {
	fmt.Fprint(d.stderr, question)
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		line, err := readLine(d.main.Stdin)
		got <- answer{line, err}
	}()
	select {
	case a := <-got:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
