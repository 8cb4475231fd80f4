package config

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func configViewCommand(a *app.App) *cli.Command {
	var json bool
	return a.NewCommand(app.Spec{
		Name:     "view",
		Summary:  "show the configuration, without passwords",
		Text:     "Shows what is read from the configuration file. Passwords are not shown, only that there is one.",
		Examples: []string{"paddlectl config view --json"},
		Flags:    []cli.Flag{app.JsonFlag(&json)},
		Run:      func(context.Context, []string) error { return runConfigView(a, json) },
	})
}

func runConfigView(a *app.App, json bool) error {
	file, err := a.Remotes.Config()
	if err != nil {
		return err
	}
	current := ""
	if e, err := file.Current(); err == nil {
		current = e.Name
	}
	list := statusOf(file)
	if json {
		err := a.JSON(struct {
			File        string        `json:"file"`
			Current     string        `json:"current,omitempty"`
			Datacenters []entryStatus `json:"datacenters"`
		}{file.Name, current, list})
		if err != nil {
			return err
		}
		return file.Check()
	}
	a.Printf("# %s\n", a.Name(file.Name))
	a.Printf("datacenters:\n")
	for _, s := range list {
		s.print(a)
	}
	a.Printf("current-datacenter: %s\n", a.Name(current))
	return file.Check()
}

func (s entryStatus) print(a *app.App) {
	a.Printf("- name: %s\n", a.Name(s.Name))
	for _, pair := range [][2]string{
		{"username", s.Username}, {"password", s.Password}, {"endpoint", s.Endpoint}, {"fingerprint", s.Fingerprint},
	} {
		if pair[1] != "" {
			a.Printf("  %s: %s\n", pair[0], a.Name(pair[1]))
		}
	}
	if s.Insecure {
		a.Printf("  insecure: true\n")
	}
	if s.Error != "" {
		a.Message("%s", s.Error)
	}
}
