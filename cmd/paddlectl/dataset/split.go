package dataset

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/dataset/payload"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/paddlecloud/pfs/split"
	"github.com/urfave/cli/v2"
)

type datasetSplitOptions struct {
	lineCount, numFiles  int64
	suffix, as, payload  string
	paddleCompat         bool
	force, quiet, asJSON bool
	damage               datafile.ReadOptions

	dir     string // the part of suffix before its last slash
	rule    split.Rule
	pattern split.Pattern
}

func datasetSplitCommand(a *app.App) *cli.Command {
	o := &datasetSplitOptions{as: payload.Pickle}
	return a.NewCommand(app.Spec{
		Name: "split", Args: "DATASET...|FILE...", Least: 1, Most: -1,
		Summary: "write the records of a dataset to files, like split of PaddlePaddle",
		Text: `Writes the samples of datasets or RecordIO files to files of --line-count samples each:
as one pickled list per file, which cluster_files_reader reads, as RecordIO or as JSON
lines. All files appear together. Pickles are read, never executed.

Damage ends the command with code 7. With --on-damage skip or salvage, damaged records
are named and left out, and the code is 8.`,
		Examples: []string{
			"paddlectl dataset split --line-count 500 --suffix ./uci_housing/train-%05d.pickle ./dataset",
			"paddlectl dataset split --num-files 8 --as recordio --suffix /pfs/dc1/home/alice/part-%05d-of-%05d big.recordio",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			&cli.Int64Flag{Name: "line-count", Usage: "put `N` records into each file", DefaultText: "none", Destination: &o.lineCount},
			&cli.Int64Flag{Name: "num-files", Usage: "make `K` files whose numbers of records differ by at most one", DefaultText: "none", Destination: &o.numFiles},
			&cli.StringFlag{Name: "suffix", Usage: "name the files by `PATTERN`, with %05d for the number; it may include a directory", Value: "%05d.pickle", Destination: &o.suffix},
			&cli.GenericFlag{Name: "as", Usage: "write files as `FORM`: pickle, recordio or json", Value: cliargs.OneOf(&o.as, payload.Pickle, "recordio", payload.JSON)},
			payloadFlag(&o.payload),
			&cli.BoolFlag{Name: "paddle-compat", Usage: "cut like split of paddle.v2.dataset.common: the first file has one record more", Destination: &o.paddleCompat},
			o.damage.DamageFlag("fail"),
			app.ForceFlag(&o.force),
			app.QuietFlag(&o.quiet),
			app.JSONFlag(&o.asJSON),
		},
		Run: func(ctx context.Context, operands []string) error { return runDatasetSplit(ctx, a, o, operands) },
	})
}

// check turns the values of the flags into options.
func (o *datasetSplitOptions) check() error {
	switch {
	case (o.lineCount > 0) == (o.numFiles > 0) || o.lineCount < 0 || o.numFiles < 0:
		return cliargs.Usagef("either --line-count or --num-files is needed, a number from 1 up")
	case o.paddleCompat && o.lineCount == 0:
		return cliargs.Usagef("--paddle-compat needs --line-count")
	case o.payload != "" && o.as == "recordio":
		return cliargs.Usagef("--payload has no effect with --as recordio, which writes records as they are")
	case o.paddleCompat:
		o.rule = split.PaddleSplit(o.lineCount)
	case o.lineCount > 0:
		o.rule = split.Records(o.lineCount)
	default:
		o.rule = split.Files(int(o.numFiles))
	}
	base := path.Base(o.suffix)
	o.dir = strings.TrimSuffix(o.suffix, base)
	if o.dir == "" {
		o.dir = "."
	}
	var err error
	if o.pattern, err = split.ParsePattern(base, split.OfCount); err != nil {
		return err
	}
	if o.damage.Policy() != recordio.Fail && (o.pattern.HasTotal() || o.rule.NeedsCount()) {
		return cliargs.Usagef("--on-damage %s needs --line-count and a pattern without -of-: it is not known beforehand how many records are lost", o.damage.Damage)
	}
	return nil
}

func runDatasetSplit(ctx context.Context, a *app.App, o *datasetSplitOptions, operands []string) error {
	if err := o.check(); err != nil {
		return err
	}
	inputs, err := datafile.Operands(ctx, a, operands)
	if err != nil {
		return err
	}
	dir, err := datafile.LookAtDir(ctx, a, o.dir)
	if err != nil {
		return err
	}
	plan, loss, err := dataset.Split(ctx, inputs, dataset.SplitOptions{
		Dir: dir.End, Rule: o.rule, Pattern: o.pattern, As: o.as, Payload: o.payload, Force: o.force,
		SameFile: datafile.SameFile(a), OnDamage: o.damage.Policy(), Damaged: datafile.Damaged(a),
		Note:  func(n convert.Note) { a.Message("%v", n) },
		Meter: func(bytes int64, files int) recordfile.Meter { return a.StartMeter(o.quiet, bytes, files) },
	})
	if err != nil {
		return datafile.HintAt(ctx, a, dir, withHint(ctx, a, err))
	}
	switch {
	case o.asJSON:
		err = a.JSON(plan)
	case !o.quiet:
		a.Message("%s in %s", app.Count(plan.Records(), "record", "records"), app.Count(int64(len(plan.Files)), "file", "files"))
	}
	return cmp.Or(err, datafile.EndLoss(a, loss))
}
