package recordio

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

func recordioCatCommand(a *app.App) *cli.Command {
	o, p := &datafile.ReadOptions{}, &formatOptions{}
	rows := recordRange{hi: math.MaxInt64}
	return a.NewCommand(app.Spec{
		Name: "cat", Args: "FILE...", Least: 1, Most: -1,
		Summary: "print records",
		Text: `Prints the records of files. Each is checked before it is printed. A range is found
by the index of the file or its headers; only its chunks are read.

What is damaged ends the command with code 7. With --on-damage skip or salvage it is
named and left out, and the code is 8.`,
		Examples: []string{
			"paddlectl recordio cat --format json train-00000 | head",
			"paddlectl recordio cat --range 1000:2000 /pfs/dc1/home/alice/train-00000",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: append(append([]cli.Flag{
			&cli.GenericFlag{Name: "range", Usage: "of each file, only the records `LO:HI`: from number LO, counted from 0, to the one before HI; either may be left out", Value: &rows},
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
		return errors.New("a second range: give one, and run the command once for each")
	}
	bad := errors.New("no range: write it as 100:200, 100: or :200")
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

// printRecords is what cat and head do.
func printRecords(ctx context.Context, a *app.App, o *datafile.ReadOptions, p *formatOptions, rows recordRange, operands []string) error {
	if err := cmp.Or(o.Check(), p.check()); err != nil {
		return err
	}
	files, err := datafile.List(ctx, a, operands)
	if err != nil {
		return err
	}
	r := datafile.StartReading(ctx, a, o, files, a.OnScreen() || rows.head || rows.given)
	c := &recordCat{Reading: r, printer: &recordPrinter{a: a, o: p}, rows: rows}
	return r.End(app.EachOf(ctx, a, files, func(f datafile.File) error { return c.file(ctx, f) }))
}

// recordCat is one run of cat or head.
type recordCat struct {
	*datafile.Reading
	printer *recordPrinter
	rows    recordRange
}

// file prints one file. A policy that passes over damage needs the whole way there:
// what number a record has depends on what was lost before it.
func (c *recordCat) file(ctx context.Context, f datafile.File) error {
	if c.rows.given && !f.Stdin && c.O.Policy == recordio.Fail {
		return c.random(ctx, f)
	}
	if c.rows.lo == c.rows.hi {
		return nil
	}
	i := int64(0)
	err := c.Records(ctx, f, func(rec []byte) error {
		if i >= c.rows.lo {
			if err := c.printer.print(f.Text, i, rec); err != nil {
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

// random prints a range of a file that can be read at random.
func (c *recordCat) random(ctx context.Context, f datafile.File) error {
	r, err := datafile.OpenRecordFile(ctx, c.App, f, c.O)
	if err != nil {
		return err
	}
	defer r.Close()
	i := min(c.rows.lo, r.Len())
	for rec, err := range r.Range(i, min(c.rows.hi, r.Len())) {
		if err != nil {
			return datafile.RecordError(err)
		}
		if err := c.printer.print(f.Text, i, rec); err != nil {
			return err
		}
		i++
	}
	return nil
}
