package main

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/urfave/cli/v2"
)

func (d *deps) useContextCommand() *cli.Command {
	return d.command(spec{
		name: "use-context", args: "NAME", least: 1, most: 1,
		summary:  "make a datacenter the current one",
		text:     "Makes the datacenter NAME of the configuration the current one, in whichever of the two ways the file says it.",
		examples: []string{"paddlectl config use-context datacenter2"},
		exits:    []cliio.Code{cliio.NotFound},
		run: func(_ context.Context, operands []string) error {
			return d.editConfig(func(f *config.File) error { return f.SetCurrent(operands[0]) })
		},
	})
}
