package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/urfave/cli/v2"
)

func (m *Main) userLsCommand() *cli.Command {
	return &cli.Command{
		Name:        "ls",
		Usage:       "list the accounts",
		Description: "Lists the accounts by name, with their users on the stores.",
		Flags:       accountFlags(&cli.BoolFlag{Name: "json", Usage: "print one JSON object per line"}),
		Action: withAccounts(func(c *cli.Context, accounts *auth.Accounts, _ []string) error {
			if c.Bool("json") {
				return m.listJSON(accounts.List())
			}
			return m.listText(accounts.List())
		}),
	}
}

// accountLine is an account as --json shows it.
type accountLine struct {
	Name     string    `json:"name"`
	Role     auth.Role `json:"role"`
	HDFSUser string    `json:"hdfs_user"`
	UID      int       `json:"uid"`
	GID      int       `json:"gid"`
	Created  time.Time `json:"created"`
}

func (m *Main) listJSON(accounts []auth.Account) error {
	for _, a := range accounts {
		line := accountLine{a.Name, a.Role, a.HDFSUser, a.UID, a.GID, a.Created}
		if err := m.printer.JSON(line); err != nil {
			return err
		}
	}
	return nil
}

func (m *Main) listText(accounts []auth.Account) error {
	w := tabwriter.NewWriter(m.printer.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tROLE\tHDFS USER\tUID\tGID\tCREATED")
	for _, a := range accounts {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", a.Name, a.Role, a.HDFSUser, a.UID, a.GID, a.Created.Format(time.DateOnly))
	}
	return w.Flush()
}
