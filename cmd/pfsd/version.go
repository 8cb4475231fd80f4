package main

import (
	"runtime"

	"github.com/paddlecloud/pfs/pfs/wire"
	"github.com/urfave/cli/v2"
)

// version is set when the program is built for others.
var version = "unknown"

func (m *Main) versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "show the version of the program and of its protocol",
		Action: func(c *cli.Context) error {
			if _, err := operands(c); err != nil {
				return err
			}
			m.printer.Printf("%s %s, protocol %d, %s %s/%s\n", program, version, wire.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
