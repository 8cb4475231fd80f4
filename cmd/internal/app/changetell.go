package app

import (
	"errors"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// ChangeOptions are the flags of commands that change names and attributes on a service.
type ChangeOptions struct {
	verbose, JSON bool
}

// VerboseFlag returns the flag --verbose with the given usage.
func (o *ChangeOptions) VerboseFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: usage, Destination: &o.verbose}
}

// JSONFlag returns the flag --json, which prints events as cp does.
func (o *ChangeOptions) JSONFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print results and failures as JSON, one object per line", Destination: &o.JSON}
}

// Begin makes a print failures as events too, with --json.
func (o ChangeOptions) Begin(a *App) { a.ReportEvents(o.JSON) }

// ReportEvents sets whether failures are also printed as events on standard output.
func (a *App) ReportEvents(on bool) { a.failedEvents = on }

// Done reports a change: it prints e with --json, text with --verbose.
func (o ChangeOptions) Done(a *App, e EventJSON, text string) {
	switch {
	case o.JSON:
		a.JSON(e) // an error shows when Out is flushed
	case o.verbose:
		a.Printf("%s\n", a.Name(text))
	}
}

// failedEvent returns the event for err.
func failedEvent(err error) EventJSON {
	j := EventJSON{Event: "failed", Error: err.Error(), Code: int(cliio.CodeOf(err))}
	var e *pfs.Error
	if errors.As(err, &e) {
		j.Path = LocalText(e.Path)
	}
	return j
}

// EventJSON is an event as --json prints it.
type EventJSON struct {
	Event   string `json:"event"`
	Path    string `json:"path,omitempty"`
	Target  string `json:"target,omitempty"`
	Mode    string `json:"mode,omitempty"`
	IsDir   bool   `json:"directory,omitempty"`
	Size    *int64 `json:"size,omitempty"`
	Bytes   *int64 `json:"bytes,omitempty"`
	Files   int64  `json:"files,omitempty"`
	Resumed int64  `json:"resumed,omitempty"`
	Digest  string `json:"digest,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Error   string `json:"error,omitempty"`
	Code    int    `json:"code,omitempty"` // exit code for this error alone
}
