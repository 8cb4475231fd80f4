package main

import (
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
			d.getContextsCommand(), d.useContextCommand(), d.configViewCommand(), d.configSetCommand(), d.deleteContextCommand(),
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
func (d *deps) editConfig(change func(*config.File) error) error {
	name, err := d.configName()
	if err != nil {
		return err
	}
	return config.Edit(name, change)
}
