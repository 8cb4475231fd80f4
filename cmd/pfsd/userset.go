package main

import (
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/urfave/cli/v2"
)

func (m *Main) userSetCommand() *cli.Command {
	return &cli.Command{
		Name:      "set",
		Usage:     "change the user of an account on the stores",
		ArgsUsage: "NAME",
		Description: "Changes the user of an account on stores that know users, within 2 seconds. Its files\n" +
			"there keep their owner: chown them with the store's own tools. What is not given stays.",
		Flags: accountFlags(
			&cli.StringFlag{Name: "hdfs-user", Usage: "`USER` on HDFS"},
			&cli.IntFlag{Name: "uid", Usage: "uid `N` on stores that know users by number"},
			&cli.IntFlag{Name: "gid", Usage: "gid `N` there"},
		),
		Action: func(c *cli.Context) error {
			id := auth.StoreIdentity{HDFSUser: c.String("hdfs-user"), UID: c.Int("uid"), GID: c.Int("gid")}
			if id == (auth.StoreIdentity{}) {
				return cliargs.Usagef("--hdfs-user, --uid or --gid is needed")
			}
			return withAccounts(func(c *cli.Context, accounts *auth.Accounts, args []string) error {
				a, err := accounts.SetStoreIdentity(c.Context, args[0], id)
				if err != nil {
					return err
				}
				m.printer.Message("%s is HDFS user %s, uid %d, gid %d from now on; what it has on the stores keeps its owner", a.Name, a.HDFSUser, a.UID, a.GID)
				return nil
			}, "NAME")(c)
		},
	}
}
