package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

// listeners tries the addresses that serve would listen at. One that is taken is well: a
// service may run meanwhile.
func (k *check) listeners(context.Context, *trial) (says string, err error) {
	if says, err = tryListen("--listen", k.opts.listen); err != nil || k.opts.metricsListen == "" {
		return says, err
	}
	more, err := tryListen("--metrics-listen", k.opts.metricsListen)
	return says + "; " + more, err
}

// tryListen opens an address for a moment.
func tryListen(flag, address string) (says string, err error) {
	l, err := listen(flag, address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return address + " is taken: by a service that runs, if all is well", nil
	case err != nil:
		return "", err
	}
	return fmt.Sprintf("%s is free", address), l.Close()
}

// audit tries the file of the audit log, and makes none.
func (k *check) audit(context.Context, *trial) (says string, err error) {
	file := k.opts.auditLog
	if file == "" {
		return "in the log", nil
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
