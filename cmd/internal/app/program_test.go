package app

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	interrupts, code := make(chan os.Signal, 2), make(chan int)
	a := New(&Main{
		Stdout: io.Discard, Stderr: io.Discard, Interrupts: interrupts,
		Exit: func(c int) { code <- c },
	})
	ctx, stop := context.WithCancel(t.Context())
	go a.watch(ctx, stop)
	interrupts <- os.Interrupt
	<-ctx.Done()
	interrupts <- os.Interrupt
	if got := <-code; got != int(cliio.Interrupted) {
		t.Errorf("exit code %d, want 130", got)
	}
}
