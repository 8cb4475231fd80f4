// Package copying contains what cp, sync, file, mv, verify and dataset publish share: the options of
// a copy, the mapping of operands to targets, the transfer, and its output.
package copying

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// Transferring is a running transfer and its output.
type Transferring struct {
	App   *app.App
	O     *Options
	c     *Copier // nil if no trees are copied
	Job   *transfer.Job
	Start time.Time
	name  atomic.Pointer[string] // the current file

	// Set by events, which arrive one at a time.
	Failed  int    // number of reported failures
	refused int    // of these, files that exist and must not be replaced
	special int    // entries left out although no flag asked for it
	told    string // the last reported failure
}

// Run runs work, shows its progress, reports failures and prints the summary.
func Run(ctx context.Context, a *app.App, o *Options, c *Copier, work func(context.Context, *transfer.Job) error) error {
	t := &Transferring{App: a, O: o, c: c, Start: a.Now()}
	opts := o.Job(a)
	opts.Totals = t.HasBar(c == nil)
	opts.Events = func(e transfer.Event) { t.event(ctx, e) }
	if o.Asking.Interactive {
		opts.Confirm = func(ctx context.Context, target pfs.Path) (bool, error) {
			return o.Asking.May(ctx, a, "replace", target)
		}
	}
	var err error
	if t.Job, err = transfer.New(opts); err != nil {
		return err
	}
	stop := t.ShowBar(c == nil)
	err = work(ctx, t.Job)
	stop()
	return t.end(err)
}

// ShowBar shows the progress bar if there is a terminal for it. streams is true if the copied
// bytes go to standard output, where a bar would disturb them.
func (t *Transferring) ShowBar(streams bool) (stop func()) {
	if !t.HasBar(streams) {
		return func() {}
	}
	return t.App.StartBar(t.progress)
}

// HasBar reports whether there is a progress bar.
func (t *Transferring) HasBar(streams bool) bool {
	return t.App.Terminal(t.App.Main.Stderr) && !t.O.DryRun && !t.O.Quiet && !t.O.Asking.Interactive && !(streams && t.App.OnScreen())
}

func (t *Transferring) progress() cliio.Progress {
	s := t.Job.Stats()
	p := cliio.Progress{
		Done: s.BytesDone, Total: s.Bytes, Moved: moved(s),
		Files: s.FilesDone + s.Skipped, FilesTotal: s.Files, Complete: s.Complete,
	}
	if name := t.name.Load(); name != nil {
		p.Name = *name
	}
	return p
}

// moved returns the bytes moved so far.
func moved(s transfer.Stats) int64 { return s.BytesDone - s.BytesSkipped - s.BytesResumed }

func (t *Transferring) fail(ctx context.Context, err error) {
	if t.c != nil {
		err = t.c.Hint(ctx, err)
	}
	t.Failed++
	if text := err.Error(); text != t.told {
		t.told = text
		t.App.ReportFailure(err)
	}
}

// end prints the totals and returns the error that decides the exit code.
func (t *Transferring) end(err error) error {
	if t.O.JSON {
		t.O.summed = true
		t.App.JSON(t.sums(err))
	}
	var incomplete *transfer.Incomplete
	switch {
	case t.App.Stopped.Load() && err != nil:
		t.sayHowToGoOn()
		return err
	case errors.As(err, &incomplete) && incomplete.Stats.Failed == 0 && t.special == 0:
		err = nil // flags asked for all that was left out
	case errors.As(err, &incomplete):
		if incomplete.NotDeleted {
			t.App.Message("nothing was deleted, because of the failures")
		}
		err = cliio.Reported(incompleteCode(incomplete))
	}
	if err == nil && t.refused > 0 {
		err = cliio.Reported(cliio.Exists)
		if s := t.Job.Stats(); s.FilesDone+s.Skipped > int64(t.refused) {
			err = cliio.Reported(cliio.Partly)
		}
	}
	// A failure that ended everything is reported elsewhere; files copied before it still count.
	if (err == nil || app.IsReported(err) || t.Job.Stats().FilesDone > 0) && !t.O.Quiet {
		t.App.Message("%s", t.summary())
	}
	if err != nil && t.Failed > 0 {
		return cliio.Reported(cliio.CodeOf(err)) // every failure was named
	}
	return err
}

// incompleteCode is Partly. If a single failure prevented everything, or no file was copied for
// lack of space, it is the code of that failure.
func incompleteCode(e *transfer.Incomplete) cliio.Code {
	s := e.Stats
	full := errors.Is(e.First, pfs.Quota) || errors.Is(e.First, pfs.NoSpace)
	if s.FilesDone+s.Skipped == 0 && (full || s.Failed == 1 && s.Dirs == 0) {
		return cliio.CodeOf(e.First)
	}
	return cliio.Partly
}
