package dataset

import (
	"encoding/json"

	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// badFile collects the records that were left out.
type badFile struct {
	out *transfer.Output
}

// badJSON is one line of the file.
type badJSON struct {
	Input  string `json:"input"`
	Line   int64  `json:"line,omitempty"`
	Row    int64  `json:"row,omitempty"`
	Offset *int64 `json:"offset,omitempty"`
	Error  string `json:"error"`
	Record string `json:"record,omitempty"` // of formats of lines; what is no UTF-8 in it is replaced
}

func (b *badFile) collect(bad *convert.RecordError, record []byte) error {
	line := badJSON{Input: bad.Input, Line: bad.Line, Row: bad.Row, Error: bad.Err.Error(), Record: string(record)}
	if bad.Offset >= 0 {
		line.Offset = &bad.Offset
	}
	text, err := json.Marshal(line)
	if err == nil {
		_, err = b.out.Write(append(text, '\n'))
	}
	return err
}
