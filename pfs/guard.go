package pfs

import (
	"context"
	"fmt"
	"runtime/debug"
)

// PanicError is the cause of an error that Guard made from a panic.
type PanicError struct {
	Value any    // what panic was called with
	Stack []byte // of the goroutine that panicked, for logs
}

// Error returns only the value: the stack is for logs.
func (e *PanicError) Error() string {
	return fmt.Sprintf("a bug in the program: %v", e.Value)
}

// Guard calls do. If do panics, Guard answers Other with a PanicError. It is for goroutines that
// run code of a store, or of a caller, for one file: without it a panic would end the program.
func Guard(op string, name Path, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = E(op, name, Other, &PanicError{p, debug.Stack()})
		}
	}()
	return do()
}

// Turns waits for the caller's turn to use a processor. The caller calls end when its
// computation is done.
type Turns func(ctx context.Context) (end func(), err error)

type turnsKey struct{}

// WithTurns returns a context in which InTurn waits for turns.
func WithTurns(ctx context.Context, turns Turns) context.Context {
	return context.WithValue(ctx, turnsKey{}, turns)
}

// InTurn waits for the caller's turn to use a processor and calls do. Without WithTurns it calls
// do at once. Stores and services divide a long computation into short steps, such as the hash
// of one buffer or the Info of some entries of a directory, and run each step with InTurn, so that
// other requests get processors too. Calls must not be nested. The error is that of do, or of
// Kind Canceled.
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
