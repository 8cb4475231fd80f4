package main

import (
	"cmp"
	"context"
	"strconv"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

func (d *deps) recordioGetCommand() *cli.Command {
	o, p := &readOptions{}, &formatOptions{}
	return d.command(spec{
		name: "get", args: "FILE INDEX...", least: 2, most: -1,
		summary: "print records by number",
		text: `Prints the records of these numbers, counted from 0, in the order in which they are
given. With an index beside the file (see index) only the parts of the file that hold
them are read; without, the headers of all chunks and the chunks that hold them.

A number that the file does not have is code 3.`,
		examples: []string{"paddlectl recordio get --format raw /pfs/dc1/home/alice/train-00000 4711 > record"},
		exits:    pathExits(cliio.Integrity),
		flags:    append(p.flags(), o.limitFlag()),
		run: func(ctx context.Context, operands []string) error {
			if err := cmp.Or(o.check(), p.check()); err != nil {
				return err
			}
			return d.getRecords(ctx, o, p, operands)
		},
	})
}

func (d *deps) getRecords(ctx context.Context, o *readOptions, p *formatOptions, operands []string) error {
	numbers := make([]int64, len(operands)-1)
	for k, text := range operands[1:] {
		var err error
		if numbers[k], err = strconv.ParseInt(text, 10, 64); err != nil || numbers[k] < 0 {
			return cliargs.Usagef("%q is no number of a record: they are counted from 0", text)
		}
	}
	f, err := d.dataFile(ctx, operands[0])
	if err != nil {
		return err
	}
	r, err := d.openRecordFile(ctx, f, o)
	if err != nil {
		return err
	}
	defer r.Close()
	printer := &recordPrinter{d: d, o: p}
	var rec []byte
	return eachOf(ctx, d, numbers, func(i int64) (err error) {
		if rec, err = r.ReadRecord(i, rec[:0]); err == nil {
			err = printer.print(f.text, i, rec)
		}
		return recordError(err)
	})
}
