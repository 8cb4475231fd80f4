package config

import (
	"context"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func Logout(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "logout", Args: "[DC...]", Most: -1,
		Summary: "end a login and forget its tokens",
		Text: `Revokes the login at the service and removes its tokens from this machine, for the
datacenters named, else the current one. The entry stays in the configuration.
Commands that run elsewhere with the same login may go on for a few minutes.`,
		Examples: []string{"paddlectl logout"},
		Exits:    app.RemoteExits(cliio.NotFound, cliio.Partly),
		Run:      func(ctx context.Context, operands []string) error { return runLogout(ctx, a, operands) },
	})
}

func runLogout(ctx context.Context, a *app.App, names []string) error {
	file, err := a.Remotes.Config()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		e, err := file.Current()
		if err != nil {
			return err
		}
		return logout(ctx, a, file, e)
	}
	tally := cliio.NewTally(a.ReportFailure)
	for _, name := range names {
		e, err := file.Get(name)
		if err == nil {
			err = logout(ctx, a, file, e)
		}
		tally.Add(err)
	}
	return tally.Err()
}

func logout(ctx context.Context, a *app.App, file *config.File, e config.Entry) error {
	if e.Err != nil {
		return e.Err
	}
	c, err := a.Client(e, 0, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	session := config.NewSession(file.Name, e, c)
	tokens, err := session.Stored()
	if err != nil {
		return err
	}
	if err := session.Forget(ctx); err != nil {
		return err
	}
	if e.Password != "" {
		a.Message("the configuration holds a password: the next command logs in again")
	}
	if tokens.Refresh == "" {
		a.Message("was not logged in to %q", e.Name)
		return nil
	}
	if err := app.CheckPlain(e); err != nil {
		return err
	}
	if err := c.Logout(ctx, tokens.Refresh); err != nil {
		return fmt.Errorf("the tokens of %q are removed here, but were not revoked at the service: %w", e.Name, err)
	}
	return nil
}
