package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/urfave/cli/v2"
)

func (m *Main) checkCommand() *cli.Command {
	o := &serveOptions{}
	return &cli.Command{
		Name:  "check",
		Usage: "test the configuration and every store",
		Description: "Tests what serve would use with the same options: the accounts, the certificate, the\n" +
			"listen addresses, the audit log and each store. In each store it writes a small file,\n" +
			"reads it back and removes it; it changes nothing else. A service may run meanwhile.\n\n" +
			"The exit code is 0 if nothing is wrong, and 8 if something is.",
		Flags: append(serveFlags(o),
			&cli.GenericFlag{Name: "timeout", Value: &cliio.DurationFlag{Duration: 30 * time.Second}, Usage: "give up on a store after `TIME`"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object per line"},
		),
		Action: func(c *cli.Context) error {
			if err := o.read(c); err != nil {
				return err
			}
			k := &check{m: m, opts: *o, clusters: newClusters(o.datacenters), timeout: c.Duration("timeout"), json: c.Bool("json")}
			if k.timeout <= 0 {
				return cliargs.Usagef("--timeout must be more than 0")
			}
			return k.run(c.Context)
		},
	}
}

// check is one run of the command.
type check struct {
	m        *Main
	opts     serveOptions
	clusters *clusters
	timeout  time.Duration
	json     bool
}

// finding is the result of one test, as --json shows it.
type finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Says  string `json:"says"`

	err error
}

// run starts all tests at the same time, and reports the results in order.
func (k *check) run(ctx context.Context) error {
	findings := []<-chan finding{
		k.try(ctx, "accounts", k.accounts),
		k.try(ctx, "certificate", k.certificate),
		k.try(ctx, "addresses", k.listeners),
		k.try(ctx, "audit log", k.audit),
	}
	for _, dc := range k.opts.datacenters {
		findings = append(findings, k.try(ctx, "datacenter "+dc.name, func(ctx context.Context, t *trial) (string, error) {
			return k.datacenter(ctx, t, dc)
		}))
	}
	tally := cliio.NewTally(func(error) {}) // the results are already reported
	for _, c := range findings {
		f := <-c
		tally.Add(f.err)
		k.print(f)
	}
	return tally.Err()
}

// try starts a probe. It abandons a probe that is late: some calls cannot be ended.
func (k *check) try(ctx context.Context, what string, probe func(context.Context, *trial) (string, error)) <-chan finding {
	t := &trial{}
	ended, result := make(chan finding, 1), make(chan finding, 1)
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	go func() {
		var f finding
		f.err = pfs.Guard("pfsd.check", "", func() (err error) {
			f.Says, err = probe(ctx, t)
			return err
		})
		ended <- f
	}()
	go func() {
		defer cancel()
		var f finding
		select {
		case f = <-ended:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			f.err = t.late(ctx, k.timeout)
		}
		if f.Check, f.OK = what, f.err == nil; !f.OK {
			f.Says = fmt.Sprint(cause(f.err))
		}
		result <- f
	}()
	return result
}

func (k *check) print(f finding) {
	if k.json {
		_ = k.m.printer.JSON(f) // an error appears when the output is flushed
		return
	}
	result := "ok"
	if !f.OK {
		result = "FAILED"
	}
	k.m.printer.Printf("%-7s %s: %s\n", result, f.Check, cliio.Escape(f.Says))
}

// accounts reads the accounts.
func (k *check) accounts(context.Context, *trial) (string, error) {
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
func (k *check) certificate(context.Context, *trial) (string, error) {
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

// patience is the fraction of a probe's time that one call may take: a store whose calls end
// themselves reports more than a timeout.
const patience = 3

// datacenter opens and tests the store. Its result begins with the store's URL.
func (k *check) datacenter(ctx context.Context, t *trial, dc datacenter) (says string, err error) {
	if dc.own != "" {
		if there, err := isDir(dc.own); !there {
			return fmt.Sprintf("%s: not there yet: serve makes it", dc.store.URL), err
		}
	}
	var warnings warnings
	t.doing("opening " + dc.store.URL)
	store, err := backends.Open(ctx, dc.store, backends.Caller{Logger: slog.New(&warnings), Timeout: k.timeout / patience})
	if err == nil {
		t.doing("comparing it with the stores of other datacenters")
		if err = k.clusters.admit(ctx, dc, store.FileSystem); err == nil {
			says, err = t.probe(ctx, dc, store.FileSystem)
		}
		removeStage(ctx, store.FileSystem)
		t.doing("closing " + dc.store.URL)
		if cerr := store.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		return "", pfs.Errorf("pfsd.check", "", pfs.KindOf(err), "%s: %w", dc.store.URL, cause(err))
	}
	return warnings.addTo(dc.store.URL + ": " + says)
}
