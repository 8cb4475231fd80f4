// Package config has the commands for the configuration and the login: paddlectl config, login
// and logout.
package config

import (
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func Command(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name:    "config",
		Summary: "show and change the configuration",
		Text: `Shows and changes the configuration: ~/.paddle/config (Windows: .paddle\config in
your folder), or the file that PADDLE_CONFIG or --config names.`,
		Subs: []*cli.Command{
			getContextsCommand(a), useContextCommand(a), configViewCommand(a), configSetCommand(a), deleteContextCommand(a),
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

// editConfig changes the configuration file.
func editConfig(a *app.App, change func(*config.File) error) error {
	name, err := a.ConfigName()
	if err != nil {
		return err
	}
	return config.Edit(name, change)
}
