package recordio

import (
	"context"
	"strconv"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/urfave/cli/v2"
)

func getCommand(a *app.App) *cli.Command {
	o, p := &datafile.ReadOptions{}, &formatOptions{}
	return a.NewCommand(app.Spec{
		Name: "get", Args: "FILE INDEX...", Least: 2, Most: -1,
		Summary: "print records by number",
		Text: `Prints the records with these numbers, counted from 0, in the given order. With an index
beside the file (see index) it reads only the bytes that it needs; without one, it also
reads the headers of all chunks.

A number beyond the last record is code 3.`,
		Examples: []string{"paddlectl recordio get --format raw /pfs/dc1/home/alice/train-00000 4711 > record"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags:    append(p.flags(), o.LimitFlag()),
		Run: func(ctx context.Context, operands []string) error {
			if err := o.Check(); err != nil {
				return err
			}
			return getRecords(ctx, a, o, p, operands)
		},
	})
}

func getRecords(ctx context.Context, a *app.App, o *datafile.ReadOptions, p *formatOptions, operands []string) error {
	numbers := make([]int64, len(operands)-1)
	for k, text := range operands[1:] {
		var err error
		if numbers[k], err = strconv.ParseInt(text, 10, 64); err != nil || numbers[k] < 0 {
			return cliargs.Usagef("%q is not a record number: records are counted from 0", text)
		}
	}
	r, err := datafile.OpenOne(ctx, a, operands[0], o)
	if err != nil {
		return err
	}
	defer r.Close()
	printer := &recordPrinter{a: a, o: p}
	var rec []byte
	return app.EachOf(ctx, a, numbers, func(i int64) (err error) {
		if rec, err = r.ReadRecord(i, rec[:0]); err == nil {
			err = printer.print(r.Input.Title, i, rec)
		}
		return recordfile.RecordError(err)
	})
}
