package main

import (
	"context"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/urfave/cli/v2"
)

func (d *deps) deleteContextCommand() *cli.Command {
	return d.command(spec{
		name: "delete-context", args: "NAME", least: 1, most: 1,
		summary: "remove a datacenter",
		text: `Removes the datacenter NAME from the configuration, and its tokens from this machine.
The service is not asked: to end the login there, too, log out before. If NAME was the
current datacenter, the only one that is left is that then; of several none is, until
use-context names one.`,
		examples: []string{"paddlectl logout datacenter2; paddlectl config delete-context datacenter2"},
		exits:    []cliio.Code{cliio.NotFound},
		run:      func(ctx context.Context, operands []string) error { return runDeleteContext(ctx, d, operands[0]) },
	})
}

func runDeleteContext(ctx context.Context, d *deps, name string) error {
	var file *config.File
	var deleted config.Entry
	wasCurrent := false
	err := d.editConfig(func(f *config.File) error {
		current, err := f.Current()
		wasCurrent = err == nil && current.Name == name
		file = f
		deleted, _ = f.Find(name) // if it is not there Delete says so
		return f.Delete(name)
	})
	if err != nil {
		return err
	}
	session := config.NewSession(file.Name, deleted, nil)
	tokens, err := session.Stored()
	if err == nil {
		err = session.Forget(ctx)
	}
	if err != nil {
		return err
	}
	if tokens.Refresh != "" {
		d.out.Message("the login at %s is forgotten here; there it ends by itself, on %s", deleted.Endpoint, tokens.RefreshExpires.Local().Format("2006-01-02"))
	}
	if names := file.Names(); wasCurrent && len(names) == 1 {
		d.out.Message("%q was the current datacenter; now that is %q", name, names[0])
	} else if wasCurrent && len(names) > 1 {
		d.out.Message("%q was the current datacenter; now none is", name)
		d.hint(d.out.Program + " config use-context NAME chooses one: " + strings.Join(names, ", "))
	}
	return nil
}
