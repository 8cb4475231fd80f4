package dataset

import (
	"errors"
	"strings"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// explain gives an error of a conversion its exit code.
func (c *conversion) explain(err error) error {
	if h := (app.Hinted{}); errors.As(err, &h) {
		return err // the way out is known
	}
	if p, ok := errors.Unwrap(err).(*pfs.Error); ok && p.Path != "" {
		err = p // names the input better than package convert in front of it
	}
	if way := c.wayOut(err); way != "" {
		return app.WithHint(datafile.ConvertError(datafile.RecordError(err)), way)
	}
	return datafile.ConvertError(datafile.RecordError(err))
}

// wayOut says which flag helps with an error of package convert.
func (c *conversion) wayOut(err error) string {
	const skip = "--bad skip leaves malformed records out and tells of them"
	var bad *convert.RecordError
	fails := c.o.options.Bad.Policy == convert.Fail && errors.As(err, &bad)
	switch {
	case errors.Is(err, convert.ErrLine):
		way := "each line is a record: jq -c . makes a line of each value, and jq -c '.[]' of each item of an array"
		if fails {
			way += "; " + skip
		}
		return way
	case errors.Is(err, convert.ErrHeader):
		return "--no-header takes the first line for a record, and --columns names the columns then"
	case errors.Is(err, convert.ErrManyPieces):
		return "--payload msgpack, pickle and json hold all values of a sample"
	case errors.Is(err, convert.ErrTooMany):
		return "--max-bad N lets more of them pass, -1 any number"
	case errors.Is(err, convert.ErrUnlabelled):
		return "the directories right below an operand are labels; --label-from dir takes those that the images are in, none makes records without"
	case errors.Is(err, convert.ErrFormat):
		way := "--format NAME says what the inputs are: " + namesOf(FormatLines())
		if c.in.trees {
			way += "; --include and --exclude choose files of a directory"
		}
		return way
	case errors.Is(err, convert.ErrDelimiter):
		return "--delimiter CHAR says what separates the columns, such as ';', tab or space"
	case errors.Is(err, convert.ErrCharset):
		way := "--encoding NAME reads other text: " + strings.Join(convert.Charsets(), ", ")
		if fails {
			way += "; " + skip
		}
		return way
	case fails && c.o.is("max-bad"): // which is 0
		return "--max-bad N leaves out up to N malformed records, -1 any number"
	case fails:
		return skip + "; --bad-file FILE keeps them"
	}
	return ""
}
