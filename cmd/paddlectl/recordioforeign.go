package main

import (
	"errors"
	"path"

	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// firstOfMagic is the byte with which every chunk begins; no text does.
const firstOfMagic = 0x04

// foreignHint adds to the error of a file that does not begin as RecordIO what the file
// looks like and what makes records of it.
func (d *deps) foreignHint(in *input, err error) error {
	var e *recordio.Error
	if !errors.As(err, &e) || e.Kind != recordio.Malformed && e.Kind != recordio.Truncated || e.Offset != 0 || in.ReaderAt == nil {
		return recordError(err)
	}
	head := make([]byte, convert.SniffLen)
	n, _ := in.ReaderAt.ReadAt(head, 0) // what cannot be read is not looked at
	format, unknown := convert.Sniff(head[:n], path.Base(in.text))
	if unknown != nil || head[0] == firstOfMagic {
		return recordError(err)
	}
	return hinted{recordError(err), "this looks like " + format.Name + " and not like RecordIO: " + d.out.Program + " dataset convert makes records of it"}
}
