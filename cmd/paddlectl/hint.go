package main

import (
	"errors"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
)

// wayOut says what to do about an error; "" if the error says it or nothing can be
// done.
func (d *deps) wayOut(err error) string {
	var pin *client.PinError
	var usage *cliargs.UsageError
	var h hinted
	switch {
	case errors.As(err, &pin):
		return "" // says it itself
	case errors.As(err, &h):
		return h.way
	case errors.As(err, &usage):
		return ""
	}
	switch pfs.KindOf(err) {
	case pfs.Unauthenticated:
		return d.loginLine(err)
	case pfs.Quota:
		return d.out.Program + " quota shows what is used and allowed"
	case pfs.NoSpace:
		return d.out.Program + " df shows the space on each datacenter"
	case pfs.Unavailable, pfs.Limit:
		return "try again in a moment; transfers go on where they were"
	case pfs.Conflict:
		return "look again, then repeat the command"
	}
	return ""
}

// loginLine is the command that logs in where err says that somebody is not.
func (d *deps) loginLine(err error) string {
	file, cerr := d.remotes.config()
	if cerr != nil || len(file.Entries) == 0 {
		return "" // the message says it already
	}
	e, cerr := file.Current()
	var pe *pfs.Error
	if errors.As(err, &pe) {
		if named, ok := file.Find(datacenter(pe.Path)); ok {
			e, cerr = named, named.Err
		}
	}
	if cerr != nil {
		return d.out.Program + " login --endpoint https://HOST:PORT --username NAME"
	}
	user := e.Username
	if user == "" {
		user = "NAME"
	}
	return fmt.Sprintf("%s login --endpoint %s --username %s --datacenter %s",
		d.out.Program, shellWord(e.Endpoint), shellWord(user), shellWord(e.Name))
}

// hinted is an error with a way out that only the command knew.
type hinted struct {
	error
	way string
}

func (h hinted) Unwrap() error { return h.error }

// parentHint adds the way out to an error that says that something above name is
// missing.
func parentHint(err error, name pfs.Path, way string) error {
	var e *pfs.Error
	if errors.As(err, &e) && e.Kind == pfs.NotExist && e.Path != "" && name.Within(e.Path) {
		return hinted{err, way}
	}
	return err
}
