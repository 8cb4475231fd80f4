package main

import (
	"runtime"

	"github.com/paddlecloud/pfs/pfs/wire"
	"github.com/urfave/cli/v2"
)

// version is set at link time.
var version = "unknown"

// versionJSON is how --json shows the version.
type versionJSON struct {
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func (m *Main) versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "show the version of the program and of its protocol",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print one JSON object"}},
		Action: func(c *cli.Context) error {
			if _, err := operands(c); err != nil {
				return err
			}
			v := versionJSON{version, wire.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if c.Bool("json") {
				return m.printer.JSON(v)
			}
			m.printer.Printf("%s %s, protocol %d, %s %s/%s\n", program, v.Version, v.Protocol, v.Go, v.OS, v.Arch)
			return nil
		},
	}
}
