package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
)

// listeners tests the addresses of serve. An address in use is fine, because a service may be
// running. Two addresses with one port are an error.
func (k *check) listeners(context.Context, *trial) (says string, err error) {
	type address struct{ flag, at string }
	var tried []address
	var held []net.Listener
	release := func() {
		for _, l := range held {
			closeTried(l)
		}
		held = nil
	}
	defer release()
	var all []string
	for _, a := range []address{{"--listen", k.opts.listen}, {"--metrics-listen", k.opts.metricsListen}, {"--sftp", k.opts.sftp}, {"--webhdfs", k.opts.webhdfs.listen}} {
		if a.at == "" {
			continue
		}
		l, more, err := tryListen(a.flag, a.at)
		if err != nil {
			return "", err
		}
		taken := l == nil
		if taken {
			release()
			l, _, _ = tryListen(a.flag, a.at)
		}
		for _, before := range tried {
			if taken && (before.at == a.at || l != nil && portOf(before.at) == portOf(a.at)) {
				closeTried(l)
				return "", cliargs.Usagef("%s %s and %s %s are one address: choose another port", a.flag, a.at, before.flag, before.at)
			}
		}
		held, tried, all = append(held, l), append(tried, a), append(all, more)
	}
	return strings.Join(all, "; "), nil
}

// portOf returns the port of an address.
func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
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
