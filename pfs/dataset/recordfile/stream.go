package recordfile

import (
	"bufio"
	"context"
	"io"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// inputBuffer is how much of a stream is read at once.
const inputBuffer = 256 << 10

// lazyReader calls start before the first Read.
type lazyReader struct {
	io.Reader
	start func()
}

func (r lazyReader) Read(p []byte) (int, error) {
	r.start()
	return r.Reader.Read(p)
}

// stoppable returns a reader of r that fails when ctx is done or stop is called, although a Read
// of r, such as one from a terminal or a pipe, may never return. It reads nothing from r before
// its own first Read.
func stoppable(ctx context.Context, r io.Reader) (_ io.Reader, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	pr, pw := io.Pipe()
	context.AfterFunc(ctx, func() { pw.CloseWithError(pfs.CheckContext(ctx, "recordfile.Read", "")) })
	start := sync.OnceFunc(func() {
		go func() {
			_, err := io.CopyBuffer(pw, struct{ io.Reader }{r}, make([]byte, inputBuffer))
			pw.CloseWithError(err)
		}()
	})
	return bufio.NewReaderSize(lazyReader{pr, start}, inputBuffer), cancel
}
