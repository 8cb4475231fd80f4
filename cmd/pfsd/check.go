package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/urfave/cli/v2"
)

func (m *Main) checkCommand() *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "try the configuration and every store",
		Description: "Tries what serve would use with the same options: the accounts, the certificate and each\n" +
			"store, in which it writes a small file, reads it back and removes it. It says what is wrong\n" +
			"with each and changes nothing else. A service may run meanwhile.",
		Flags: append(serveFlags(),
			&cli.DurationFlag{Name: "timeout", Value: 30 * time.Second, Usage: "give a store up after `TIME`"},
			&cli.BoolFlag{Name: "json", Usage: "one JSON object a line"},
		),
		Action: func(c *cli.Context) error {
			if _, err := operands(c); err != nil {
				return err
			}
			opts, err := readServeOptions(c)
			if err != nil {
				return err
			}
			k := &check{m: m, opts: opts, timeout: c.Duration("timeout"), json: c.Bool("json")}
			if k.timeout <= 0 {
				return cliargs.Usagef("--timeout must be more than 0")
			}
			return k.run(c.Context)
		},
	}
}

// check is one run of the command.
type check struct {
	m       *Main
	opts    serveOptions
	timeout time.Duration
	json    bool
}

// finding is what came out for one thing, as --json shows it.
type finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Says  string `json:"says"`
}

// run tries everything, whatever fails.
func (k *check) run(ctx context.Context) error {
	tally := cliio.NewTally(func(error) {}) // they are the result
	try := func(what string, probe func(context.Context) (string, error)) {
		says, err := k.probe(ctx, probe)
		tally.Add(err)
		if err != nil {
			says = fmt.Sprint(cause(err))
		}
		k.print(finding{Check: what, OK: err == nil, Says: says})
	}
	try("accounts", k.accounts)
	try("certificate", k.certificate)
	for _, dc := range k.opts.datacenters {
		try("datacenter "+dc.name, func(ctx context.Context) (string, error) { return k.datacenter(ctx, dc) })
	}
	return tally.Err()
}

func (k *check) probe(ctx context.Context, probe func(context.Context) (string, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	return probe(ctx)
}

func (k *check) print(f finding) {
	if k.json {
		_ = k.m.printer.JSON(f) // an error shows when the output is flushed
		return
	}
	result := "ok"
	if !f.OK {
		result = "FAILED"
	}
	k.m.printer.Printf("%-7s %s: %s\n", result, f.Check, cliio.Escape(f.Says))
}

// accounts reads the accounts.
func (k *check) accounts(context.Context) (string, error) {
	there, err := isDir(k.opts.data)
	if err != nil {
		return "", err
	}
	if !there {
		return fmt.Sprintf("there is no %s yet: serve makes it", k.opts.data), nil
	}
	accounts, err := accountsIn(k.opts.data)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d in %s", len(accounts.List()), filepath.Join(k.opts.data, auth.AccountsFile)), nil
}

// certificate reads the certificate.
func (k *check) certificate(context.Context) (string, error) {
	cert, key := k.opts.tlsCert, k.opts.tlsKey
	if k.opts.noTLS {
		return "none: plain HTTP", nil
	}
	if cert == "" {
		cert, key = filepath.Join(k.opts.data, "tls.crt"), filepath.Join(k.opts.data, "tls.key")
		if _, err := os.Stat(cert); errors.Is(err, os.ErrNotExist) {
			return "there is none yet: serve makes one", nil
		}
	}
	c, err := auth.LoadCertificate(cert, key)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, SHA-256 fingerprint %s, until %s", cert, auth.Fingerprint(c.Leaf()), c.Leaf().NotAfter.Format(time.DateOnly)), nil
}

// datacenter opens the store and tries it.
func (k *check) datacenter(ctx context.Context, dc datacenter) (string, error) {
	if dc.own != "" {
		if there, err := isDir(dc.own); !there {
			return fmt.Sprintf("%s: not there yet: serve makes it", dc.shown()), err
		}
	}
	store, err := backends.Open(ctx, dc.store)
	if err != nil {
		return "", err
	}
	says, err := probeStore(ctx, store)
	return dc.shown() + ": " + says, errors.Join(err, store.Close())
}
