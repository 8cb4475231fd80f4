// Command paddlectl moves files between this machine and the paddle file system.
// It also answers to the name paddlecloud. docs/quickstart.md introduces it.
//
// # Files
//
// A command is in the file of its name, a command of a group in one that begins with the
// name of the group, and what belongs to one command alone begins with its name:
//
//	cat, chmod*, cp, df*, du, find, head, ls*, mkdir, mv*, rm, stat, sync, tail, touch, tree, verify
//	config*, file, fileget, filels, fileput, filerm, quota*
//	completion, candidates, commands, flags, help, login, logout, version
//	dataset, datasetcat, datasetinfo, datasetlatest, datasettranscode
//	datasetconvert*                  found and checked (inputs, survey, check); run; staged (staging, sink); published
//	datasetpublish*, datasetshard*, datasetsplit, datasetverify
//	recordio, recordio*
//
// What they are made of:
//
//	main, program, app, command,     the program, its list of commands, what a command says of itself
//	commonflags
//	operand, pattern, servicepath,   what the operands are, and the paths that patterns match
//	target, home
//	remotes, localside               the services, and the files of this machine
//	copyoptions, copyplan, copyrun,  cp, sync and file: their options, what becomes what, the transfer,
//	copytell, copytwice              what is told of it, two sources of one name
//	listing, sorter, describe        entries of directories, in order, and how they are shown
//	datafile, datasetopen,           files of data that commands read, and sets of them
//	datasetstated, datasetversions,
//	datasetrecords, dataerror
//	outputs                          files that commands make, which appear together
//	filelines                        the first and last lines of files
//	readahead, readline, stoppable   readers
//	changetell                       what chmod, mkdir, mv, rm and touch tell of what they did
//	question                         what -i and login ask
//	hint, waiting, silence           the way out of an error, what is waited for, stores that do not answer
//	meter, switchwriter, shell       what is shown, and how
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
