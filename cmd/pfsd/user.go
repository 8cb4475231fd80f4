package main

import (
	"errors"
	"io/fs"
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
			"2 seconds. A user whose account, password or role changed is logged out then.",
		Subcommands: []*cli.Command{
			m.userAddCommand(), m.userPasswdCommand(), m.userRoleCommand(), m.userSetCommand(), m.userRmCommand(), m.userLsCommand(),
		},
	}
}

var dataFlag = &cli.StringFlag{Name: "data", Usage: "keep accounts, keys and, by default, files in `DIR`"}

// accountFlags returns the flags of all commands for accounts, and more.
func accountFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		dataFlag,
		&cli.StringFlag{Name: configFlag.Name, Usage: "take the directory from the option data of `FILE`, the configuration of serve"},
	}, more...)
}

// dataDir returns the directory given by --data or by the file of --config.
func dataDir(c *cli.Context) (string, error) {
	dir := c.String("data")
	if dir == "" {
		file, err := readConfigFile(c)
		if err != nil {
			return "", err
		}
		dir = file.get("data")
	}
	if dir == "" {
		return "", cliargs.Usagef("--data DIR is missing")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", pfs.E("pfsd.dataDir", "", pfs.KindOf(err), err)
	}
	return abs, nil
}

// openAccounts opens the accounts in the directory of --data, which must exist.
func openAccounts(c *cli.Context) (*auth.Accounts, error) {
	const op = "pfsd.openAccounts"
	dir, err := dataDir(c)
	if err != nil {
		return nil, err
	}
	there, err := isDir(dir)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, pfs.Errorf(op, "", pfs.NotExist, "there is no directory %s: is --data right? pfsd serve --data %s makes it",
			dir, shellQuote(dir))
	}
	return accountsIn(dir)
}

// withAccounts returns the action of a command that takes exactly the named operands.
func withAccounts(do func(c *cli.Context, accounts *auth.Accounts, args []string) error, names ...string) cli.ActionFunc {
	return func(c *cli.Context) error {
		args, err := operands(c, names...)
		if err != nil {
			return err
		}
		accounts, err := openAccounts(c)
		if err != nil {
			return err
		}
		return do(c, accounts, args)
	}
}

// isDir reports whether dir is a directory. It returns an error for anything else of that name.
func isDir(dir string) (bool, error) {
	const op = "pfsd.isDir"
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, pfs.E(op, "", pfs.KindOf(err), err)
	case !info.IsDir():
		return false, pfs.Errorf(op, "", pfs.NotDir, "%s is a file: --data names the directory of accounts and keys", dir)
	}
	return true, nil
}

func accountsIn(dir string) (*auth.Accounts, error) {
	return auth.OpenAccounts(filepath.Join(dir, auth.AccountsFile), auth.AccountsOptions{})
}
