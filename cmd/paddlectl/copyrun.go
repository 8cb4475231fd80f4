package main

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// transferring is one transfer and what is shown of it.
type transferring struct {
	d     *deps
	o     *copyOptions
	c     *copier // nil if no trees are copied
	job   *transfer.Job
	start time.Time
	name  atomic.Pointer[string] // what is worked on

	// Of the events, which come one at a time.
	failed  int    // failures that were reported
	refused int    // of them, files that exist and were not to be replaced
	special int    // entries left out that nobody asked to leave out
	told    string // the last failure that was reported
}

// transfer runs work, shows how far it is, reports what fails and sums up.
func (d *deps) transfer(ctx context.Context, o *copyOptions, c *copier, work func(context.Context, *transfer.Job) error) error {
	t := &transferring{d: d, o: o, c: c, start: d.now()}
	opts := o.job(d)
	opts.Totals = t.hasBar(c == nil)
	opts.Events = func(e transfer.Event) { t.event(ctx, e) }
	if o.asking.interactive {
		opts.Confirm = func(ctx context.Context, target pfs.Path) (bool, error) {
			return o.asking.may(ctx, d, "replace", target)
		}
	}
	var err error
	if t.job, err = transfer.New(opts); err != nil {
		return err
	}
	stop := t.showBar(c == nil)
	err = work(ctx, t.job)
	stop()
	return t.end(ctx, err)
}

// showBar shows the progress bar, where there is a terminal for it. streams says that
// what is copied itself goes to standard output: on a terminal a bar would be in its way.
func (t *transferring) showBar(streams bool) (stop func()) {
	if !t.hasBar(streams) {
		return func() {}
	}
	return t.d.startBar(t.progress)
}

// hasBar reports whether there is a progress bar.
func (t *transferring) hasBar(streams bool) bool {
	return t.d.terminal(t.d.main.Stderr) && !t.o.dryRun && !t.o.quiet && !t.o.asking.interactive && !(streams && t.d.onScreen())
}

func (t *transferring) progress() cliio.Progress {
	s := t.job.Stats()
	p := cliio.Progress{
		Done: s.BytesDone, Total: s.Bytes, Moved: moved(s),
		Files: s.FilesDone + s.Skipped, FilesTotal: s.Files, Complete: s.Complete,
	}
	if name := t.name.Load(); name != nil {
		p.Name = *name
	}
	return p
}

// moved returns the bytes that have travelled.
func moved(s transfer.Stats) int64 { return s.BytesDone - s.BytesSkipped - s.BytesResumed }

// localText writes a path as this machine does, unless it is one of the service.
func localText(p pfs.Path) string {
	if runtime.GOOS == "windows" && p != "" && !p.Within("/pfs") {
		return strings.ReplaceAll(string(p), "/", `\`)
	}
	return string(p)
}

func (t *transferring) fail(ctx context.Context, err error) {
	if t.c != nil {
		err = t.c.hint(ctx, err)
	}
	t.failed++
	if text := err.Error(); text != t.told {
		t.told = text
		t.d.reportFailure(err)
	}
}

// end sums up and returns what decides the exit code.
func (t *transferring) end(ctx context.Context, err error) error {
	if t.o.json {
		t.o.summed = true
		t.d.out.JSON(t.sums(err))
	}
	var incomplete *transfer.Incomplete
	switch {
	case t.d.stopped.Load() && err != nil:
		t.sayHowToGoOn()
		return err
	case errors.As(err, &incomplete) && incomplete.Stats.Failed == 0 && t.special == 0:
		err = nil // only what was asked to be left out
	case errors.As(err, &incomplete):
		if incomplete.NotDeleted {
			t.d.out.Message("nothing was deleted, because of the failures")
		}
		err = cliio.Reported(incompleteCode(incomplete))
	}
	if err == nil && t.refused > 0 {
		err = cliio.Reported(cliio.Exists)
		if s := t.job.Stats(); s.FilesDone+s.Skipped > int64(t.refused) {
			err = cliio.Reported(cliio.Partly)
		}
	}
	// What ended all, as a quota does, is told by itself; but what was copied before is there.
	if (err == nil || isReported(err) || t.job.Stats().FilesDone > 0) && !t.o.quiet {
		t.d.out.Message("%s", t.summary())
	}
	if err != nil && t.failed > 0 {
		return cliio.Reported(cliio.CodeOf(err)) // every failure was named
	}
	return err
}

// incompleteCode is Partly; but if nothing was done, because of one failure, or no file was
// copied, for want of room, it is the code of that.
func incompleteCode(e *transfer.Incomplete) cliio.Code {
	s := e.Stats
	full := errors.Is(e.First, pfs.Quota) || errors.Is(e.First, pfs.NoSpace)
	if s.FilesDone+s.Skipped == 0 && (full || s.Failed == 1 && s.Dirs == 0) {
		return cliio.CodeOf(e.First)
	}
	return cliio.Partly
}
