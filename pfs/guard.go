package pfs

import (
	"context"
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

// Turns waits for the caller's turn to use a processor. The caller calls end when it has
// computed.
type Turns func(ctx context.Context) (end func(), err error)

type turnsKey struct{}

// WithTurns returns a context with which long computations take turns.
func WithTurns(ctx context.Context, turns Turns) context.Context {
	return context.WithValue(ctx, turnsKey{}, turns)
}

// InTurn calls do when it is the caller's turn to use a processor: without WithTurns, at
// once. Stores and services put each step of a computation that may take long into it, such
// as the hash of a piece of a file or the description of some names of a directory, so that
// many such computations together leave room for others. Steps are not nested. The error is
// that of do, or of Kind Canceled.
func InTurn(ctx context.Context, do func() error) error {
	if turns, ok := ctx.Value(turnsKey{}).(Turns); ok {
		end, err := turns(ctx)
		if err != nil {
			return err
		}
		defer end()
	}
	return do()
}
