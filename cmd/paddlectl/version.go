package main

import (
	"context"
	"runtime"

	"github.com/urfave/cli/v2"
)

// version is that of this program, set when it is built: -ldflags "-X
// main.version=1.2.3".
var version = "unknown"

// versionJSON is how --json shows the versions.
type versionJSON struct {
	Version string       `json:"version"`
	Go      string       `json:"go"`
	OS      string       `json:"os"`
	Arch    string       `json:"arch"`
	Service *serviceJSON `json:"service,omitempty"`
}

type serviceJSON struct {
	Endpoint    string   `json:"endpoint"`
	Version     string   `json:"version"`
	Protocol    int      `json:"protocol"`
	Datacenters []string `json:"datacenters"`
	Current     string   `json:"current"`
}

func (d *deps) versionCommand() *cli.Command {
	var service, json bool
	return d.command(spec{
		name:     "version",
		summary:  "show the version of this program and of the service",
		text:     "Shows the version of this program and, with --service, of the current service.",
		examples: []string{"paddlectl version --service --json"},
		exits:    remoteExits(),
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "service", Usage: "ask the current service for its version, too", Destination: &service},
			jsonFlag(&json),
		},
		run: func(ctx context.Context, _ []string) error { return runVersion(ctx, d, service, json) },
	})
}

func runVersion(ctx context.Context, d *deps, service, json bool) error {
	v := versionJSON{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if service {
		conn, err := d.remotes.current(ctx)
		if err != nil {
			return err
		}
		info, err := conn.clients[0].Service(ctx)
		if err != nil {
			return err
		}
		v.Service = &serviceJSON{conn.entry.Endpoint, info.Version, info.Protocol, info.Datacenters, info.Current}
	}
	if json {
		return d.out.JSON(v)
	}
	d.out.Printf("%s %s (%s, %s/%s)\n", d.out.Program, v.Version, v.Go, v.OS, v.Arch)
	if s := v.Service; s != nil {
		d.out.Printf("service %s (protocol %d) at %s, datacenters %v\n", s.Version, s.Protocol, s.Endpoint, s.Datacenters)
	}
	return nil
}
