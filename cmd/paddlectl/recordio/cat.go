package recordio

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

func catCommand(a *app.App) *cli.Command {
	o, p := &datafile.ReadOptions{}, &formatOptions{}
	rows := recordRange{hi: math.MaxInt64}
	return a.NewCommand(app.Spec{
		Name: "cat", Args: "FILE...", Least: 1, Most: -1,
		Summary: "print records",
		Text: `Prints the records of files. Each record is checked before it is printed. --range reads
only the chunks of the range, which the index or the headers of the file locate.

Damage ends the command with code 7. With --on-damage skip or salvage, damaged records
are named and left out, and the code is 8.`,
		Examples: []string{
			"paddlectl recordio cat --format json train-00000 | head",
			"paddlectl recordio cat --range 1000:2000 /pfs/dc1/home/alice/train-00000",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: append(append([]cli.Flag{
			&cli.GenericFlag{Name: "range", Usage: "print only records `LO:HI` of each file: from number LO, counted from 0, up to but not including HI; either may be left out", Value: &rows},
		}, p.flags()...), o.Flags("fail")...),
		Run: func(ctx context.Context, operands []string) error { return printRecords(ctx, a, o, p, rows, operands) },
	})
}

// recordRange is the value of --range: the records lo to hi-1.
type recordRange struct {
	lo, hi int64
	given  bool
	head   bool // from the beginning, which needs no index
}

// Set reads the value.
func (r *recordRange) Set(text string) error {
	lo, hi, colon := strings.Cut(text, ":")
	if r.given {
		return errors.New("only one range is possible: run the command once for each")
	}
	bad := errors.New("not a range: write it as 100:200, 100: or :200")
	if !colon {
		return bad
	}
	for _, side := range []struct {
		text string
		to   *int64
	}{{lo, &r.lo}, {hi, &r.hi}} {
		if side.text == "" {
			continue
		}
		n, err := strconv.ParseInt(side.text, 10, 64)
		if err != nil || n < 0 {
			return bad
		}
		*side.to = n
	}
	if r.lo > r.hi {
		return bad
	}
	r.given = true
	return nil
}

// String is empty, so that help texts show no default.
func (r *recordRange) String() string { return "" }

// printRecords implements cat and head.
func printRecords(ctx context.Context, a *app.App, o *datafile.ReadOptions, p *formatOptions, rows recordRange, operands []string) error {
	c := &recordCat{printer: &recordPrinter{a: a, o: p}, rows: rows}
	return datafile.EachRead(ctx, a, o, operands, a.OnScreen() || rows.head || rows.given, func(r *datafile.Reading, f recordfile.File) error {
		c.Reading = r
		return c.file(ctx, f)
	})
}

// recordCat is one run of cat or head.
type recordCat struct {
	*datafile.Reading
	printer *recordPrinter
	rows    recordRange
}

// file prints one file. A policy that skips damage reads from the start, because the number of a
// record depends on the losses before it.
func (c *recordCat) file(ctx context.Context, f recordfile.File) error {
	if c.rows.given && f.Stream == nil && c.O.Policy() == recordio.Fail {
		return c.random(ctx, f)
	}
	if c.rows.lo == c.rows.hi {
		return nil
	}
	i := int64(0)
	err := c.RecordsOf(ctx, f, func(rec []byte) error {
		if i >= c.rows.lo {
			if err := c.printer.print(f.Title, i, rec); err != nil {
				return err
			}
		}
		if i++; i >= c.rows.hi {
			return app.ErrStop
		}
		return nil
	})
	if err == app.ErrStop {
		return nil
	}
	return err
}

// random prints a range of a file with random access.
func (c *recordCat) random(ctx context.Context, f recordfile.File) error {
	r, err := datafile.OpenRecords(ctx, c.App, f, c.O)
	if err != nil {
		return err
	}
	defer r.Close()
	i := min(c.rows.lo, r.Len())
	for rec, err := range r.Range(i, min(c.rows.hi, r.Len())) {
		if err != nil {
			return recordfile.RecordError(err)
		}
		if err := c.printer.print(f.Title, i, rec); err != nil {
			return err
		}
		i++
	}
	return nil
}

func headCommand(a *app.App) *cli.Command {
	o, p := &datafile.ReadOptions{}, &formatOptions{}
	var n int64
	return a.NewCommand(app.Spec{
		Name: "head", Args: "FILE...", Least: 1, Most: -1,
		Summary: "print the first records",
		Text:    `Prints the first records of each file.`,
		Examples: []string{
			"paddlectl recordio head -n 3 --format json train-00000",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: append(append([]cli.Flag{
			&cli.Int64Flag{Name: "records", Aliases: []string{"n"}, Usage: "print `N` records of each file", Value: 10, Destination: &n},
		}, p.flags()...), o.Flags("fail")...),
		Run: func(ctx context.Context, operands []string) error {
			if n < 0 {
				return cliargs.Usagef("--records %d: a number from 0 up is needed", n)
			}
			if old := app.OldCount.FindString(operands[0]); old != "" {
				return cliargs.Usagef("%s: write -n %s; a file of that name is ./%s", old, old[1:], old)
			}
			return printRecords(ctx, a, o, p, recordRange{hi: n, head: true}, operands)
		},
	})
}

// formatOptions say how records are printed.
type formatOptions struct {
	format string
	json   bool
}

func (o *formatOptions) flags() []cli.Flag {
	o.format = "lines"
	return []cli.Flag{
		&cli.GenericFlag{Name: "format", Usage: "print `FORMAT`: lines (each record and a line feed), raw (nothing between them), json, base64 (one per line) or length (4 bytes, little-endian, before each)", Value: cliargs.OneOf(&o.format, "lines", "raw", "json", "base64", "length")},
		&cli.BoolFlag{Name: "json", Usage: "the same as --format json", Destination: &o.json},
	}
}

// recordJSON is a record as JSON: as data if it is UTF-8, else as base64.
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
	if p.o.json || p.o.format == "json" {
		return p.a.JSON(newRecordJSON(name, i, rec))
	}
	switch p.o.format {
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

// shown appends a record of text. On a terminal it escapes control characters.
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
