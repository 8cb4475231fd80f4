package config

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/urfave/cli/v2"
)

// Key returns the command key.
func Key(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name:    "key",
		Summary: "manage the public keys by which you log in over SSH",
		Text: `Manages the public keys of your account on the service. With one of them sftp, scp and
sshfs log in without a password.`,
		Subs: []*cli.Command{keyAdd(a), keyLs(a), keyRm(a)},
	})
}

// withKeys calls do with the current datacenter's service.
func withKeys(ctx context.Context, a *app.App, do func(c *client.Client) error) error {
	conn, err := a.Remotes.Service(ctx, "key")
	if err != nil {
		return err
	}
	err = do(conn.Client)
	if errors.Is(err, pfs.Unsupported) {
		err = pfs.Errorf("paddlectl.key", "", pfs.Unsupported, "the service keeps no public keys: it is older than this program")
	}
	return err
}

func keyAdd(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "add", Args: "FILE.pub", Least: 1, Most: 1,
		Summary: "add a public key",
		Text: `Adds the public key in FILE.pub, a line as ssh-keygen makes it; "-" is standard input.
Options before the key are refused.`,
		Examples: []string{"paddlectl key add ~/.ssh/id_ed25519.pub"},
		Exits:    app.RemoteExits(cliio.Exists),
		Run: func(ctx context.Context, operands []string) error {
			line, err := readKey(a, operands[0])
			if err != nil {
				return err
			}
			return withKeys(ctx, a, func(c *client.Client) error {
				k, err := c.AddKey(ctx, line)
				if err == nil {
					a.Printf("added %s %s\n", k.Fingerprint, a.Name(k.Comment))
				}
				return err
			})
		},
	})
}

// maxKeyFile bounds a file with a public key, in bytes.
const maxKeyFile = 16 << 10

func readKey(a *app.App, name string) (string, error) {
	var b []byte
	var err error
	if name == "-" {
		b, err = io.ReadAll(io.LimitReader(a.Main.Stdin, maxKeyFile))
	} else {
		var f *os.File
		if f, err = os.Open(name); err == nil {
			defer f.Close()
			b, err = io.ReadAll(io.LimitReader(f, maxKeyFile))
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", pfs.Errorf("paddlectl.key", "", pfs.NotExist, "there is no file %s: ssh-keygen -t ed25519 makes a key", name)
	}
	if strings.Contains(string(b), "PRIVATE KEY") {
		return "", cliargs.Usagef("%s is a private key, which stays on your machine: give the file that ends with .pub", name)
	}
	return string(b), err
}

func keyLs(a *app.App) *cli.Command {
	var json bool
	return a.NewCommand(app.Spec{
		Name:     "ls",
		Summary:  "list your public keys",
		Text:     "Lists the public keys of your account: fingerprint, type and comment.",
		Examples: []string{"paddlectl key ls"},
		Exits:    app.RemoteExits(),
		Flags:    []cli.Flag{app.JSONFlag(&json)},
		Run: func(ctx context.Context, _ []string) error {
			return withKeys(ctx, a, func(c *client.Client) error {
				keys, err := c.Keys(ctx)
				if err != nil {
					return err
				}
				for _, k := range keys {
					if !json {
						a.Printf("%s %s %s\n", k.Fingerprint, k.Type, a.Name(k.Comment))
					} else if err := a.JSON(k); err != nil {
						return err
					}
				}
				return nil
			})
		},
	})
}

func keyRm(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "rm", Args: "FINGERPRINT", Least: 1, Most: 1,
		Summary:  "remove a public key",
		Text:     "Removes the public key with a fingerprint, as key ls shows it. Connections that were opened with it end.",
		Examples: []string{"paddlectl key rm SHA256:Gv2cHhKZ0Nq5H1c0kqOaT9d1nGJc0r9w1w6qY7b8xZk"},
		Exits:    app.RemoteExits(cliio.NotFound),
		Run: func(ctx context.Context, operands []string) error {
			return withKeys(ctx, a, func(c *client.Client) error { return c.RemoveKey(ctx, operands[0]) })
		},
	})
}
