package config

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/urfave/cli/v2"
)

type loginOptions struct {
	endpoint, username, datacenter, fingerprint string
	passwordStdin, insecure                     bool
}

// Login returns the command login.
func Login(a *app.App) *cli.Command {
	var o loginOptions
	return a.NewCommand(app.Spec{
		Name:    "login",
		Summary: "log in to a service and remember it",
		Text: `Logs in, keeps the tokens (not the password) in the directory "tokens" beside the
configuration, and makes the service the current datacenter of the configuration.
Without --datacenter the entry has the name of the service's current datacenter.
Without --endpoint, login uses the current entry.

A certificate that the system trusts is accepted. Any other must match --fingerprint or
the fingerprint of the entry, or be confirmed at the terminal. A service on this machine
(loopback) is trusted at first use. If a certificate differs from the known one, login
refuses it and shows both fingerprints.`,
		Examples: []string{
			"paddlectl login --endpoint https://cloud.example.org:8443 --username alice@example.org",
			"paddlectl login --endpoint https://10.0.0.7:8443 --username alice --password-stdin --fingerprint 3f9a... < secret",
		},
		Exits: app.RemoteExits(cliio.Exists),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "endpoint", Usage: "`URL` of the service: https://HOST:PORT", Destination: &o.endpoint},
			&cli.StringFlag{Name: "username", Usage: "`NAME` of the account", Destination: &o.username},
			&cli.BoolFlag{Name: "password-stdin", Usage: "read the password from standard input", Destination: &o.passwordStdin},
			&cli.StringFlag{Name: "datacenter", Usage: "`DC` is the name of the entry, and of its paths /pfs/DC", Destination: &o.datacenter},
			&cli.StringFlag{Name: "fingerprint", Usage: "`SHA256` of the certificate, from the administrator", Destination: &o.fingerprint},
			&cli.BoolFlag{Name: "insecure", Usage: "accept http:// beyond this machine: anybody in between can read all", Destination: &o.insecure},
		},
		Run: func(ctx context.Context, _ []string) error { return runLogin(ctx, a, o) },
	})
}

