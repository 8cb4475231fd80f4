package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/urfave/cli/v2"
)

func (d *deps) configCommand() *cli.Command {
	return d.command(spec{
		name:    "config",
		summary: "show and change the configuration",
		text: `Shows and changes the configuration: ~/.paddle/config (Windows: .paddle\config in
your folder), or the file that PADDLE_CONFIG or --config names.`,
		subs: []*cli.Command{
			d.getContextsCommand(), d.useContextCommand(), d.configViewCommand(), d.configSetCommand(),
		},
	})
}

// entryStatus is how config shows an entry.
type entryStatus struct {
	Current     bool   `json:"current"`
	Name        string `json:"name"`
	Username    string `json:"username,omitempty"`
	Password    string `json:"password,omitempty"` // "hidden" if there is one
	Endpoint    string `json:"endpoint,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Insecure    bool   `json:"insecure,omitempty"`
	Error       string `json:"error,omitempty"`
}

func statusOf(f *config.File) []entryStatus {
	current, currentErr := f.Current()
	var list []entryStatus
	for _, e := range f.Entries {
		s := entryStatus{
			Current: currentErr == nil && e.Name == current.Name,
			Name:    e.Name, Username: e.Username, Endpoint: e.Endpoint, Fingerprint: e.Fingerprint, Insecure: e.Insecure,
		}
		if e.Password != "" {
			s.Password = "hidden"
		}
		if e.Err != nil {
			s.Error = e.Err.Error()
		}
		list = append(list, s)
	}
	return list
}

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

func (d *deps) useContextCommand() *cli.Command {
	return d.command(spec{
		name: "use-context", args: "NAME", least: 1, most: 1,
		summary:  "make a datacenter the current one",
		text:     "Makes the datacenter NAME of the configuration the current one, in whichever of the two ways the file says it.",
		examples: []string{"paddlectl config use-context datacenter2"},
		exits:    []cliio.Code{cliio.NotFound},
		run: func(_ context.Context, operands []string) error {
			return d.editConfig(func(f *config.File) error { return f.SetCurrent(operands[0]) })
		},
	})
}

// editConfig changes the configuration file.
func (d *deps) editConfig(change func(*config.File) error) error {
	name, err := d.configName()
	if err != nil {
		return err
	}
	return config.Edit(name, change)
}

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

func (d *deps) configSetCommand() *cli.Command {
	return d.command(spec{
		name: "set", args: "NAME KEY=VALUE...", least: 2, most: -1,
		summary: "change or add a datacenter",
		text: `Sets keys of the datacenter NAME, which is added if it is not there: username,
endpoint, fingerprint, insecure (true or false). An empty VALUE removes a key. A
password is not set here, where other users of this machine could see it: log in
instead, or write it into the file.`,
		examples: []string{"paddlectl config set dc2 endpoint=https://dc2.example.org:8443 username=alice"},
		run: func(_ context.Context, operands []string) error {
			return d.editConfig(func(f *config.File) error { return setKeys(f, operands[0], operands[1:]) })
		},
	})
}

func setKeys(f *config.File, name string, pairs []string) error {
	e, ok := f.Find(name)
	if !ok {
		e = config.Entry{Name: name}
	}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return cliargs.Usagef("%q: KEY=VALUE is needed", pair)
		}
		if err := setKey(&e, key, value); err != nil {
			return err
		}
	}
	if err := f.Put(e); err != nil {
		return err
	}
	e, _ = f.Find(name)
	if e.Err != nil {
		return fmt.Errorf("nothing was changed: %w", e.Err)
	}
	return nil
}

func setKey(e *config.Entry, key, value string) error {
	texts := map[string]*string{"username": &e.Username, "endpoint": &e.Endpoint, "fingerprint": &e.Fingerprint}
	switch to := texts[key]; {
	case to != nil:
		*to = value
	case key == "insecure" && (value == "true" || value == "false" || value == ""):
		e.Insecure = value == "true"
	case key == "insecure":
		return cliargs.Usagef("insecure=%s: true or false is needed", value)
	case key == "password":
		return cliargs.Usagef("a password on the command line can be seen by others: log in, or write it into the file")
	default:
		text := fmt.Sprintf("no key %q", key)
		if near := cliargs.Nearest(key, []string{"username", "endpoint", "fingerprint", "insecure"}); near != "" {
			text += fmt.Sprintf(": did you mean %q?", near)
		}
		return cliargs.Usagef("%s", text)
	}
	return nil
}
