// Package app contains what the commands of paddlectl and pfs-agent share: the program and its exit code, the
// description of a command (Spec), operands and patterns, the services and local files that they
// name, common flags, and hints about errors.
//
// # Files
//
//	program, command, commonflags    the program, descriptions of commands, common flags
//	about                            commands about the program: help, version, completion
//	operand, pattern, target         operands, the matches of patterns, the paths that operands name
//	remotes, localside               the services, the local file systems
//	hint, waiting, downdatacenters   hints about errors, messages about retries, datacenters that are down
//	changetell, describe             output of commands that change something; formats of entries
//	question, meter                  questions of -i and login; the progress bar
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/internal/config"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/urfave/cli/v2"
)

// Main is the environment of one run of the program.
type Main struct {
	Name           string   // of the program; empty means paddlectl or paddlecloud, as Args[0] says
	Args           []string // Args[0] is the name of the program
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Root           fs.FS // the machine's "/", where a job describes its processes; may be nil

	// Interrupts receives signals. The first asks the command to stop at a point from which it
	// can resume, the second calls Exit at once.
	Interrupts <-chan os.Signal
	Exit       func(code int)

	Version string                // of this program
	Program func(a *App) *cli.App // its commands and flags

	// Lease is how long a run of dataset convert may show no sign of life before another run
	// considers it dead; 0 is the default.
	Lease time.Duration

	// Patience is how long a command retries after temporary failures; 0 is the default.
	Patience time.Duration

	// Open, if not nil, opens the tree of an entry instead of a client. Tests set it.
	Open func(config.Entry) (pfs.FileSystem, error)
}

// NewMain returns the program as this process runs it. name and version are Main.Name and Main.Version.
func NewMain(name, version string, commands func(*App) *cli.App) *Main {
	// The capacity is two: the first signal asks the command to stop, the second ends it.
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	return &Main{
		Name:       name,
		Args:       os.Args,
		Stdin:      os.Stdin,
		Stdout:     os.Stdout,
		Stderr:     os.Stderr,
		Getenv:     os.Getenv,
		Root:       os.DirFS("/"),
		Interrupts: interrupts,
		Exit:       os.Exit,
		Version:    version,
		Program:    commands,
	}
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

// App is the state that the commands of one run share. The methods of its Printer print results,
// messages and JSON.
type App struct {
	Main *Main
	*cliio.Printer
	Paddlectl string // the name of paddlectl in hints
	stdout    *switchWriter
	Stderr    *switchWriter
	Remotes   *remotes // the services
	Local     LocalSide
	Waiting   waiting // reports retries
	Now       func() time.Time
	Sender    string // see client.Options

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

// ProgramFlags returns the flags of the program itself.
func (a *App) ProgramFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "config", Usage: "read the configuration from `FILE`, not from PADDLE_CONFIG or ~/.paddle/config", Destination: &a.Global.Config},
		&cli.BoolFlag{Name: "debug", Usage: "show retries and their reasons on standard error", Destination: &a.Global.Debug},
	}
}

// New returns the App of a run.
func New(m *Main) *App {
	paddlectl := "paddlectl"
	if len(m.Args) > 0 && strings.TrimSuffix(filepath.Base(m.Args[0]), ".exe") == "paddlecloud" {
		paddlectl = "paddlecloud"
	}
	a := &App{Main: m, Paddlectl: paddlectl, Now: time.Now, stdout: &switchWriter{w: m.Stdout}, Stderr: &switchWriter{w: m.Stderr}}
	a.Waiting.a = a
	a.Printer = &cliio.Printer{
		Program: cmp.Or(m.Name, paddlectl),
		Out:     cliio.NewOutput(a.stdout),
		Err:     a.Stderr,
		Plain:   !cliio.IsTerminal(m.Stdout),
	}
	a.Remotes = newRemotes(a)
	return a
}

// watch cancels ctx at the first signal and ends the program at the second.
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

// finish flushes the output and returns the exit code for err.
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

// IsReported reports whether err was already printed.
func IsReported(err error) bool {
	var r cliio.Reported
	return errors.As(err, &r)
}

// report prints an error and its hint, if there is one.
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

// asTyped returns the text of err, in which a local file is named as the user typed it.
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

// Hint prints a hint about the previous message, once in a run.
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

// Terminal reports whether w, standard output or error, is a terminal with a movable cursor.
func (a *App) Terminal(w io.Writer) bool {
	return cliio.IsTerminal(w) && a.Main.Getenv("TERM") != "dumb"
}
