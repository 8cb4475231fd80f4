package main

import (
	"errors"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// changeOptions are the flags of commands that change names and attributes on a service.
type changeOptions struct {
	verbose, json bool
}

// verboseFlag is --verbose, which prints what usage says.
func (o *changeOptions) verboseFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: usage, Destination: &o.verbose}
}

// jsonFlag is --json, which prints events, as cp does.
func (o *changeOptions) jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print what was done, and what failed, as JSON, one object a line", Destination: &o.json}
}

// begin has failures told as events, too, if that is asked for.
func (o changeOptions) begin(d *deps) { d.failedEvents = o.json }

// done tells that something was done: e with --json, text with --verbose.
func (o changeOptions) done(d *deps, e eventJSON, text string) {
	switch {
	case o.json:
		d.out.JSON(e) // an error shows when Out is flushed
	case o.verbose:
		d.out.Printf("%s\n", d.out.Name(text))
	}
}

// failedEvent is err as an event.
func failedEvent(err error) eventJSON {
	j := eventJSON{Event: "failed", Error: err.Error(), Code: int(cliio.CodeOf(err))}
	var e *pfs.Error
	if errors.As(err, &e) {
		j.Path = localText(e.Path)
	}
	return j
}
