package main

import (
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/urfave/cli/v2"
)

func (m *Main) userRmCommand() *cli.Command {
	return &cli.Command{
		Name:        "rm",
		Usage:       "remove an account",
		ArgsUsage:   "NAME",
		Description: "Removes an account. Its files stay. Its HDFS user and uid remain reserved; an account\nadded under the same name gets them back.",
		Flags:       accountFlags(),
		Action: withAccounts(func(c *cli.Context, accounts *auth.Accounts, args []string) error {
			if err := accounts.Remove(c.Context, args[0]); err != nil {
				return err
			}
			m.printer.Message("removed %s; the files are still there", args[0])
			return nil
		}, "NAME"),
	}
}
