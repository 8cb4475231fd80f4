// Command paddlectl moves files between this machine and the paddle file system. It also answers to
// the name paddlecloud. docs/quickstart.md introduces it.
//
// The commands are in folders: files (cp, ls, mv, ...), dataset, recordio, mount, config (with
// login and logout) and help (with completion and version). Each parses its operands and flags, calls
// a library, and prints the result. The common parts are in internal/app (the program, operands,
// services, hints), internal/copying (a copy and its output) and internal/datafile (files of
// records, read and written).
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/paddlecloud/pfs/cmd/paddlectl/config"
	"github.com/paddlecloud/pfs/cmd/paddlectl/dataset"
	"github.com/paddlecloud/pfs/cmd/paddlectl/files"
	"github.com/paddlecloud/pfs/cmd/paddlectl/help"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/mount"
	"github.com/paddlecloud/pfs/cmd/paddlectl/recordio"
	"github.com/urfave/cli/v2"
)

// version is the version of this program, set by -ldflags "-X main.version=1.2.3".
var version = "unknown"

func main() { os.Exit(newMain().Run(context.Background())) }

// newMain is the program as this process runs it.
func newMain() *app.Main {
	// The capacity is two: the first signal asks the command to stop, the second ends it.
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	return &app.Main{
		Args:       os.Args,
		Stdin:      os.Stdin,
		Stdout:     os.Stdout,
		Stderr:     os.Stderr,
		Getenv:     os.Getenv,
		Root:       os.DirFS("/"),
		Interrupts: interrupts,
		Exit:       os.Exit,
		Version:    version,
		Program:    commands,
	}
}

// commands is the program with all its commands.
func commands(a *app.App) *cli.App {
	program := &cli.App{
		Name:      a.Program,
		Reader:    a.Main.Stdin,
		Writer:    a.Out,
		ErrWriter: a.Stderr,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "config", Usage: "read the configuration from `FILE`, not from PADDLE_CONFIG or ~/.paddle/config", Destination: &a.Global.Config},
			&cli.BoolFlag{Name: "debug", Usage: "show retries and their reasons on standard error", Destination: &a.Global.Debug},
		},
	}
	groups := []group{
		{"Subcommands:", []*cli.Command{
			help.Commands(a, program), help.Completion(a), config.Command(a), files.File(a), help.Flags(a, program),
			help.Help(a, program), config.Login(a), config.Logout(a), help.Version(a),
		}},
		{"Subcommands for PFS:", []*cli.Command{
			files.Cat(a), files.Chmod(a), files.Cp(a), files.Df(a), files.Du(a), files.Find(a), files.Head(a), files.Ls(a), files.Mkdir(a),
			mount.Mount(a), files.Mv(a), files.Quota(a), files.Rm(a), files.Stat(a), files.Sync(a), files.Tail(a), files.Touch(a),
			files.Tree(a), mount.Umount(a), files.Verify(a),
		}},
		{"Subcommands for data:", []*cli.Command{dataset.Command(a), recordio.Command(a)}},
	}
	program.CustomAppHelpTemplate = overview(program.Name, groups)
	for _, g := range groups {
		program.Commands = append(program.Commands, g.commands...)
	}
	program.Commands = append(program.Commands, help.Candidates(a, program))
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
