package dataset

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/urfave/cli/v2"
)

func datasetConvertCommand(a *app.App) *cli.Command {
	o := &convertOptions{}
	return a.NewCommand(app.Spec{
		Name: "convert", Args: "INPUT...", Least: 1, Most: -1,
		Summary: "convert data of many formats to RecordIO shards",
		Text: `Reads files, directories, patterns or standard input (-), and writes their samples as
records to the shards PREFIX-00000-of-00010, ... and a manifest, the dot-file
.PREFIX.manifest. All files appear together, the manifest last: a dataset without a
manifest is incomplete. Directories are read recursively, in the order of names, without
dot-files; their subdirectories are the labels of images.

The same input, flags and seed give the same bytes, whatever --jobs is.

A run that fails or is killed leaves its finished shards in the dot-directory
.PREFIX.convert. The same command with --resume checks and keeps them; --restart makes
them again. If the dataset is complete, --resume reports that.

--on DC --workers N makes the same bytes by a job of the datacenter, with N workers. INPUT
and DIR are then on the service. Large uncompressed files of lines are read in parts, others
as a whole. A worker that is killed starts again. The job goes on if this command ends; logs,
kill and wait take its name.

Formats:
` + listed(FormatLines()) + `
All but npz, parquet and recordio may be compressed with gzip or zstd. All but npz and
parquet, which are read from their end, may come through a pipe. Payloads:
` + listed(EncodingLines()),
		Examples: []string{
			"paddlectl dataset convert --output-path ./dataset --name-prefix uci_housing_train --line-count 10 --no-header --delimiter space housing.data",
			"paddlectl dataset convert --output-path /pfs/dc1/home/alice/pets --name-prefix pets --num-shards 100 --shuffle --seed 7 ./images",
			"paddlectl dataset convert --format recordio --output-path mixed --name-prefix pets --num-shards 8 --shuffle --seed 1 ./pets",
			"paddlectl dataset convert --on dc1 --workers 4 --num-shards 64 --output-path /pfs/dc1/home/alice/clicks --name-prefix clicks /pfs/dc1/home/alice/logs",
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

// listed formats two columns.
func listed(lines [][2]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		fmt.Fprintf(w, "  %s\t%s\n", l[0], l[1])
	}
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

func FormatLines() (lines [][2]string) {
	for _, f := range convert.Formats {
		lines = append(lines, [2]string{f.Name, f.Doc})
	}
	return append(lines, [2]string{dataset.RecordsFormat, "RecordIO, a dataset or files: the record as it is, in its own payload unless --payload is given"})
}

func EncodingLines() (lines [][2]string) {
	for _, e := range convert.Encodings {
		lines = append(lines, [2]string{e.Name, e.Doc})
	}
	return lines
}

// runConvert converts the operands to a dataset.
func runConvert(ctx context.Context, a *app.App, o *convertOptions, operands []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.on != "" {
		return runConvertOn(ctx, a, o, operands)
	}
	start := a.Now()
	if err := o.open(ctx, a, operands); err != nil {
		return err
	}
	if o.badFile != "" {
		end, err := datafile.OutputEnd(ctx, a, o.badFile)
		if err != nil {
			return err
		}
		o.BadFile = &end
	}
	o.Stdout = a.Out
	o.Damaged = datafile.Damaged(a)
	o.Meter = func(bytes int64, files int) recordfile.Meter { return a.StartMeter(o.quiet, bytes, files) }
	r, err := dataset.Convert(ctx, o.Options)
	if err != nil {
		return datafile.HintAt(ctx, a, o.dir, o.withHint(ctx, a, err))
	}
	t := &convertTelling{a: a, o: o, r: r, seconds: a.Now().Sub(start).Seconds()}
	return cmp.Or(t.tell(), datafile.EndLoss(a, r.Loss))
}

// open finds the operands and the directory for the shards.
func (o *convertOptions) open(ctx context.Context, a *app.App, operands []string) (err error) {
	if o.Inputs, err = datafile.Operands(ctx, a, operands); err != nil {
		return err
	}
	if o.dir, err = datafile.LookAtDir(ctx, a, o.Title); err != nil {
		return err
	}
	o.Dir, o.Lease, o.SameFile = o.dir.End, a.Main.Lease, datafile.SameFile(a)
	o.Tell = func(text string) { a.Message("%s", text) }
	return nil
}
