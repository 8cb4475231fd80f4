package main

import (
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/urfave/cli/v2"
)

func (m *Main) userPasswdCommand() *cli.Command {
	return &cli.Command{
		Name:      "passwd",
		Usage:     "give an account another password",
		ArgsUsage: "NAME",
		Description: "Gives an account another password, which is asked for twice or read from standard input. All\n" +
			"sessions of the account end within 2 seconds.",
		Flags:  accountFlags(passwordFlag),
		Action: withAccounts(m.userPasswd, "NAME"),
	}
}

func (m *Main) userPasswd(c *cli.Context, accounts *auth.Accounts, args []string) error {
	name := args[0]
	if _, err := accounts.Get(name); err != nil {
		return err
	}
	password, err := m.newPassword(c.Context, name, c.Bool(passwordFlag.Name))
	if err != nil {
		return err
	}
	if err := accounts.SetPassword(c.Context, name, password); err != nil {
		return err
	}
	m.printer.Message("%s has another password and is logged out everywhere", name)
	return nil
}
