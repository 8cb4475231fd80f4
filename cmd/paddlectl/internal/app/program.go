// Package app is what the commands of paddlectl share: the program and its exit code, how a
// command describes itself (Spec), operands and the patterns in them, the services and the files
// of this machine that they name, flags of one meaning, and what is said about errors.
//
// # Files
//
//	program, command, commonflags   the program, what a command says of itself, flags of several commands
//	operand, pattern, target        operands, what patterns match, the paths that operands name
//	remotes, localside              the services, and the files of this machine
//	hint, waiting, silence          the way out of an error, what is waited for, stores that do not answer
//	changetell, describe            what commands that change something print; how entries are shown
//	question, meter                 what -i and login ask; the progress bar
package app

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
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/urfave/cli/v2"
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

	Version string                // of this program
	Program func(a *App) *cli.App // its commands and flags

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
	a := New(m)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go a.watch(ctx, stop)
	ctx = retry.With(ctx, a.budget())
	err := cliargs.Run(ctx, a.Main.Program(a), append([]string{a.Program}, m.Args[min(1, len(m.Args)):]...))
	a.Remotes.close()
	return int(a.finish(err))
}

// App is one run of the program: what its commands share. It prints results, messages and JSON
// with the methods of Printer.
type App struct {
	Main *Main
	*cliio.Printer
	stdout  *switchWriter
	Stderr  *switchWriter
	Remotes *remotes // the services
	Local   LocalSide
	Waiting waiting // tells of retries
	Now     func() time.Time

	Global  globalOptions
	Stopped atomic.Bool // by a signal
	hinted  sync.Map    // hints already printed

	questions sync.Mutex // held while a question is open
	Told      bool       // the message about the interrupt was printed

	failedEvents bool // failures are also printed as events on standard output
}

// globalOptions are the flags of the program itself.
type globalOptions struct {
	Config string
	Debug  bool
}

// New returns the App of a run.
func New(m *Main) *App {
	name := "paddlectl"
	if len(m.Args) > 0 && strings.TrimSuffix(filepath.Base(m.Args[0]), ".exe") == "paddlecloud" {
		name = "paddlecloud"
	}
	a := &App{Main: m, Now: time.Now, stdout: &switchWriter{w: m.Stdout}, Stderr: &switchWriter{w: m.Stderr}}
	a.Waiting.a = a
	a.Printer = &cliio.Printer{
		Program: name,
		Out:     cliio.NewOutput(a.stdout),
		Err:     a.Stderr,
		Plain:   !cliio.IsTerminal(m.Stdout),
	}
	a.Remotes = newRemotes(a)
	return a
}

// watch turns the first signal into the end of ctx and the second into that of
// the program.
func (a *App) watch(ctx context.Context, stop func()) {
	select {
	case <-a.Main.Interrupts:
		a.Stopped.Store(true)
		stop()
	case <-ctx.Done():
		return
	}
	<-a.Main.Interrupts
	a.Main.Exit(int(cliio.Interrupted))
}

// finish writes what is left to write and returns the exit code for err.
func (a *App) finish(err error) cliio.Code {
	code := cliio.CodeOf(err)
	if a.Stopped.Load() && err != nil {
		code, err = cliio.Interrupted, nil
		if !a.Told {
			a.Message("interrupted")
		}
	}
	if err != nil && !IsReported(err) {
		a.report(err)
	}
	if err := a.Out.Flush(); err != nil {
		a.Message("standard output: %v", err)
		if code == cliio.Done {
			code = cliio.Failed
		}
	}
	return code
}

// IsReported reports whether the user has been told of err.
func IsReported(err error) bool {
	var r cliio.Reported
	return errors.As(err, &r)
}

// report writes an error and, where there is one, the way out.
func (a *App) report(err error) {
	var usage *cliargs.UsageError
	if errors.As(err, &usage) {
		if a.Command == "" && usage.Command != "" {
			a.Command = strings.TrimPrefix(strings.TrimPrefix(usage.Command, a.Program), " ")
		}
	}
	if a.failedEvents {
		a.JSON(failedEvent(err)) // an error shows when Out is flushed
	}
	a.Message("%s", a.asTyped(err))
	if way := a.WayOut(err); way != "" {
		a.Hint(way)
	} else if usage != nil {
		a.Hint(strings.TrimSpace(a.Program+" "+a.Command) + " --help")
	}
}

// asTyped is the text of err, which names the file of this machine that it is about as
// the user does.
func (a *App) asTyped(err error) string {
	var at pfs.Path
	var e *pfs.Error
	var named errNamed
	switch {
	case errors.As(err, &e):
		at = e.Path
	case errors.As(err, &named):
		at = pfs.Path(filepath.ToSlash(named.name))
	}
	typed, ok := a.Local.asTyped(at)
	if !ok {
		return err.Error()
	}
	return strings.Replace(err.Error(), LocalText(at), typed, 1)
}

// Hint writes what to do about the message before it, once.
func (a *App) Hint(text string) {
	if _, again := a.hinted.LoadOrStore(text, true); !again {
		fmt.Fprintf(a.Stderr, "hint: %s\n", cliio.Escape(text))
	}
}

// ConfigName returns the name of the configuration file.
func (a *App) ConfigName() (string, error) {
	if a.Global.Config != "" {
		return a.Global.Config, nil
	}
	return config.Path(a.Main.Getenv)
}

// Terminal reports whether w, standard output or error, is a terminal that can
// move its cursor.
func (a *App) Terminal(w io.Writer) bool {
	return cliio.IsTerminal(w) && a.Main.Getenv("TERM") != "dumb"
}
