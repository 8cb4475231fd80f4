// Command pfsd is the pfs service: it serves trees of files to paddlectl and other
// clients over HTTPS, and keeps the accounts of its users. docs/pfsd.md says how
// to run it.
//
// # Files
//
//	main, app, help, completion,     the program and its commands
//	version
//	serve, configfile, mounts,       the options of the service, by flags and from a file
//	datacenter
//	service, run, handlers, listen,  the service: opened, serving, closed
//	limitlistener, announce
//	logging, logbounds,              the log and the audit log, how much they take, and what a terminal shows
//	auditsummary
//	stores, latestore, session       the stores of the datacenters, and one that does not answer at the start
//	apart, clusters                  no store under two names: by their URLs, by what their clusters are called
//	reload, sweep                    at a hangup, and every day
//	check*                           pfsd check: what it tries of the service, and of a store
//	user*, password                  pfsd user: a file for each of its commands
//	cause                            how an error is shown
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// gcPercent is half of Go's default. It saves memory and costs little, since most memory in use
// is buffers, which the collector does not scan.
const gcPercent = 50

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	m := &Main{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Hangups: hangups}
	os.Exit(m.Run(untilSignal(), os.Args))
}

// untilSignal returns a context that is done after SIGINT or SIGTERM. From then on
// these signals end the program at once, as if nobody had ever asked for them.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel()
	}()
	return ctx
}

// hangups returns where hangups are told from now on, instead of ending the
// program.
func hangups() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals
}
