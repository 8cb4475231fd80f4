package main

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

func (d *deps) getContextsCommand() *cli.Command {
	var json bool
	return d.command(spec{
		name:     "get-contexts",
		summary:  "list the datacenters",
		text:     `Lists the datacenters of the configuration; "*" marks the current one.`,
		examples: []string{"paddlectl config get-contexts"},
		flags:    []cli.Flag{jsonFlag(&json)},
		run:      func(context.Context, []string) error { return runGetContexts(d, json) },
	})
}

func runGetContexts(d *deps, json bool) error {
	file, err := d.remotes.config()
	if err != nil {
		return err
	}
	list := statusOf(file)
	name, user := len("NAME"), len("USERNAME")
	for _, s := range list {
		name, user = max(name, cliio.Columns(s.Name)), max(user, cliio.Columns(s.Username))
	}
	if !json {
		d.out.Printf("  %s  %s  %s\n", pad("NAME", name), pad("USERNAME", user), "ENDPOINT")
	}
	for _, s := range list {
		if json {
			if err := d.out.JSON(s); err != nil {
				return err
			}
			continue
		}
		mark := " "
		if s.Current {
			mark = "*"
		}
		d.out.Printf("%s %s  %s  %s\n", mark, pad(d.out.Name(s.Name), name), pad(d.out.Name(s.Username), user), d.out.Name(s.Endpoint))
		if s.Error != "" {
			d.out.Message("%s", s.Error)
		}
	}
	return file.Check()
}
