package main

import (
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/urfave/cli/v2"
)

func (m *Main) userRoleCommand() *cli.Command {
	return &cli.Command{
		Name:      "role",
		Usage:     "give an account another role",
		ArgsUsage: "NAME user|publisher|admin",
		Description: "Gives an account another role; user add --help lists the roles. All sessions of the\n" +
			"account end within 2 seconds.",
		Flags: accountFlags(),
		Action: withAccounts(func(c *cli.Context, accounts *auth.Accounts, args []string) error {
			if err := accounts.SetRole(c.Context, args[0], auth.Role(args[1])); err != nil {
				return err
			}
			m.printer.Message("%s has the role %s and is logged out everywhere", args[0], args[1])
			return nil
		}, "NAME", "the role"),
	}
}
