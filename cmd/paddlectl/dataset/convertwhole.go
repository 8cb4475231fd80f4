package dataset

import (
	"io"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
)

// wholeReader reads an input from its beginning to its end, and answers Conflict
// where the file ends before the length that it had when it was opened: without that
// half a table would pass for a whole one.
type wholeReader struct {
	*datafile.Input
	n int64
}

func (r *wholeReader) Read(p []byte) (int, error) {
	n, err := r.Input.Read(p)
	r.n += int64(n)
	if err == io.EOF && r.n < r.Size {
		err = pfs.Errorf("paddlectl.Read", r.End.Path, pfs.Conflict,
			"the file ends at byte %d; it had %d when it was opened", r.n, r.Size)
	}
	return n, err
}
