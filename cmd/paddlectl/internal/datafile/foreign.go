package datafile

import (
	"errors"
	"path"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// firstOfMagic is the byte with which every chunk begins; no text does.
const firstOfMagic = 0x04

// ForeignHint adds to the error of a file that does not begin as RecordIO what the file
// looks like and what makes records of it.
func ForeignHint(a *app.App, in *Input, err error) error {
	var e *recordio.Error
	if !errors.As(err, &e) || e.Kind != recordio.Malformed && e.Kind != recordio.Truncated || e.Offset != 0 || in.ReaderAt == nil {
		return RecordError(err)
	}
	head := make([]byte, convert.SniffLen)
	n, _ := in.ReaderAt.ReadAt(head, 0) // what cannot be read is not looked at
	format, unknown := convert.Sniff(head[:n], path.Base(in.Text))
	if unknown != nil || head[0] == firstOfMagic {
		return RecordError(err)
	}
	return app.WithHint(RecordError(err), "this looks like "+format.Name+" and not like RecordIO: "+a.Program+" dataset convert makes records of it")
}
