package main

import (
	"fmt"
	"slices"
	"strings"

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
		d.catCommand(), d.chmodCommand(), d.cpCommand(), d.dfCommand(), d.duCommand(), d.findCommand(), d.headCommand(), d.lsCommand(), d.mkdirCommand(),
		d.mvCommand(), d.quotaCommand(), d.rmCommand(), d.statCommand(), d.syncCommand(), d.tailCommand(), d.touchCommand(),
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
