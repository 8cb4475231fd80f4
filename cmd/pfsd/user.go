package main

import (
	"os"
	"path/filepath"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/urfave/cli/v2"
)

func (m *Main) userCommand() *cli.Command {
	return &cli.Command{
		Name:  "user",
		Usage: "add, change, remove and list accounts",
		Description: "Adds, changes, removes and lists accounts. A running service sees a change within\n" +
			"2 seconds; whoever lost the account or has another password or role is logged out then.",
		Subcommands: []*cli.Command{
			m.userAddCommand(), m.userPasswdCommand(), m.userRoleCommand(), m.userRmCommand(), m.userLsCommand(),
		},
	}
}

var dataFlag = &cli.StringFlag{Name: "data", Usage: "keep accounts, keys and, by default, files in `DIR`"}

// dataDir returns the directory that --data names.
func dataDir(c *cli.Context) (string, error) {
	dir := c.String("data")
	if dir == "" {
		return "", cliargs.Usagef("--data DIR is missing")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", pfs.E("pfsd.dataDir", "", pfs.KindOf(err), err)
	}
	return abs, nil
}

// openAccounts opens the accounts in the directory that --data names, which must
// be there.
func openAccounts(c *cli.Context) (*auth.Accounts, error) {
	dir, err := dataDir(c)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, pfs.E("pfsd.openAccounts", "", pfs.KindOf(err), err)
	}
	return accountsIn(dir)
}

func accountsIn(dir string) (*auth.Accounts, error) {
	return auth.OpenAccounts(filepath.Join(dir, auth.AccountsFile), auth.AccountsOptions{})
}
