package dataset

import (
	"context"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/urfave/cli/v2"
)

func datasetConvertCommand(a *app.App) *cli.Command {
	o := &convertOptions{}
	return a.NewCommand(app.Spec{
		Name: "convert", Args: "INPUT...", Least: 1, Most: -1,
		Summary: "turn data of many formats into shards of RecordIO",
		Text: `Reads files, directories, patterns or standard input (-), and writes their samples
as records into the shards PREFIX-00000-of-00010, ... and a manifest, the dot-file
.PREFIX.manifest. All get their names together, the manifest last: a set without
one is not complete. A directory is read with all below it, in the order of the
names, without dot-files; its subdirectories are the labels of images.

The same input, options and seed give the same bytes, whatever --jobs is.

A run that fails or is killed leaves the shards that it finished in the
dot-directory .PREFIX.convert; the same command with --resume checks them and goes
on. They are made anew with --restart. Of a complete set --resume says so.

Formats:
` + listed(FormatLines()) + `
Any of them but npz, parquet and recordio may be compressed with gzip or zstd; any but
npz and parquet, which begin at their end, may come through a pipe. Payloads:
` + listed(EncodingLines()),
		Examples: []string{
			"paddlectl dataset convert --output-path ./dataset --name-prefix uci_housing_train --line-count 10 --no-header --delimiter space housing.data",
			"paddlectl dataset convert --output-path /pfs/dc1/home/alice/pets --name-prefix pets --num-shards 100 --shuffle --seed 7 ./images",
			"paddlectl dataset convert --format recordio --output-path mixed --name-prefix pets --num-shards 8 --shuffle --seed 1 ./pets",
			"zcat log.json.gz | paddlectl dataset convert --format jsonl --output-path logs --name-prefix log --bad skip -",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: o.flags(),
		Given: func(is func(string) bool) { o.given = is },
		Run: func(ctx context.Context, operands []string) error {
			return runConvert(ctx, a, o, operands)
		},
	})
}

// listed writes two columns, the first as wide as it needs.
func listed(lines [][2]string) string {
	width := 0
	for _, l := range lines {
		width = max(width, len(l[0]))
	}
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("  " + l[0] + strings.Repeat(" ", width-len(l[0])+2) + l[1])
	}
	return b.String()
}

func FormatLines() (lines [][2]string) {
	for _, f := range convert.Formats {
		lines = append(lines, [2]string{f.Name, f.Doc})
	}
	return append(lines, [2]string{recordsFormat, "RecordIO, a dataset or files: the record as it is, in the payload that it has unless --payload is given"})
}

func EncodingLines() (lines [][2]string) {
	for _, e := range convert.Encodings {
		lines = append(lines, [2]string{e.Name, e.Doc})
	}
	return lines
}

// runConvert makes a dataset of what the operands name.
func runConvert(ctx context.Context, a *app.App, o *convertOptions, operands []string) error {
	if err := o.check(); err != nil {
		return err
	}
	find := func(ctx context.Context, operands []string, o *convertOptions) (*datasetInputs, error) {
		return inputsOfDatasets(ctx, a, operands, o)
	}
	if o.format == recordsFormat {
		find = func(ctx context.Context, operands []string, o *convertOptions) (*datasetInputs, error) {
			return recordInputs(ctx, a, operands, o)
		}
	}
	in, err := find(ctx, operands, o)
	if err != nil {
		return err
	}
	defer in.close()
	if in.files == 0 && !o.allowEmpty {
		return app.WithHint(cliargs.Usagef("there is no file in %s", strings.Join(operands, ", ")), "--allow-empty makes an empty dataset")
	}
	if o.mayBeMNIST() {
		if err := in.mnist.check(); err != nil {
			return err
		}
	}
	in.tellParts()
	c, err := newConversion(ctx, a, o, in)
	switch {
	case err != nil:
		return err
	case c.made != nil:
		return c.tellMade(ctx)
	case o.dryRun:
		return in.damaged(c.rehearse(ctx))
	}
	return in.damaged(c.run(ctx))
}
