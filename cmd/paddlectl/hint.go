package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/paddlecloud/pfs/pfs/transfer"
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
		return d.quotaLine(err)
	case pfs.NoSpace:
		return d.out.Program + " df shows the space on each datacenter"
	case pfs.Unavailable, pfs.Limit:
		return d.unavailableHint(err)
	case pfs.Conflict:
		return "look again, then repeat the command"
	}
	return ""
}

// quotaLine is the command that shows the quota which err says is used up: stores
// name the directory that has it.
func (d *deps) quotaLine(err error) string {
	line := d.out.Program + " quota"
	var e *pfs.Error
	if errors.As(err, &e) && e.Path.Within(top) {
		line += " " + shellWord(string(e.Path))
	}
	return line + " shows what is used and allowed"
}

// unavailableHint asks for the service where nobody answered at all.
func (d *deps) unavailableHint(err error) string {
	const later = "try again in a moment; transfers go on where they were"
	var name *net.DNSError
	if errors.As(err, &name) && name.IsNotFound {
		return fmt.Sprintf("is the name right? %s config view shows what is configured", d.out.Program)
	}
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" || dial.Addr == nil {
		return later
	}
	if host, _, err := net.SplitHostPort(dial.Addr.String()); err == nil && cliio.IsLoopback(host) {
		return fmt.Sprintf("is pfsd running at %s? pfsd serve --data DIR starts one", dial.Addr)
	}
	return fmt.Sprintf("is pfsd running at %s? %s", dial.Addr, later)
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

// parentHint adds the way out to an error that says that something above at is
// missing, unless that is its datacenter, which nobody can make.
func parentHint(ctx context.Context, err error, at transfer.End, way string) error {
	var e *pfs.Error
	if !errors.As(err, &e) || e.Kind != pfs.NotExist || e.Path == "" || !at.Path.Within(e.Path) {
		return err
	}
	if dc := datacenter(at.Path); at.Path.Within(top) && dc != "" {
		if exists, serr := pfs.Exists(ctx, at.FS, top.Join(dc)); serr != nil || !exists {
			return err
		}
	}
	return hinted{err, way}
}
