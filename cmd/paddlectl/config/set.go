package config

import (
	"context"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func configSetCommand(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "set", Args: "NAME KEY=VALUE...", Least: 2, Most: -1,
		Summary: "change or add a datacenter",
		Text: `Sets keys of the datacenter NAME, which is added if it is not there: username,
endpoint, fingerprint, insecure (true or false). An empty VALUE removes a key. A
password is not set here, where other users of this machine could see it: log in
instead, or write it into the file.`,
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
		if near := cliargs.Nearest(key, []string{"username", "endpoint", "fingerprint", "insecure"}); near != "" {
			text += fmt.Sprintf(": did you mean %q?", near)
		}
		return cliargs.Usagef("%s", text)
	}
	return nil
}
