package jobs

import (
	"context"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/urfave/cli/v2"
)

// registryPassword is the variable with the password of registry.
const registryPassword = "PADDLE_REGISTRY_PASSWORD"

// registrar returns the engine as one that keeps registries.
func (s *session) registrar() (job.Registrar, error) {
	if r, ok := s.engine.(job.Registrar); ok {
		return r, nil
	}
	return nil, fmt.Errorf("jobs of datacenter %q run on the machine that submits them, without images", s.dc)
}

// Registry returns the command registry.
func Registry(a *app.App) *cli.Command {
	var r job.Registry
	var password, datacenter string
	var stdin, json bool
	return a.NewCommand(app.Spec{
		Name:    "registry",
		Summary: "add the credentials of a registry of images",
		Text: `Keeps the credentials of a private registry, with which paddlectl submit -registry NAME
pulls images. An existing registry of that name is replaced. The password is that of
-password, of the variable ` + registryPassword + `, a line of standard input with
--password-stdin, or is asked for at the terminal. Others can see -password in the list
of processes.`,
		Examples: []string{"paddlectl registry -name hub -server registry.example.org -username alice --password-stdin < secret"},
		Exits:    app.RemoteExits(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "`NAME` of the registry, for -registry of submit", Destination: &r.Name},
			&cli.StringFlag{Name: "server", Usage: "`ADDRESS` of the registry", Destination: &r.Server},
			&cli.StringFlag{Name: "username", Usage: "`NAME` of the account", Destination: &r.Username},
			&cli.StringFlag{Name: "password", Usage: "`PASSWORD` of the account", Destination: &password},
			&cli.BoolFlag{Name: "password-stdin", Usage: "read the password from standard input", Destination: &stdin},
			datacenterFlag(&datacenter),
			app.JSONFlag(&json),
		},
		Run: func(ctx context.Context, _ []string) error {
			for flag, value := range map[string]string{"name": r.Name, "server": r.Server, "username": r.Username} {
				if value == "" {
					return cliargs.Usagef("-name, -server and -username are needed; -%s is missing", flag)
				}
			}
			if reason := job.CheckName(r.Name); reason != "" {
				return cliargs.Usagef("-name %q: %s", r.Name, reason)
			}
			s, err := open(ctx, a, datacenter, json)
			if err != nil {
				return err
			}
			registrar, err := s.registrar()
			if err != nil {
				return err
			}
			if password == "" {
				password = a.Main.Getenv(registryPassword)
			}
			switch {
			case stdin:
				password, err = app.ReadLine(a.Main.Stdin)
			case password == "" && cliio.IsTerminal(a.Main.Stdin):
				password, err = a.AskPassword(ctx, "Password of "+r.Username+" at "+r.Server+": ")
			}
			if err != nil {
				return err
			}
			if password == "" {
				return cliargs.Usagef("a password is needed: --password-stdin, -password or the variable %s", registryPassword)
			}
			if err := registrar.SetRegistry(ctx, s.user, r, password); err != nil || !json {
				return err
			}
			return a.JSON(r)
		},
	})
}

// deleteRegistry returns the command delete registry.
func deleteRegistry(a *app.App) *cli.Command {
	var datacenter string
	var json bool
	return a.NewCommand(app.Spec{
		Name: "registry", Args: "[NAME]", Most: 1,
		Summary:  "remove the credentials of a registry",
		Text:     `Removes the credentials of a registry. Without NAME there must be only one.`,
		Examples: []string{"paddlectl delete registry hub"},
		Exits:    app.RemoteExits(cliio.NotFound),
		Flags:    []cli.Flag{datacenterFlag(&datacenter), app.JSONFlag(&json)},
		Run: func(ctx context.Context, operands []string) error {
			s, err := open(ctx, a, datacenter, json)
			if err != nil {
				return err
			}
			r, err := s.registrar()
			if err != nil {
				return err
			}
			if len(operands) == 0 {
				list, err := r.Registries(ctx, s.user)
				if err != nil {
					return err
				}
				var names []string
				for _, one := range list {
					names = append(names, one.Name)
				}
				if len(names) != 1 {
					return cliargs.Usagef("a NAME is needed, because there are %d registries: %s", len(names), strings.Join(names, ", "))
				}
				operands = names
			}
			if err := r.DeleteRegistry(ctx, s.user, operands[0]); err != nil || !json {
				return err
			}
			return a.JSON(deleted{"deleted", operands[0]})
		},
	})
}
