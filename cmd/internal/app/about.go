package app

import (
	"context"
	"io"
	"runtime"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/urfave/cli/v2"
)

// Help returns the command help.
func Help(a *App, program *cli.App, examples ...string) *cli.Command {
	return a.NewCommand(Spec{
		Name: "help", Args: "[SUBCOMMAND...]", Most: -1,
		Summary:  "describe subcommands and their syntax",
		Text:     "Describes a subcommand; without one lists them all.",
		Examples: examples,
		Run: func(_ context.Context, operands []string) error {
			path, err := cliargs.FindCommand(program, operands)
			if err == nil {
				a.Printf("%s", cliargs.Help(program, path...))
			}
			return err
		},
	})
}

// versionJSON is the result of version with --json.
type versionJSON struct {
	Version string       `json:"version"`
	Go      string       `json:"go"`
	OS      string       `json:"os"`
	Arch    string       `json:"arch"`
	Service *serviceJSON `json:"service,omitempty"`
}

type serviceJSON struct {
	Endpoint    string   `json:"endpoint"`
	Version     string   `json:"version"`
	Protocol    int      `json:"protocol"`
	Datacenters []string `json:"datacenters"`
	Current     string   `json:"current"`
}

// Version returns the command version.
func Version(a *App) *cli.Command {
	var service, json bool
	return a.NewCommand(Spec{
		Name:     "version",
		Summary:  "show the version of this program and of the service",
		Text:     "Shows the version of this program and, with --service, of the current service.",
		Examples: []string{a.Program + " version --service --json"},
		Exits:    RemoteExits(),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "service", Usage: "also show the version of the current service", Destination: &service},
			JSONFlag(&json),
		},
		Run: func(ctx context.Context, _ []string) error { return runVersion(ctx, a, service, json) },
	})
}

func runVersion(ctx context.Context, a *App, service, json bool) error {
	v := versionJSON{Version: a.Main.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if service {
		conn, err := a.Remotes.Current(ctx)
		if err != nil {
			return err
		}
		info, err := conn.Client.Service(ctx)
		if err != nil {
			return err
		}
		v.Service = &serviceJSON{conn.Entry.Endpoint, info.Version, info.Protocol, info.Datacenters, info.Current}
	}
	if json {
		return a.JSON(v)
	}
	a.Printf("%s %s (%s, %s/%s)\n", a.Program, v.Version, v.Go, v.OS, v.Arch)
	if s := v.Service; s != nil {
		a.Printf("service %s (protocol %d) at %s, datacenters %v\n", s.Version, s.Protocol, s.Endpoint, s.Datacenters)
	}
	return nil
}

// Completion returns the command completion of a program with the name, and the other names. text says what
// it completes.
func Completion(a *App, text, name string, others ...string) *cli.Command {
	return a.NewCommand(Spec{
		Name: "completion", Args: "bash|zsh|fish", Least: 1, Most: 1,
		Summary: "print the script that completes commands and paths",
		Text:    text,
		Examples: []string{
			"source <(" + name + " completion bash)",
			name + " completion zsh > ~/.zsh/completions/_" + name,
			name + " completion fish > ~/.config/fish/completions/" + name + ".fish",
		},
		Run: func(_ context.Context, operands []string) error {
			script, err := cliargs.CompletionScript(operands[0], name, others...)
			if err != nil {
				return err
			}
			a.Printf("%s", script)
			return nil
		},
	})
}

// completeWithin is how long a user at the keyboard waits for candidates.
const completeWithin = 1500 * time.Millisecond

// Candidates is the command that completion scripts call: it prints the candidates for the last
// word, one per line. It asks no questions and shows no errors.
func Candidates(a *App, program *cli.App, known func(ctx context.Context) cliargs.Known) *cli.Command {
	return a.NewCommand(Spec{
		Name: cliargs.CompletionCommand, Args: "WORD...", Most: -1, Hidden: true,
		Run: func(ctx context.Context, words []string) error {
			a.Stderr.Set(io.Discard)
			ctx, cancel := context.WithTimeout(ctx, completeWithin)
			defer cancel()
			for _, c := range cliargs.Candidates(program, words, known(ctx)) {
				a.Printf("%s\n", c)
			}
			return nil
		},
	})
}
