package config

import (
	"context"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func deleteContextCommand(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "delete-context", Args: "NAME", Least: 1, Most: 1,
		Summary: "remove a datacenter",
		Text: `Removes the datacenter NAME from the configuration, and its tokens from this machine.
The service is not asked: to end the login there, too, log out before. If NAME was the
current datacenter, the only one that is left is that then; of several none is, until
use-context names one.`,
		Examples: []string{"paddlectl logout datacenter2; paddlectl config delete-context datacenter2"},
		Exits:    []cliio.Code{cliio.NotFound},
		Run:      func(ctx context.Context, operands []string) error { return runDeleteContext(ctx, a, operands[0]) },
	})
}

func runDeleteContext(ctx context.Context, a *app.App, name string) error {
	var file *config.File
	var deleted config.Entry
	wasCurrent := false
	err := editConfig(a, func(f *config.File) error {
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
		a.Message("the login at %s is forgotten here; there it ends by itself, on %s", deleted.Endpoint, tokens.RefreshExpires.Local().Format("2006-01-02"))
	}
	if names := file.Names(); wasCurrent && len(names) == 1 {
		a.Message("%q was the current datacenter; now that is %q", name, names[0])
	} else if wasCurrent && len(names) > 1 {
		a.Message("%q was the current datacenter; now none is", name)
		a.Hint(a.Program + " config use-context NAME chooses one: " + strings.Join(names, ", "))
	}
	return nil
}
