package pfs

import (
	"fmt"
	"runtime/debug"
)

// PanicError is the cause of an error that Guard made of a panic.
type PanicError struct {
	Value any    // what panic was called with
	Stack []byte // of the goroutine that panicked, for logs
}

// Error tells the value alone: the stack is for logs.
func (e *PanicError) Error() string {
	return fmt.Sprintf("a bug in the program: %v", e.Value)
}

// Guard calls do, and answers Other with a PanicError if it panics. It is for goroutines
// that run a store's code, or a caller's, on behalf of one file: there, nobody else could
// catch what would end the whole program for the sake of that one.
func Guard(op string, name Path, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = E(op, name, Other, &PanicError{p, debug.Stack()})
		}
	}()
	return do()
}
