package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

// listeners tests the addresses of serve. An address in use is fine, because a service may be
// running. Two addresses with one port are an error.
func (k *check) listeners(context.Context, *trial) (says string, err error) {
	const metricsFlag = "--metrics-listen"
	main, says, err := tryListen("--listen", k.opts.listen)
	if err != nil || k.opts.metricsListen == "" {
		closeTried(main)
		return says, err
	}
	metrics, more, err := tryListen(metricsFlag, k.opts.metricsListen)
	closeTried(main)
	closeTried(metrics)
	if err != nil {
		return "", err
	}
	same := main == nil && k.opts.listen == k.opts.metricsListen
	if main != nil && metrics == nil {
		again, _, _ := tryListen(metricsFlag, k.opts.metricsListen)
		closeTried(again)
		same = again != nil
	}
	if same {
		return "", cliargs.Usagef("%s %s and --listen %s are one address: choose another port", metricsFlag, k.opts.metricsListen, k.opts.listen)
	}
	return says + "; " + more, nil
}

// tryListen opens an address. It returns no listener for an address in use.
func tryListen(flag, address string) (l net.Listener, says string, err error) {
	l, err = cliio.Listen(flag, address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, address + " is taken: by a service that runs, if all is well", nil
	case err != nil:
		return nil, "", err
	}
	return l, fmt.Sprintf("%s is free", address), nil
}

// closeTried closes a listener of tryListen.
func closeTried(l net.Listener) {
	if l != nil {
		_ = l.Close()
	}
}

// audit tests the file of the audit log without making it.
func (k *check) audit(context.Context, *trial) (says string, err error) {
	file := k.opts.auditLog
	if file == "" {
		return "in the log", nil
	}
	if file == standardOutput {
		return "on standard output", nil
	}
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return file + ": not there yet: serve makes it", canMakeIn(filepath.Dir(file))
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return "", auditError(err)
	}
	return file + " can be written", f.Close()
}

// canMakeIn makes a file in dir and removes it.
func canMakeIn(dir string) error {
	f, err := os.CreateTemp(dir, "pfsd-check-")
	if err != nil {
		return auditError(err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func auditError(err error) error {
	return pfs.Errorf("pfsd.check", "", pfs.KindOf(err), "--audit-log: %w", err)
}
