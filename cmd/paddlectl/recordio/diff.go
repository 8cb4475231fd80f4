package recordio

import (
	"bytes"
	"cmp"
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

func diffCommand(a *app.App) *cli.Command {
	c := &comparison{App: a}
	return a.NewCommand(app.Spec{
		Name: "diff", Args: "A B", Least: 2, Most: 2,
		Summary: "compare two files record by record",
		Text: `Compares two files record by record, whatever their compressors, chunks and dialects.
Prints which records differ and how many more one file has. If anything differs, the exit
code is 7. Equal records are not printed.`,
		Examples: []string{"paddlectl recordio diff train /pfs/dc1/home/alice/train"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags: append(append([]cli.Flag{
			&cli.Int64Flag{Name: "limit", Usage: "print `N` differences; all are counted", Value: 10, Destination: &c.limit},
		}, c.Flags("fail")...), app.JSONFlag(&c.json)),
		Run: c.run,
	})
}

// comparison is one run of the command.
type comparison struct {
	datafile.ReadOptions
	*app.App
	limit int64
	json  bool

	names        [2]string
	compared     int64 // pairs
	different    int64
	moreA, moreB int64
}

func (c *comparison) run(ctx context.Context, operands []string) error {
	if err := c.Check(); err != nil {
		return err
	}
	if c.limit < 0 {
		return cliargs.Usagef("--limit %d: a number from 0 up is needed", c.limit)
	}
	var files []recordfile.File
	for _, operand := range operands {
		f, err := datafile.One(ctx, c.App, operand)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	if files[0].Stream != nil && files[1].Stream != nil {
		return cliargs.Usagef("\"-\" is given twice: standard input can be read only once")
	}
	r := datafile.StartReading(ctx, c.App, &c.ReadOptions, files, c.OnScreen())
	defer r.M.End()
	c.names = [2]string{files[0].Title, files[1].Title}
	err := r.Each(ctx, files[0], func(one *recordio.Scanner) error {
		return r.Each(ctx, files[1], func(two *recordio.Scanner) error { return c.compare(one, two) })
	})
	if err = r.End(err); err != nil {
		return err
	}
	return c.end()
}

func (c *comparison) compare(a, b *recordio.Scanner) error {
	for {
		inA, inB := a.Scan(), b.Scan()
		if err := cmp.Or(a.Err(), b.Err()); err != nil {
			return recordfile.RecordError(err)
		}
		switch {
		case inA && inB:
			c.pair(a.Bytes(), b.Bytes())
		case inA:
			c.moreA++
		case inB:
			c.moreB++
		default:
			return nil
		}
	}
}

// differenceJSON is how --json shows two records that differ.
type differenceJSON struct {
	Event  string `json:"event"` // "different"
	Record int64  `json:"record"`
	SizeA  int    `json:"size_a"`
	SizeB  int    `json:"size_b"`
	Offset int    `json:"offset"` // of the first byte that differs, in the record
}

func (c *comparison) pair(a, b []byte) {
	i := c.compared
	c.compared++
	if bytes.Equal(a, b) {
		return
	}
	c.different++
	if c.different > c.limit {
		return
	}
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	c.Show(c.json, differenceJSON{"different", i, len(a), len(b), at},
		"record %d: %s and %s, different from byte %d\n", i, app.Count(int64(len(a)), "byte", "bytes"), app.Count(int64(len(b)), "byte", "bytes"), at)
}

// comparisonJSON is the last line of --json.
type comparisonJSON struct {
	Event     string `json:"event"` // "summary"
	Compared  int64  `json:"compared"`
	Different int64  `json:"different"`
	MoreA     int64  `json:"more_a"`
	MoreB     int64  `json:"more_b"`
}

func (c *comparison) end() error {
	same := c.different == 0 && c.moreA == 0 && c.moreB == 0
	if c.json {
		c.JSON(comparisonJSON{"summary", c.compared, c.different, c.moreA, c.moreB}) // an error shows when Out is flushed
	} else if !same {
		for _, more := range []struct {
			name string
			n    int64
		}{{c.names[0], c.moreA}, {c.names[1], c.moreB}} {
			if more.n > 0 {
				c.Printf("%s: %s more\n", c.Name(more.name), app.Count(more.n, "record", "records"))
			}
		}
	}
	if same {
		return nil
	}
	if !c.Quiet {
		c.Message("of %s %d different", app.Count(c.compared, "record", "records"), c.different)
	}
	return cliio.Reported(cliio.Integrity)
}
