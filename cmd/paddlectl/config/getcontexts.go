package config

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func getContextsCommand(a *app.App) *cli.Command {
	var json bool
	return a.NewCommand(app.Spec{
		Name:     "get-contexts",
		Summary:  "list the datacenters",
		Text:     `Lists the datacenters of the configuration; "*" marks the current one.`,
		Examples: []string{"paddlectl config get-contexts"},
		Flags:    []cli.Flag{app.JsonFlag(&json)},
		Run:      func(context.Context, []string) error { return runGetContexts(a, json) },
	})
}

func runGetContexts(a *app.App, json bool) error {
	file, err := a.Remotes.Config()
	if err != nil {
		return err
	}
	list := statusOf(file)
	name, user := len("NAME"), len("USERNAME")
	for _, s := range list {
		name, user = max(name, cliio.Columns(s.Name)), max(user, cliio.Columns(s.Username))
	}
	if !json {
		a.Printf("  %s  %s  %s\n", app.Pad("NAME", name), app.Pad("USERNAME", user), "ENDPOINT")
	}
	for _, s := range list {
		if json {
			if err := a.JSON(s); err != nil {
				return err
			}
			continue
		}
		mark := " "
		if s.Current {
			mark = "*"
		}
		a.Printf("%s %s  %s  %s\n", mark, app.Pad(a.Name(s.Name), name), app.Pad(a.Name(s.Username), user), a.Name(s.Endpoint))
		if s.Error != "" {
			a.Message("%s", s.Error)
		}
	}
	return file.Check()
}
