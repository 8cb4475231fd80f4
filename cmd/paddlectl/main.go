// Command paddlectl moves files between this machine and the paddle file system. It also answers to
// the name paddlecloud. docs/quickstart.md introduces it.
//
// The commands are in folders: files (cp, ls, mv, ...), dataset, recordio, config (with login and logout)
// and help; mount and umount are in cmd/internal/mounting. Each parses its operands and flags, calls
// a library, and prints the result. The common parts are in cmd/internal/app (the program, operands,
// services, hints, help and version), internal/copying (a copy and its output) and internal/datafile (reading and
// writing files of records).
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/mounting"
	"github.com/paddlecloud/pfs/cmd/paddlectl/config"
	"github.com/paddlecloud/pfs/cmd/paddlectl/dataset"
	"github.com/paddlecloud/pfs/cmd/paddlectl/files"
	"github.com/paddlecloud/pfs/cmd/paddlectl/help"
	"github.com/paddlecloud/pfs/cmd/paddlectl/jobs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/localjobs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/recordio"
	"github.com/urfave/cli/v2"
)

// version is the version of this program, set by -ldflags "-X main.version=1.2.3".
var version = "unknown"

func main() {
	code, is := localjobs.Launch(os.Args)
	if !is {
		code = app.NewMain("", version, commands).Run(context.Background())
	}
	os.Exit(code)
}

// commands is the program with all its commands.
func commands(a *app.App) *cli.App {
	program := &cli.App{
		Name:      a.Program,
		Reader:    a.Main.Stdin,
		Writer:    a.Out,
		ErrWriter: a.Stderr,
		Flags:     a.ProgramFlags(),
	}
	completion := app.Completion(a, `Prints a shell script that completes subcommands, flags and paths. It completes paths
on the service only while you are logged in and the service answers quickly.`, "paddlectl", "paddlecloud")
	groups := []group{
		{"Subcommands:", []*cli.Command{
			help.Commands(a, program), completion, config.Command(a), files.File(a), help.Flags(a, program),
			app.Help(a, program, "paddlectl help cp", "paddlectl help config set"), config.Key(a), config.Login(a), config.Logout(a), config.Token(a), app.Version(a),
		}},
		{"Subcommands for PFS:", []*cli.Command{
			files.Cat(a), files.Chmod(a), files.Cp(a), files.Df(a), files.Du(a), files.Find(a), files.Head(a), files.Ls(a), files.Mkdir(a),
			mounting.Mount(a, nil, mounting.Status(a), mounting.Flush(a)), files.Mv(a), files.Quota(a), files.Rm(a), files.Stat(a), files.Sync(a), files.Tail(a), files.Touch(a),
			files.Tree(a), mounting.Umount(a), files.Verify(a),
		}},
		{"Subcommands for jobs:", []*cli.Command{
			jobs.Check(a), jobs.Convert(a), jobs.Delete(a), jobs.Describe(a), jobs.Get(a), jobs.Kill(a), jobs.Logs(a), jobs.Registry(a), jobs.Run(a), jobs.Submit(a), jobs.Wait(a),
		}},
		{"Subcommands for data:", []*cli.Command{dataset.Command(a), recordio.Command(a)}},
	}
	program.CustomAppHelpTemplate = overview(program.Name, groups)
	for _, g := range groups {
		program.Commands = append(program.Commands, g.commands...)
	}
	program.Commands = append(program.Commands, help.Candidates(a, program), localjobs.Process(a), dataset.Worker(a))
	return program
}

// group is a set of commands that the overview lists together.
type group struct {
	title    string
	commands []*cli.Command
}

// overview is the help text of the program itself.
func overview(name string, groups []group) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s <flags> <subcommand> <subcommand args>\n", name)
	for _, g := range groups {
		fmt.Fprintf(&b, "\n%s\n", g.title)
		for _, c := range g.commands {
			fmt.Fprintf(&b, "\t%-15s  %s\n", c.Name, c.Usage)
		}
	}
	fmt.Fprintf(&b, "\n\nUse \"%[1]s flags\" for a list of top-level flags\nUse \"%[1]s help SUBCOMMAND\" for its description, flags and exit codes\n", name)
	return b.String()
}
