package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/urfave/cli/v2"
)

// app lists the commands.
func (d *deps) app() *cli.App {
	app := &cli.App{
		Name:      d.out.Program,
		Reader:    d.main.Stdin,
		Writer:    d.out.Out,
		ErrWriter: d.stderr,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "config", Usage: "read the configuration from `FILE`, not from PADDLE_CONFIG or ~/.paddle/config", Destination: &d.global.config},
			&cli.BoolFlag{Name: "debug", Usage: "show on standard error what is tried again, and why", Destination: &d.global.debug},
		},
	}
	general := []*cli.Command{
		d.commandsCommand(app), d.completionCommand(), d.configCommand(), d.fileCommand(), d.flagsCommand(app),
		d.helpCommand(app), d.loginCommand(), d.logoutCommand(), d.versionCommand(),
	}
	files := []*cli.Command{
		d.catCommand(), d.cpCommand(), d.dfCommand(), d.duCommand(), d.findCommand(), d.lsCommand(), d.mkdirCommand(),
		d.mvCommand(), d.quotaCommand(), d.rmCommand(), d.statCommand(), d.syncCommand(), d.touchCommand(),
		d.treeCommand(), d.verifyCommand(),
	}
	data := []*cli.Command{d.datasetCommand(), d.recordioCommand()}
	app.CustomAppHelpTemplate = overview(app.Name, general, files, data)
	app.Commands = slices.Concat(general, files, data, []*cli.Command{d.candidatesCommand(app)})
	return app
}

// overview is the help text of the program itself.
func overview(name string, general, files, data []*cli.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s <flags> <subcommand> <subcommand args>\n", name)
	for _, group := range []struct {
		title    string
		commands []*cli.Command
	}{
		{"Subcommands:", general},
		{"Subcommands for PFS:", files},
		{"Subcommands for data:", data},
	} {
		fmt.Fprintf(&b, "\n%s\n", group.title)
		for _, c := range group.commands {
			fmt.Fprintf(&b, "\t%-15s  %s\n", c.Name, c.Usage)
		}
	}
	fmt.Fprintf(&b, "\n\nUse \"%[1]s flags\" for a list of top-level flags\nUse \"%[1]s help SUBCOMMAND\" for what one does, its flags and its exit codes\n", name)
	return b.String()
}

func (d *deps) helpCommand(app *cli.App) *cli.Command {
	return d.command(spec{
		name: "help", args: "[SUBCOMMAND...]", most: -1,
		summary:  "describe subcommands and their syntax",
		text:     "Describes a subcommand; without one lists them all.",
		examples: []string{"paddlectl help cp", "paddlectl help config set"},
		run: func(_ context.Context, operands []string) error {
			path, err := findCommand(app, operands)
			if err == nil {
				d.out.Printf("%s", cliargs.Help(app, path...))
			}
			return err
		},
	})
}

// findCommand finds the command that the names lead to.
func findCommand(app *cli.App, names []string) ([]*cli.Command, error) {
	var path []*cli.Command
	commands := app.Commands
	for _, name := range names {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
		if i < 0 {
			return nil, cliargs.Usagef("no subcommand %q: %s commands lists them", strings.Join(names, " "), app.Name)
		}
		path = append(path, commands[i])
		commands = commands[i].Subcommands
	}
	return path, nil
}

func (d *deps) commandsCommand(app *cli.App) *cli.Command {
	return d.command(spec{
		name:    "commands",
		summary: "list all command names",
		text:    "Lists the names of all subcommands, one a line.",
		run: func(context.Context, []string) error {
			for _, c := range app.Commands {
				if !c.Hidden {
					d.out.Printf("%s\n", c.Name)
				}
			}
			return nil
		},
	})
}

func (d *deps) flagsCommand(app *cli.App) *cli.Command {
	return d.command(spec{
		name: "flags", args: "[SUBCOMMAND...]", most: -1,
		summary: "describe all known top-level flags",
		text:    "Describes the flags of the program, or those of a subcommand.",
		run: func(_ context.Context, operands []string) error {
			path, err := findCommand(app, operands)
			if err != nil {
				return err
			}
			flags := app.Flags
			if len(path) > 0 {
				flags = path[len(path)-1].Flags
			}
			d.out.Printf("%s", cliargs.FlagTable(flags))
			return nil
		},
	})
}
