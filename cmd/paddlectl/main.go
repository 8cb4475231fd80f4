// Command paddlectl moves files between this machine and the paddle file system.
// It answers to the name paddlecloud, too. docs/cli.md is its manual.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(newMain().Run(context.Background())) }

// newMain is the program as this process runs it.
func newMain() *Main {
	// Two places: the first signal asks the command to stop, the second ends it.
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	return &Main{
		Args:       os.Args,
		Stdin:      os.Stdin,
		Stdout:     os.Stdout,
		Stderr:     os.Stderr,
		Getenv:     os.Getenv,
		Root:       os.DirFS("/"),
		Interrupts: interrupts,
		Exit:       os.Exit,
	}
}
