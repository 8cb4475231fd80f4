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
