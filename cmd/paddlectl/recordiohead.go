package main

import (
	"context"
	"regexp"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/urfave/cli/v2"
)

// oldCount is a number of lines as head of old takes it.
var oldCount = regexp.MustCompile(`^-\d+$`)

func (d *deps) recordioHeadCommand() *cli.Command {
	o, p := &readOptions{}, &formatOptions{}
	var n int64
	return d.command(spec{
		name: "head", args: "FILE...", least: 1, most: -1,
		summary: "print the first records",
		text:    `Prints the first records of each file.`,
		examples: []string{
			"paddlectl recordio head -n 3 --format json train-00000",
		},
		exits: pathExits(cliio.Integrity),
		flags: append(append([]cli.Flag{
			&cli.Int64Flag{Name: "records", Aliases: []string{"n"}, Usage: "print `N` records of each file", Value: 10, Destination: &n},
		}, p.flags()...), o.flags("fail")...),
		run: func(ctx context.Context, operands []string) error {
			if n < 0 {
				return cliargs.Usagef("--records %d: a number from 0 up is needed", n)
			}
			if old := oldCount.FindString(operands[0]); old != "" {
				return cliargs.Usagef("%s: write -n %s; a file of that name is ./%s", old, old[1:], old)
			}
			return d.printRecords(ctx, o, p, recordRange{hi: n, head: true}, operands)
		},
	})
}
