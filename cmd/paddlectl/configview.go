package main

import (
	"context"

	"github.com/urfave/cli/v2"
)

func (d *deps) configViewCommand() *cli.Command {
	var json bool
	return d.command(spec{
		name:     "view",
		summary:  "show the configuration, without passwords",
		text:     "Shows what is read from the configuration file. Passwords are not shown, only that there is one.",
		examples: []string{"paddlectl config view --json"},
		flags:    []cli.Flag{jsonFlag(&json)},
		run:      func(context.Context, []string) error { return runConfigView(d, json) },
	})
}

func runConfigView(d *deps, json bool) error {
	file, err := d.remotes.config()
	if err != nil {
		return err
	}
	current := ""
	if e, err := file.Current(); err == nil {
		current = e.Name
	}
	list := statusOf(file)
	if json {
		err := d.out.JSON(struct {
			File        string        `json:"file"`
			Current     string        `json:"current,omitempty"`
			Datacenters []entryStatus `json:"datacenters"`
		}{file.Name, current, list})
		if err != nil {
			return err
		}
		return file.Check()
	}
	d.out.Printf("# %s\n", d.out.Name(file.Name))
	d.out.Printf("datacenters:\n")
	for _, s := range list {
		s.print(d)
	}
	d.out.Printf("current-datacenter: %s\n", d.out.Name(current))
	return file.Check()
}

func (s entryStatus) print(d *deps) {
	d.out.Printf("- name: %s\n", d.out.Name(s.Name))
	for _, pair := range [][2]string{
		{"username", s.Username}, {"password", s.Password}, {"endpoint", s.Endpoint}, {"fingerprint", s.Fingerprint},
	} {
		if pair[1] != "" {
			d.out.Printf("  %s: %s\n", pair[0], d.out.Name(pair[1]))
		}
	}
	if s.Insecure {
		d.out.Printf("  insecure: true\n")
	}
	if s.Error != "" {
		d.out.Message("%s", s.Error)
	}
}
