package help

import (
	"context"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// maxCandidates bounds the candidates of one directory.
const maxCandidates = 500

// Candidates is the command that completion scripts call.
func Candidates(a *app.App, program *cli.App) *cli.Command {
	return app.Candidates(a, program, func(ctx context.Context) cliargs.Known {
		return cliargs.Known{
			Value: func(name, word string) []string { return values(ctx, a, name, word) },
			Operand: func(command string, _ int, word string) []string {
				if command == "" {
					return nil // of no command
				}
				return append(otherWords(ctx, a, program, command), paths(ctx, a, word)...)
			},
		}
	})
}

// values returns the candidates for the flag called name.
func values(ctx context.Context, a *app.App, name, word string) []string {
	if name == "datacenter" {
		return datacenters(a)
	}
	return paths(ctx, a, word)
}

// datacenters returns the names of the datacenters in the configuration, if it can be read.
func datacenters(a *app.App) []string {
	file, err := a.Remotes.Config()
	if err != nil {
		return nil
	}
	return file.Names()
}

// otherWords returns the candidates for operands that are not paths.
func otherWords(ctx context.Context, a *app.App, program *cli.App, command string) []string {
	switch command {
	case "get jobs", "get workers", "get outputs", "describe", "logs", "kill", "delete", "wait":
		return jobs(ctx, a)
	case "help", "flags":
		return cliargs.CommandWords(program.Commands)
	case "completion":
		return cliargs.Shells
	case "config use-context", "config set", "config delete-context", "logout":
		return datacenters(a)
	}
	return nil
}

// jobs returns the names of the user's jobs in the current datacenter.
func jobs(ctx context.Context, a *app.App) (names []string) {
	home, err := a.Home(ctx)
	if err != nil {
		return nil
	}
	conn, err := a.Remotes.Current(ctx)
	if err != nil {
		return nil
	}
	for e, err := range pfs.Entries(ctx, conn.FS, home.Join("jobs"), nil) {
		if err != nil || len(names) == maxCandidates {
			break
		}
		if e.IsDir() && job.CheckName(e.Name) == "" {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names
}

// paths returns the paths on the service that begin with word; directories end in a slash.
func paths(ctx context.Context, a *app.App, word string) []string {
	if len(word) > 0 && len(word) < len("/pfs/") && strings.HasPrefix("/pfs/", word) {
		return []string{"/pfs/"}
	}
	if !strings.HasPrefix(word, "/pfs/") {
		return nil
	}
	cut := strings.LastIndexByte(word, '/')
	dir, err := pfs.CleanPath(word[:cut])
	if err != nil {
		return nil
	}
	conn, err := a.Remotes.At(ctx, dir)
	if err != nil {
		return nil
	}
	var list []string
	for e, err := range pfs.Entries(ctx, conn.FS, dir, nil) {
		if err != nil || len(list) == maxCandidates {
			break
		}
		if !strings.HasPrefix(e.Name, word[cut+1:]) || strings.ContainsAny(e.Name, "\n\r") {
			continue
		}
		if e.Name[0] == '.' && word[cut+1:] == "" {
			continue
		}
		name := word[:cut+1] + e.Name
		if e.IsDir() {
			name += "/"
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
