package main

import (
	"context"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/urfave/cli/v2"
)

func (d *deps) logoutCommand() *cli.Command {
	return d.command(spec{
		name: "logout", args: "[DC...]", most: -1,
		summary: "end a login and forget its tokens",
		text: `Revokes the login at the service and removes its tokens from this machine, for the
datacenters named, else the current one. The entry stays in the configuration.
Commands that run elsewhere with the same login may go on for a few minutes.`,
		examples: []string{"paddlectl logout"},
		exits:    remoteExits(cliio.NotFound, cliio.Partly),
		run:      func(ctx context.Context, operands []string) error { return runLogout(ctx, d, operands) },
	})
}

func runLogout(ctx context.Context, d *deps, names []string) error {
	file, err := d.remotes.config()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		e, err := file.Current()
		if err != nil {
			return err
		}
		return d.logout(ctx, file, e)
	}
	tally := cliio.NewTally(d.reportFailure)
	for _, name := range names {
		e, err := file.Get(name)
		if err == nil {
			err = d.logout(ctx, file, e)
		}
		tally.Add(err)
	}
	return tally.Err()
}

func (d *deps) logout(ctx context.Context, file *config.File, e config.Entry) error {
	if e.Err != nil {
		return e.Err
	}
	c, err := d.client(e, 0, nil)
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
		d.out.Message("the configuration holds a password: the next command logs in again")
	}
	if tokens.Refresh == "" {
		d.out.Message("was not logged in to %q", e.Name)
		return nil
	}
	if err := checkPlain(e); err != nil {
		return err
	}
	if err := c.Logout(ctx, tokens.Refresh); err != nil {
		return fmt.Errorf("the tokens of %q are removed here, but were not revoked at the service: %w", e.Name, err)
	}
	return nil
}
