package help

import (
	"context"
	"runtime"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

// versionJSON is the result of version with --json.
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

// Version returns the command version.
func Version(a *app.App) *cli.Command {
	var service, json bool
	return a.NewCommand(app.Spec{
		Name:     "version",
		Summary:  "show the version of this program and of the service",
		Text:     "Shows the version of this program and, with --service, of the current service.",
		Examples: []string{"paddlectl version --service --json"},
		Exits:    app.RemoteExits(),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "service", Usage: "also show the version of the current service", Destination: &service},
			app.JSONFlag(&json),
		},
		Run: func(ctx context.Context, _ []string) error { return runVersion(ctx, a, service, json) },
	})
}

func runVersion(ctx context.Context, a *app.App, service, json bool) error {
	v := versionJSON{Version: a.Main.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if service {
		conn, err := a.Remotes.Current(ctx)
		if err != nil {
			return err
		}
		info, err := conn.Client.Service(ctx)
		if err != nil {
			return err
		}
		v.Service = &serviceJSON{conn.Entry.Endpoint, info.Version, info.Protocol, info.Datacenters, info.Current}
	}
	if json {
		return a.JSON(v)
	}
	a.Printf("%s %s (%s, %s/%s)\n", a.Program, v.Version, v.Go, v.OS, v.Arch)
	if s := v.Service; s != nil {
		a.Printf("service %s (protocol %d) at %s, datacenters %v\n", s.Version, s.Protocol, s.Endpoint, s.Datacenters)
	}
	return nil
}
