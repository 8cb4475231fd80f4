// Command pfsd is the pfs service: it serves trees of files to paddlectl and other clients over
// HTTPS, and keeps the accounts of its users. See docs/pfsd.md.
//
// # Files
//
//	main, app, help, completion,     the program and its commands
//	version
//	serve, configfile, mounts,       the options of the service, by flags and from a file
//	datacenter
//	service, run, listen,            the service: open, serve, close
//	limitlistener, announce
//	logging, logbounds,              the log and the audit log, their limits, and the summary for a terminal
//	auditsummary
//	stores, latestore                the stores of the datacenters, and those unavailable at the start
//	engines                          the engines of jobs
//	gateways, sftp, webhdfs          the gateways of other protocols
//	keys                             public keys of SSH
//	apart, clusters                  refusal of two names for one store: by URL, by cluster identity
//	reload, sweep                    reloading at SIGHUP; the daily sweep
//	check*                           pfsd check: tests of the service, and of stores
//	user*, password                  pfsd user; add and ls have files of their own
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// gcPercent is half of Go's default. It saves memory at little cost, since most memory in use is
// buffers, which the collector does not scan.
const gcPercent = 50

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	m := &Main{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Hangups: hangups}
	os.Exit(m.Run(untilSignal(), os.Args))
}

// untilSignal returns a context that is done after SIGINT or SIGTERM. A second signal ends the
// program at once.
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

// hangups returns a channel that receives hangups from now on, so that they do not end the program.
func hangups() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals
}