func runLogin(ctx context.Context, a *app.App, o loginOptions) error {
	file, err := a.Remotes.Config()
	if err != nil {
		return err
	}
	e, err := o.entry(file)
	if err != nil {
		return err
	}
	if err := app.CheckPlain(e); err != nil {
		return err
	}
	if e.Username == "" {
		if e.Username, err = ask(ctx, a, "User name: "); err != nil {
			return err
		}
	}
	if e.Fingerprint, err = trust(ctx, a, e.Endpoint, e.Fingerprint, o.fingerprint); err != nil {
		return a.LoginHint(err, e)
	}
	c, err := a.Client(e, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	info, err := c.Service(ctx)
	if err != nil {
		return a.LoginHint(err, e)
	}
	if e.Name == "" {
		e.Name = info.Current
	}
	if err := o.checkName(file, e); err != nil {
		return err
	}
	password, err := o.password(ctx, a, e)
	if err != nil {
		return err
	}
	tokens, err := c.Login(ctx, e.Username, password)
	if err != nil {
		return a.LoginHint(err, e)
	}
	if err := keepLogin(ctx, a, e, c, tokens); err != nil {
		return err
	}
	if e.Password != "" && e.Password != password {
		a.Message("the configuration still contains another password for %q", e.Name)
	}
	a.Printf("logged in to %s as %s; %s is the current datacenter\n", a.Name(e.Endpoint), a.Name(e.Username), a.Name(e.Name))
	return nil
}

// entry returns the entry to log in to, from the file and the flags. Its name is empty if the
// service chooses it.
func (o loginOptions) entry(file *config.File) (e config.Entry, err error) {
	switch old, ok := file.Find(o.datacenter); {
	case o.datacenter != "" && ok:
		e = old
	case o.datacenter != "" && o.endpoint == "":
		return e, cliargs.Usagef("there is no datacenter %q yet: --endpoint URL is needed", o.datacenter)
	case o.datacenter != "":
		e.Name = o.datacenter
	case o.endpoint == "":
		if e, err = file.Current(); err != nil {
			return e, err
		}
	}
	if o.endpoint != "" {
		endpoint, err := config.ParseEndpoint(o.endpoint)
		if err != nil {
			return e, cliargs.Usagef("--endpoint: %v", err)
		}
		if endpoint != e.Endpoint {
			e = config.Entry{Name: e.Name, Endpoint: endpoint} // all else belongs to another service
		}
	}
	if e.Err != nil && o.endpoint == "" {
		return e, e.Err
	}
	if o.username != "" && o.username != e.Username {
		e.Username, e.Password = o.username, ""
	}
	e.Insecure = e.Insecure || o.insecure
	return e, nil
}

// checkName refuses to replace the entry of another service.
func (o loginOptions) checkName(file *config.File, e config.Entry) error {
	old, ok := file.Find(e.Name)
	if !ok || o.datacenter != "" || old.Endpoint == e.Endpoint {
		return nil
	}
	return fmt.Errorf("%w: %s calls itself %q, and the configuration has another datacenter of that name: --datacenter DC gives this one a name of your choice",
		pfs.Exist, e.Endpoint, e.Name)
}

// password gets the password: from standard input, the terminal, or the entry.
func (o loginOptions) password(ctx context.Context, a *app.App, e config.Entry) (string, error) {
	switch {
	case o.passwordStdin:
		return app.ReadLine(a.Main.Stdin)
	case e.Password != "":
		return e.Password, nil
	}
	return a.AskPassword(ctx, fmt.Sprintf("Password of %s at %s: ", e.Username, e.Endpoint))
}

// keepLogin stores the tokens and writes the entry into the configuration.
func keepLogin(ctx context.Context, a *app.App, e config.Entry, c *client.Client, tokens client.Tokens) error {
	name, err := a.ConfigName()
	if err != nil {
		return err
	}
	if err := editConfig(a, func(f *config.File) error {
		if err := f.Put(e); err != nil {
			return err
		}
		return f.SetCurrent(e.Name)
	}); err != nil {
		return err
	}
	return config.NewSession(name, e, c).Keep(ctx, tokens)
}

// trust returns the fingerprint to pin for the service at endpoint, or "" if the system trusts its
// certificate. known is the pinned fingerprint, given that of the user.
func trust(ctx context.Context, a *app.App, endpoint, known, given string) (string, error) {
	if given != "" {
		parsed, err := client.ParseFingerprint(given)
		if err != nil {
			return "", cliargs.Usagef("--fingerprint: %v", errors.Unwrap(err))
		}
		known = parsed
	}
	shown, trusted, err := client.Fingerprint(ctx, endpoint)
	switch {
	case err != nil:
		return "", err
	case known != "" && shown != known:
		return "", fmt.Errorf("%w: %w", pfs.Permission, &client.PinError{Pinned: known, Shown: shown})
	case known != "" || trusted || shown == "":
		return known, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || cliio.IsLoopback(u.Hostname()) {
		return shown, err
	}
	return shown, confirm(ctx, a, endpoint, shown)
}

// confirm asks the user whether a certificate is the right one.
func confirm(ctx context.Context, a *app.App, endpoint, fingerprint string) error {
	unknown := fmt.Errorf("%w: the certificate of %s is not known: its fingerprint is %s",
		pfs.Permission, endpoint, fingerprint)
	if !cliio.IsTerminal(a.Main.Stdin) {
		return app.WithHint(unknown, "if the administrator of the service confirms it: --fingerprint "+fingerprint)
	}
	fmt.Fprintf(a.Stderr, "The certificate of %s is not known. Its SHA-256 fingerprint is\n  %s\n", endpoint, fingerprint)
	answer, err := ask(ctx, a, "Is that what the administrator of the service says? (y/N) ")
	if err != nil {
		return err
	}
	if answer != "y" && answer != "Y" && answer != "yes" {
		return unknown
	}
	return nil
}

// ask asks for a line at the terminal.
func ask(ctx context.Context, a *app.App, question string) (string, error) {
	if !cliio.IsTerminal(a.Main.Stdin) {
		return "", cliargs.Usagef("--username NAME is needed where there is no terminal to ask at")
	}
	return a.Answer(ctx, question)
}

// Logout returns the command logout.
func Logout(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "logout", Args: "[DC...]", Most: -1,
		Summary: "end a login and forget its tokens",
		Text: `Revokes the login at the service and removes its tokens from this machine. Without DC it
logs out of the current datacenter. The entry stays in the configuration. Commands that
run elsewhere with the same login may continue for a few minutes.`,
		Examples: []string{"paddlectl logout"},
		Exits:    app.RemoteExits(cliio.NotFound, cliio.Partly),
		Run:      func(ctx context.Context, operands []string) error { return runLogout(ctx, a, operands) },
	})
}

func runLogout(ctx context.Context, a *app.App, names []string) error {
	file, err := a.Remotes.Config()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		e, err := file.Current()
		if err != nil {
			return err
		}
		return logout(ctx, a, file, e)
	}
	tally := cliio.NewTally(a.ReportFailure)
	for _, name := range names {
		e, err := file.Get(name)
		if err == nil {
			err = logout(ctx, a, file, e)
		}
		tally.Add(err)
	}
	return tally.Err()
}

func logout(ctx context.Context, a *app.App, file *config.File, e config.Entry) error {
	if e.Err != nil {
		return e.Err
	}
	c, err := a.Client(e, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	session := config.NewSession(file.Name, e, c)
	tokens, err := session.Stored()
	if err != nil {
		return err
	}
	if err := session.Forget(ctx); err != nil {
		return err
	}
	if e.Password != "" {
		a.Message("the configuration contains a password: the next command logs in again")
	}
	if tokens.Refresh == "" {
		a.Message("was not logged in to %q", e.Name)
		return nil
	}
	if err := app.CheckPlain(e); err != nil {
		return err
	}
	if err := c.Logout(ctx, tokens.Refresh); err != nil {
		return fmt.Errorf("the tokens of %q are removed here, but were not revoked at the service: %w", e.Name, err)
	}
	return nil
}
