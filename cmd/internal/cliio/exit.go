// Package cliio is the output of the commands: exit codes, results and messages, sizes, and the
// progress bar. Results go to standard output, everything else to standard error.
package cliio

import (
	"errors"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
)

// Code is the exit code of a program. Scripts rely on the numbers.
type Code int

// The codes.
const (
	Done        Code = 0
	Failed      Code = 1
	Usage       Code = 2
	NotFound    Code = 3
	Denied      Code = 4
	Exists      Code = 5
	Unavailable Code = 6
	Integrity   Code = 7
	Partly      Code = 8
	Interrupted Code = 130
)

// Codes lists all codes in the order of their numbers.
func Codes() []Code {
	return []Code{Done, Failed, Usage, NotFound, Denied, Exists, Unavailable, Integrity, Partly, Interrupted}
}

// String describes the code in a few words.
func (c Code) String() string {
	switch c {
	case Done:
		return "done"
	case Usage:
		return "wrong usage, configuration or path"
	case NotFound:
		return "not found"
	case Denied:
		return "denied, or not logged in"
	case Exists:
		return "exists, or conflicts with what is there"
	case Unavailable:
		return "unavailable: try again"
	case Integrity:
		return "integrity: bytes differ or are damaged"
	case Partly:
		return "partly done: each failure was named"
	case Interrupted:
		return "interrupted"
	}
	return "failed for another reason"
}

// codeOf maps every Kind to a code.
var codeOf = map[pfs.Kind]Code{
	pfs.Other:           Failed,
	pfs.Invalid:         Usage,
	pfs.NotExist:        NotFound,
	pfs.Exist:           Exists,
	pfs.Permission:      Denied,
	pfs.Unauthenticated: Denied,
	pfs.IsDir:           Exists,
	pfs.NotDir:          Exists,
	pfs.NotEmpty:        Exists,
	pfs.Symlink:         Failed,
	pfs.CrossStore:      Failed,
	pfs.Unsupported:     Failed,
	pfs.ReadOnly:        Denied,
	pfs.NoSpace:         Failed,
	pfs.Quota:           Failed,
	pfs.Conflict:        Exists,
	pfs.Unavailable:     Unavailable,
	pfs.Limit:           Unavailable,
	pfs.Integrity:       Integrity,
	pfs.Canceled:        Interrupted,
	pfs.Closed:          Failed,
	pfs.Stale:           Failed,
	pfs.NoAttr:          NotFound,
}

// Reported is an error that was already printed; it only carries the exit code.
type Reported Code

func (r Reported) Error() string { return Code(r).String() }

// CodeOf returns the exit code for err.
func CodeOf(err error) Code {
	var reported Reported
	var usage *cliargs.UsageError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &reported):
		return Code(reported)
	case errors.As(err, &usage):
		return Usage
	}
	return codeOf[pfs.KindOf(err)]
}

// Tally collects the results of the operands of one command.
type Tally struct {
	done   int
	codes  map[Code]bool
	report func(error)
}

// NewTally returns an empty Tally that passes every failure to report.
func NewTally(report func(error)) *Tally {
	return &Tally{codes: map[Code]bool{}, report: report}
}

// Add counts one operand, and reports err unless it is nil or was reported.
func (t *Tally) Add(err error) {
	if err == nil {
		t.done++
		return
	}
	t.codes[CodeOf(err)] = true
	if reported := Reported(0); !errors.As(err, &reported) {
		t.report(err)
	}
}

// Err returns nil if everything succeeded, the common code if everything failed in the same way,
// and otherwise Partly.
func (t *Tally) Err() error {
	if len(t.codes) == 0 {
		return nil
	}
	if t.done == 0 && len(t.codes) == 1 {
		for c := range t.codes {
			return Reported(c)
		}
	}
	if t.codes[Interrupted] {
		return Reported(Interrupted)
	}
	return Reported(Partly)
}
