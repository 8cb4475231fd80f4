// Command pfs-agent mounts a tree of a service or of a store in a pod or on a node. It takes the options of
// paddlectl mount, and reads the same configuration if there is one. docs/mount.md describes mounts. In the pods
// of jobs it also runs the entry, stages inputs and uploads outputs (docs/jobs.md).
package main

import (
	"context"
	"os"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/mounting"
	"github.com/urfave/cli/v2"
)

// version is the version of this program, set by -ldflags "-X main.version=1.2.3".
var version = "unknown"

func main() { os.Exit(app.NewMain("pfs-agent", version, commands).Run(context.Background())) }

// commands is the program with all its commands.
func commands(a *app.App) *cli.App {
	program := &cli.App{
		Name:        a.Program,
		Description: "Mounts a tree of a service or of a store as a directory.",
		Reader:      a.Main.Stdin,
		Writer:      a.Out,
		ErrWriter:   a.Stderr,
		Flags:       a.ProgramFlags(),
	}
	program.Commands = []*cli.Command{
		mounting.Mount(a, metrics), mounting.Broker(a, metrics), mounting.Status(a), mounting.Flush(a), mounting.Umount(a), mounting.Upgrade(a), plugin(a), install(a), mounting.Warm(a), mounting.Bench(a),
		launchEntry(a), upload(a), stageInputs(a), task(a),
		app.Completion(a, "Prints a shell script that completes subcommands and flags.", a.Program),
		app.Help(a, program), app.Version(a), app.Candidates(a, program, known(program)),
	}
	return program
}

// known returns what completion knows beyond commands and flags.
func known(program *cli.App) func(context.Context) cliargs.Known {
	return func(context.Context) cliargs.Known {
		return cliargs.Known{
			Value: func(string, string) []string { return nil }, // shells complete files
			Operand: func(command string, _ int, _ string) []string {
				switch command {
				case "help":
					return cliargs.CommandWords(program.Commands)
				case "completion":
					return cliargs.Shells
				}
				return nil
			},
		}
	}
}
