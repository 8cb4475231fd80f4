package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/urfave/cli/v2"
)

var passwordFlag = &cli.BoolFlag{Name: "password-stdin", Usage: "read the password from standard input, one line"}

// newPassword asks for a new password of user, twice, or reads it from standard input.
func (m *Main) newPassword(ctx context.Context, user string, fromStdin bool) (string, error) {
	if fromStdin {
		return readPassword(m.Stdin)
	}
	terminal, ok := m.Stdin.(*os.File)
	if !ok || !cliio.IsTerminal(terminal) {
		return "", cliargs.Usagef("standard input is not a terminal to ask for the password: use --password-stdin")
	}
	first, err := m.ask(ctx, terminal, fmt.Sprintf("New password of %s: ", cliio.Escape(user)))
	if err != nil {
		return "", err
	}
	second, err := m.ask(ctx, terminal, "Again: ")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", pfs.Errorf("pfsd.newPassword", "", pfs.Invalid, "the two passwords differ; nothing was changed")
	}
	return first, nil
}

// readPassword reads all of r, which is one line.
func readPassword(r io.Reader) (string, error) {
	const op = "pfsd.readPassword"
	b, err := io.ReadAll(io.LimitReader(r, auth.MaxPassword+3))
	if err != nil {
		return "", pfs.E(op, "", pfs.KindOf(err), err)
	}
	line, _ := strings.CutSuffix(string(b), "\n")
	line, _ = strings.CutSuffix(line, "\r")
	if strings.ContainsAny(line, "\r\n") {
		return "", pfs.Errorf(op, "", pfs.Invalid, "standard input has more than one line: a password is one")
	}
	return line, nil
}

// ask reads a line from the terminal without showing it.
func (m *Main) ask(ctx context.Context, terminal *os.File, prompt string) (string, error) {
	fmt.Fprint(m.Stderr, prompt)
	defer fmt.Fprintln(m.Stderr)
	line, err := cliio.ReadPassword(ctx, terminal)
	if err != nil {
		return "", pfs.Errorf("pfsd.ask", "", pfs.Canceled, "no password was typed: %w", err)
	}
	return line, nil
}
