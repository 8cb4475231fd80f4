package recordio

import (
	"encoding/base64"
	"encoding/binary"
	"unicode/utf8"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

// RecordFormats are the values of --format.
var RecordFormats = []string{"lines", "raw", "json", "base64", "length"}

// formatOptions say how records are printed.
type formatOptions struct {
	format string
	json   bool
}

func (o *formatOptions) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "format", Usage: "print `FORMAT`: lines (each record and a line feed), raw (nothing between them), json, base64 (one a line) or length (4 bytes, little-endian, before each)", Value: "lines", Destination: &o.format},
		&cli.BoolFlag{Name: "json", Usage: "as --format json", Destination: &o.json},
	}
}

func (o *formatOptions) check() error {
	if o.json {
		o.format = "json"
	}
	return app.OneOf("format", o.format, RecordFormats...)
}

// recordJSON is how a record is printed as JSON: as data if it is UTF-8, else as
// base64.
type recordJSON struct {
	Path   string  `json:"path"`
	Record int64   `json:"record"`
	Size   int     `json:"size"`
	Data   *string `json:"data,omitempty"`
	Base64 *string `json:"base64,omitempty"`
}

// recordPrinter prints records.
type recordPrinter struct {
	a   *app.App
	o   *formatOptions
	buf []byte
}

// print prints record number i of the file name.
func (p *recordPrinter) print(name string, i int64, rec []byte) error {
	b := p.buf[:0]
	switch p.o.format {
	case "json":
		return p.a.JSON(newRecordJSON(name, i, rec))
	case "base64":
		b = append(base64.StdEncoding.AppendEncode(b, rec), '\n')
	case "length":
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(rec))), rec...)
	case "raw":
		_, err := p.a.Out.Write(rec)
		return err
	default:
		b = append(p.shown(b, rec), '\n')
	}
	p.buf = b
	_, err := p.a.Out.Write(b)
	return err
}

// shown appends a record that is meant to be text: what could upset a terminal is
// escaped where there is one.
func (p *recordPrinter) shown(b, rec []byte) []byte {
	if p.a.Plain {
		return append(b, rec...)
	}
	return append(b, cliio.Escape(string(rec))...)
}

func newRecordJSON(name string, i int64, rec []byte) recordJSON {
	j := recordJSON{Path: name, Record: i, Size: len(rec)}
	if utf8.Valid(rec) {
		text := string(rec)
		j.Data = &text
	} else {
		text := base64.StdEncoding.EncodeToString(rec)
		j.Base64 = &text
	}
	return j
}
