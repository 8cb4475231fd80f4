package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

// diffOptions are the choices of diff.
type diffOptions struct {
	readOptions

	limit int64
	json  bool
}

func (d *deps) recordioDiffCommand() *cli.Command {
	o := &diffOptions{}
	return d.command(spec{
		name: "diff", args: "A B", least: 2, most: 2,
		summary: "compare two files record by record",
		text: `Compares the records of two files by number, whatever their compressors, chunks and
dialects. Prints which differ, and how many one file has more; if anything differs,
the exit code is 7. Nothing is printed of what is the same.`,
		examples: []string{"paddlectl recordio diff train /pfs/dc1/home/alice/train"},
		exits:    pathExits(cliio.Integrity),
		flags: append(append([]cli.Flag{
			&cli.Int64Flag{Name: "limit", Usage: "print `N` differences; all are counted", Value: 10, Destination: &o.limit},
		}, o.flags("fail")...), jsonFlag(&o.json)),
		run: func(ctx context.Context, operands []string) error { return d.diffRecords(ctx, o, operands) },
	})
}

func (d *deps) diffRecords(ctx context.Context, o *diffOptions, operands []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.limit < 0 {
		return cliargs.Usagef("--limit %d: a number from 0 up is needed", o.limit)
	}
	var files []dataFile
	for _, operand := range operands {
		f, err := d.dataFile(ctx, operand)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	if files[0].stdin && files[1].stdin {
		return cliargs.Usagef("\"-\" is given twice: standard input can be read once")
	}
	r := d.startReading(ctx, &o.readOptions, files, d.onScreen())
	defer r.m.end()
	c := &comparison{d: d, o: o, a: files[0].text, b: files[1].text}
	err := r.each(ctx, files[0], func(a *recordio.Scanner) error {
		return r.each(ctx, files[1], func(b *recordio.Scanner) error { return c.run(a, b) })
	})
	if err = r.end(err); err != nil {
		return err
	}
	return c.end()
}

// comparison is one run of the command.
type comparison struct {
	d         *deps
	o         *diffOptions
	a, b      string
	compared  int64 // pairs
	different int64
	moreA     int64
	moreB     int64
}

func (c *comparison) run(a, b *recordio.Scanner) error {
	for {
		inA, inB := a.Scan(), b.Scan()
		if err := firstError(a, b); err != nil {
			return err
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

func firstError(scanners ...*recordio.Scanner) error {
	for _, s := range scanners {
		if err := s.Err(); err != nil {
			return recordError(err)
		}
	}
	return nil
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
	if c.different > c.o.limit {
		return
	}
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	if c.o.json {
		c.d.out.JSON(differenceJSON{"different", i, len(a), len(b), at}) // an error shows when Out is flushed
		return
	}
	c.d.out.Printf("record %d: %s and %s, different from byte %d\n", i, count(int64(len(a)), "byte", "bytes"), count(int64(len(b)), "byte", "bytes"), at)
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
	if c.o.json {
		c.d.out.JSON(comparisonJSON{"summary", c.compared, c.different, c.moreA, c.moreB}) // an error shows when Out is flushed
	} else if !same {
		for _, more := range []struct {
			name string
			n    int64
		}{{c.a, c.moreA}, {c.b, c.moreB}} {
			if more.n > 0 {
				c.d.out.Printf("%s: %s more\n", c.d.out.Name(more.name), count(more.n, "record", "records"))
			}
		}
	}
	if same {
		return nil
	}
	if !c.o.quiet {
		c.d.out.Message("%s", fmt.Sprintf("of %s %d different", count(c.compared, "record", "records"), c.different))
	}
	return cliio.Reported(cliio.Integrity)
}
