package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/paddlecloud/pfs/pfs"
)

// Main is one run of the program: all that it gets from outside.
type Main struct {
	Args           []string // Args[0] is the name that it was called by
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Root           fs.FS // the machine's "/", where a job says who its processes are; nil: not looked at

	// Interrupts carries signals: the first asks the command to stop where it can
	// go on later, the second calls Exit at once.
	Interrupts <-chan os.Signal
	Exit       func(code int)

	// Lease is for how long a run of dataset convert shows no sign of life that another
	// one takes for dead; 0 is the usual time.
	Lease time.Duration

	// Patience is how long a command retries what fails for the moment; 0 is the usual
	// time.
	Patience time.Duration

	// Open, if not nil, opens the tree of an entry in place of a client. For tests.
	Open func(config.Entry) (pfs.FileSystem, error)
}

// Run runs the command and returns the exit code.
func (m *Main) Run(ctx context.Context) int {
	d := newDeps(m)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go d.watch(ctx, stop)
	err := cliargs.Run(ctx, d.app(), append([]string{d.out.Program}, m.Args[min(1, len(m.Args)):]...))
	d.remotes.close()
	return int(d.finish(err))
}

// deps is what the commands work with.
type deps struct {
	main    *Main
	out     *cliio.Printer
	stdout  *switchWriter
	stderr  *switchWriter
	remotes *remotes
	local   localSide
	waiting waiting
	now     func() time.Time

	global  globalOptions
	stopped atomic.Bool // by a signal
	hinted  sync.Map    // hints that were given

	questions sync.Mutex // one is asked at a time
	told      bool       // that the command was interrupted, and how to go on, was printed

	failedEvents bool // what fails is also an event on standard output
}

// globalOptions are the flags of the program itself.
type globalOptions struct {
	config string
	debug  bool
}

func newDeps(m *Main) *deps {
	name := "paddlectl"
	if len(m.Args) > 0 && strings.TrimSuffix(filepath.Base(m.Args[0]), ".exe") == "paddlecloud" {
		name = "paddlecloud"
	}
	d := &deps{main: m, now: time.Now, stdout: &switchWriter{w: m.Stdout}, stderr: &switchWriter{w: m.Stderr}}
	d.waiting.d = d
	d.out = &cliio.Printer{
		Program: name,
		Out:     cliio.NewOutput(d.stdout),
		Err:     d.stderr,
		Plain:   !cliio.IsTerminal(m.Stdout),
	}
	d.remotes = newRemotes(d)
	return d
}

// watch turns the first signal into the end of ctx and the second into that of
// the program.
func (d *deps) watch(ctx context.Context, stop func()) {
	select {
	case <-d.main.Interrupts:
		d.stopped.Store(true)
		stop()
	case <-ctx.Done():
		return
	}
	<-d.main.Interrupts
	d.main.Exit(int(cliio.Interrupted))
}

// finish writes what is left to write and returns the exit code for err.
func (d *deps) finish(err error) cliio.Code {
	code := cliio.CodeOf(err)
	if d.stopped.Load() && err != nil {
		code, err = cliio.Interrupted, nil
		if !d.told {
			d.out.Message("interrupted")
		}
	}
	if err != nil && !isReported(err) {
		d.report(err)
	}
	if err := d.out.Out.Flush(); err != nil {
		d.out.Message("standard output: %v", err)
		if code == cliio.Done {
			code = cliio.Failed
		}
	}
	return code
}

func isReported(err error) bool {
	var r cliio.Reported
	return errors.As(err, &r)
}

// report writes an error and, where there is one, the way out.
func (d *deps) report(err error) {
	var usage *cliargs.UsageError
	if errors.As(err, &usage) {
		if d.out.Command == "" && usage.Command != "" {
			d.out.Command = strings.TrimPrefix(strings.TrimPrefix(usage.Command, d.out.Program), " ")
		}
	}
	if d.failedEvents {
		d.out.JSON(failedEvent(err)) // an error shows when Out is flushed
	}
	d.out.Message("%s", d.asTyped(err))
	if way := d.wayOut(err); way != "" {
		d.hint(way)
	} else if usage != nil {
		d.hint(strings.TrimSpace(d.out.Program+" "+d.out.Command) + " --help")
	}
}

// asTyped is the text of err, which names the file of this machine that it is about as
// the user does.
func (d *deps) asTyped(err error) string {
	var at pfs.Path
	var e *pfs.Error
	var named errNamed
	switch {
	case errors.As(err, &e):
		at = e.Path
	case errors.As(err, &named):
		at = pfs.Path(filepath.ToSlash(named.name))
	}
	typed, ok := d.local.asTyped(at)
	if !ok {
		return err.Error()
	}
	return strings.Replace(err.Error(), localText(at), typed, 1)
}

// hint writes what to do about the message before it, once.
func (d *deps) hint(text string) {
	if _, again := d.hinted.LoadOrStore(text, true); !again {
		fmt.Fprintf(d.stderr, "hint: %s\n", cliio.Escape(text))
	}
}

// configName returns the name of the configuration file.
func (d *deps) configName() (string, error) {
	if d.global.config != "" {
		return d.global.config, nil
	}
	return config.Path(d.main.Getenv)
}

// terminal reports whether w, standard output or error, is a terminal that can
// move its cursor.
func (d *deps) terminal(w io.Writer) bool {
	return cliio.IsTerminal(w) && d.main.Getenv("TERM") != "dumb"
}
