package main

import "github.com/urfave/cli/v2"

func (m *Main) userRmCommand() *cli.Command {
	return &cli.Command{
		Name:        "rm",
		Usage:       "remove an account",
		ArgsUsage:   "NAME",
		Description: "Removes an account. Its files stay. Its HDFS user and uid remain reserved; an account\nadded under the same name gets them back.",
		Flags:       accountFlags(),
		Action: func(c *cli.Context) error {
			args, err := operands(c, "NAME")
			if err != nil {
				return err
			}
			accounts, err := openAccounts(c)
			if err != nil {
				return err
			}
			if err := accounts.Remove(c.Context, args[0]); err != nil {
				return err
			}
			m.printer.Message("removed %s; the files are still there", args[0])
			return nil
		},
	}
}
