package recordio

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/urfave/cli/v2"
)

func recordioRecompressCommand(a *app.App) *cli.Command {
	o := &mergeOptions{}
	return a.NewCommand(app.Spec{
		Name: "recompress", Args: "FILE", Least: 1, Most: 1,
		Summary: "write a file anew with another compressor or other chunks",
		Text: `Writes the records of a file to a new one, with another compressor, other chunks, or
an index. The same records and choices give the same bytes, with any --parallel.`,
		Examples: []string{
			"paddlectl recordio recompress --compressor snappy --chunk 1M train -o train.snappy",
			"paddlectl recordio recompress --compressor none - -o - < in > out",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: o.flags("fail"),
		Run: func(ctx context.Context, operands []string) error {
			if o.compressor == "" && !o.chunk.Given && !o.index && !o.embed {
				return cliargs.Usagef("one of --compressor, --chunk, --index and --embed-index is needed")
			}
			return mergeRecords(ctx, a, o, operands)
		},
	})
}
