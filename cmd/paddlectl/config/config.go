// Package config has the commands for the configuration and the login: paddlectl config, login
// and logout.
package config

import (
	"context"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/paddlecloud/pfs/internal/nearest"
	"github.com/urfave/cli/v2"
)

// Command returns the command config.
func Command(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name:    "config",
		Summary: "show and change the configuration",
		Text: `Shows and changes the configuration: ~/.paddle/config (Windows: .paddle\config in
your home), or the file that PADDLE_CONFIG or --config names.`,
		Subs: []*cli.Command{
			getContextsCommand(a), useContextCommand(a), viewCommand(a), setCommand(a), deleteContextCommand(a),
		},
	})
}

// entryStatus is an entry as config shows it.
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

// editConfig changes the configuration file.
func editConfig(a *app.App, change func(*config.File) error) error {
	name, err := a.ConfigName()
	if err != nil {
		return err
	}
	return config.Edit(name, change)
}

func getContextsCommand(a *app.App) *cli.Command {
	var json bool
	return a.NewCommand(app.Spec{
		Name:     "get-contexts",
		Summary:  "list the datacenters",
		Text:     `Lists the datacenters of the configuration; "*" marks the current one.`,
		Examples: []string{"paddlectl config get-contexts"},
		Flags:    []cli.Flag{app.JSONFlag(&json)},
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

func useContextCommand(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "use-context", Args: "NAME", Least: 1, Most: 1,
		Summary:  "make a datacenter the current one",
		Text:     "Makes the datacenter NAME of the configuration the current one.",
		Examples: []string{"paddlectl config use-context datacenter2"},
		Exits:    []cliio.Code{cliio.NotFound},
		Run: func(_ context.Context, operands []string) error {
			return editConfig(a, func(f *config.File) error { return f.SetCurrent(operands[0]) })
		},
	})
}

func viewCommand(a *app.App) *cli.Command {
	var json bool
	return a.NewCommand(app.Spec{
		Name:     "view",
		Summary:  "show the configuration, without passwords",
		Text:     "Shows the configuration. For a password it shows only that one is set.",
		Examples: []string{"paddlectl config view --json"},
		Flags:    []cli.Flag{app.JSONFlag(&json)},
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

func setCommand(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "set", Args: "NAME KEY=VALUE...", Least: 2, Most: -1,
		Summary: "change or add a datacenter",
		Text: `Sets keys of the datacenter NAME, and adds the datacenter if it is missing. The keys are
username, endpoint, fingerprint and insecure (true or false). An empty VALUE removes a
key. A password cannot be set here, because other users of this machine could see it:
log in instead, or write it into the file.`,
		Examples: []string{"paddlectl config set dc2 endpoint=https://dc2.example.org:8443 username=alice"},
		Run: func(_ context.Context, operands []string) error {
			return editConfig(a, func(f *config.File) error { return setKeys(f, operands[0], operands[1:]) })
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
		if near := nearest.Word(key, []string{"username", "endpoint", "fingerprint", "insecure"}); near != "" {
			text += fmt.Sprintf(": did you mean %q?", near)
		}
		return cliargs.Usagef("%s", text)
	}
	return nil
}

func deleteContextCommand(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "delete-context", Args: "NAME", Least: 1, Most: 1,
		Summary: "remove a datacenter",
		Text: `Removes the datacenter NAME from the configuration, and its tokens from this machine.
To end the login at the service, log out first. If NAME was the current datacenter and
one other is left, that one becomes current. If several are left, choose one with
use-context.`,
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
		deleted, _ = f.Find(name) // Delete reports a missing entry
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
		a.Message("the login at %s is removed from this machine; at the service it ends on %s", deleted.Endpoint, tokens.RefreshExpires.Local().Format("2006-01-02"))
	}
	if names := file.Names(); wasCurrent && len(names) == 1 {
		a.Message("%q was the current datacenter; the current one is now %q", name, names[0])
	} else if wasCurrent && len(names) > 1 {
		a.Message("%q was the current datacenter; now there is no current one", name)
		a.Hint(a.Program + " config use-context NAME chooses one: " + strings.Join(names, ", "))
	}
	return nil
}
