package main

import (
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/urfave/cli/v2"
)

func (m *Main) userAddCommand() *cli.Command {
	role := string(auth.User)
	return &cli.Command{
		Name:      "add",
		Usage:     "add an account",
		ArgsUsage: "NAME",
		Description: "Adds an account. NAME, often an e-mail address, is also the name of the user's home. It\n" +
			"consists of letters from a to z, digits and . _ - + @, and must not look like the name of\n" +
			"another account.\n" +
			"HDFS user, uid and gid identify the user on stores that know users; file: and mem: do\n" +
			"not. By default they are chosen so that no two accounts, removed ones included, share\n" +
			"them. Roles: user (own home, reads public), publisher (also writes public), admin\n" +
			"(also reads and writes every home, sets quotas). DIR is made if it is missing.",
		Flags: accountFlags(
			passwordFlag,
			&cli.GenericFlag{Name: "role", Value: cliargs.Suggest(&role, roles...), Usage: "`ROLE`: user, publisher or admin"},
			&cli.StringFlag{Name: "hdfs-user", Usage: "`USER` on HDFS", DefaultText: "from NAME"},
			&cli.IntFlag{Name: "uid", Usage: "uid `N` on stores that know users by number", DefaultText: "the next free one"},
			&cli.IntFlag{Name: "gid", Usage: "gid `N` there", DefaultText: "the uid"},
		),
		Action: func(c *cli.Context) error {
			args, err := operands(c, "NAME")
			if err != nil {
				return err
			}
			return m.userAdd(c, auth.NewAccount{
				Name: args[0], Role: auth.Role(role),
				HDFSUser: c.String("hdfs-user"), UID: c.Int("uid"), GID: c.Int("gid"),
			})
		},
	}
}

func (m *Main) userAdd(c *cli.Context, n auth.NewAccount) error {
	dir, err := dataDir(c)
	if err != nil {
		return err
	}
	there, err := isDir(dir)
	if err != nil {
		return err
	}
	accounts, err := accountsIn(dir)
	if err != nil {
		return err
	}
	if err := accounts.CheckAdd(c.Context, n); err != nil { // before asking for a password
		return err
	}
	if n.Password, err = m.newPassword(c.Context, n.Name, c.Bool(passwordFlag.Name)); err != nil {
		return err
	}
	if err := auth.MakeDir(dir); err != nil {
		return err
	}
	if !there {
		m.printer.Message("created %s, which did not exist", dir)
	}
	made, err := accounts.Add(c.Context, n)
	if err != nil {
		return err
	}
	m.printer.Message("added %s: role %s, HDFS user %s, uid %d, gid %d", made.Name, made.Role, made.HDFSUser, made.UID, made.GID)
	return nil
}
