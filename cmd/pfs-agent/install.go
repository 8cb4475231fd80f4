package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/urfave/cli/v2"
)

// install returns the command install.
func install(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "install", Args: "DIR", Least: 1, Most: 1,
		Summary:  "copy this program to a directory",
		Text:     "Copies the program to DIR/pfs-agent: from its own image to a volume, where the container of\na user runs it.",
		Examples: []string{"pfs-agent install /pfs-agent"},
		Run:      func(_ context.Context, operands []string) error { return installIn(operands[0]) },
	})
}

// installIn copies this program to dir as a whole: after a crash it is there, or not.
func installIn(dir string) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(own)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.CreateTemp(dir, ".pfs-agent-")
	if err != nil {
		return err
	}
	defer os.Remove(to.Name())
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Chmod(0o755), to.Close()); err != nil {
		return err
	}
	return os.Rename(to.Name(), filepath.Join(dir, "pfs-agent"))
}
