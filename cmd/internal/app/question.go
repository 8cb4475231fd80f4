package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// Asking holds the flags --interactive and --force of commands that remove or replace.
type Asking struct{ Interactive, Force bool }

// InteractiveFlag returns the flag --interactive with the given usage.
func (q *Asking) InteractiveFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "interactive", Aliases: []string{"i"}, Usage: usage + "; the answer is a line of standard input", Destination: &q.Interactive}
}

// ForceFlag returns the flag --force with the given usage.
func (q *Asking) ForceFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Usage: usage, Destination: &q.Force}
}

// Check refuses flags that contradict each other.
func (q Asking) Check(noClobber bool) error {
	switch {
	case q.Interactive && q.Force:
		return cliargs.Usagef("--interactive and --force contradict each other")
	case q.Interactive && noClobber:
		return cliargs.Usagef("--interactive and --no-clobber contradict each other")
	case q.Force && noClobber:
		return cliargs.Usagef("--force and --no-clobber contradict each other")
	}
	return nil
}

// May asks whether to do something to a path, with --interactive. An answer that does not begin
// with "y" means no, and so does the end of standard input.
func (q Asking) May(ctx context.Context, a *App, do string, p pfs.Path) (bool, error) {
	if !q.Interactive {
		return true, nil
	}
	a.questions.Lock()
	defer a.questions.Unlock()
	_ = a.Out.Flush() // finish reports an error
	line, err := a.Answer(ctx, fmt.Sprintf("%s: %s: %s %s? ", a.Program, a.Command, do, cliio.Escape(LocalText(p))))
	if ctx.Err() != nil {
		return false, pfs.CheckContext(ctx, "app.ask", p)
	}
	if err != nil {
		fmt.Fprintln(a.Stderr) // the answer has not ended the line
	}
	return err == nil && strings.HasPrefix(strings.ToLower(line), "y"), nil
}

// Answer prints a question and reads a line from standard input.
func (a *App) Answer(ctx context.Context, question string) (string, error) {
	fmt.Fprint(a.Stderr, question)
	return cliio.Await(ctx, func() (string, error) { return ReadLine(a.Main.Stdin) })
}

// AskPassword asks for a password at the terminal, without echo.
func (a *App) AskPassword(ctx context.Context, question string) (string, error) {
	f, ok := a.Main.Stdin.(*os.File)
	if !ok || !cliio.IsTerminal(f) {
		return "", cliargs.Usagef("--password-stdin is needed where there is no terminal to ask at")
	}
	fmt.Fprint(a.Stderr, question)
	defer fmt.Fprintln(a.Stderr)
	return cliio.ReadPassword(ctx, f)
}

// ReadLine reads one line and returns it without its end. It reads byte by byte, so that the
// next line is still unread.
func ReadLine(r io.Reader) (string, error) {
	const most = 4096
	var line strings.Builder
	buf := make([]byte, 1)
	for line.Len() < most {
		n, err := r.Read(buf)
		if n == 1 && buf[0] == '\n' {
			return strings.TrimSuffix(line.String(), "\r"), nil
		}
		line.Write(buf[:n])
		if err == io.EOF && line.Len() > 0 {
			return strings.TrimSuffix(line.String(), "\r"), nil
		}
		if err == io.EOF {
			return "", cliargs.Usagef("standard input is empty: a line is needed")
		}
		if err != nil {
			return "", err
		}
	}
	return "", cliargs.Usagef("the line on standard input is longer than %d bytes", most)
}
