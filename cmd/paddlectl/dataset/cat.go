package dataset

import (
	"context"
	"iter"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/dataset/payload"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/urfave/cli/v2"
)

type datasetCatOptions struct {
	datafile.ReadOptions
	payload string
	limit   int64
}

func datasetCatCommand(a *app.App) *cli.Command {
	o := &datasetCatOptions{}
	return a.NewCommand(app.Spec{
		Name: "cat", Args: "DATASET...|FILE...", Least: 1, Most: -1,
		Summary: "print decoded records as JSON lines",
		Text: `Prints the samples of datasets or RecordIO files, one JSON value per line. Bytes become
base64, and arrays of numbers nested arrays. Numbers that JSON lacks become the strings
"NaN", "Infinity" and "-Infinity"; complex numbers become [REAL,IMAGINARY]. Raw records
become strings, or {"base64":"..."} if they are not UTF-8. Pickles are read, never
executed. paddlectl recordio cat prints records undecoded.

Damage ends the command with code 7. With --on-damage skip or salvage, damaged records
are named and left out, and the code is 8.`,
		Examples: []string{"paddlectl dataset cat --limit 3 ./dataset", "paddlectl dataset cat '/pfs/dc1/home/alice/dataset/uci_housing_train-*' | jq ."},
		Exits:    app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			payloadFlag(&o.payload),
			&cli.Int64Flag{Name: "limit", Aliases: []string{"n"}, Usage: "print at most `N` records", Value: -1, DefaultText: "all", Destination: &o.limit},
			o.DamageFlag("fail"),
			&cli.BoolFlag{Name: "json", Usage: "no effect: each line is JSON already"},
		},
		Run: func(ctx context.Context, operands []string) error { return runDatasetCat(ctx, a, o, operands) },
	})
}

// payloadFlag is --payload of commands that read records.
func payloadFlag(to *string) cli.Flag {
	return &cli.GenericFlag{Name: "payload", Usage: "records are encoded as `NAME`: msgpack, pickle, json, raw (as the manifest says, else as the first record looks)", Value: cliargs.OneOf(to, payload.Msgpack, payload.Pickle, payload.JSON, payload.Raw)}
}

func runDatasetCat(ctx context.Context, a *app.App, o *datasetCatOptions, operands []string) error {
	if o.limit < -1 {
		return cliargs.Usagef("--limit %d: a number from 0 up is needed", o.limit)
	}
	inputs, err := datafile.Operands(ctx, a, operands)
	if err != nil {
		return err
	}
	_, files, err := dataset.Find(ctx, inputs, o.Policy())
	if err == nil && o.payload == "" {
		o.payload, err = dataset.PayloadOf(files)
	}
	if err != nil {
		return withHint(ctx, a, err)
	}
	r := datafile.StartReading(ctx, a, &o.ReadOptions, files, a.OnScreen())
	defer r.M.End()
	records := dataset.First(r.Reading.Records(ctx, files), o.limit)
	return r.End(withHint(ctx, a, printDecoded(ctx, a, records, o.payload)))
}

// printDecoded prints records as JSON lines.
func printDecoded(ctx context.Context, a *app.App, records iter.Seq2[recordfile.Record, error], payload string) error {
	return dataset.Transcoder{From: payload, To: convert.Shown.Name}.Run(ctx, records, func(line []byte) error {
		_, err := a.Out.Write(append(line[:len(line):len(line)], '\n'))
		return err
	})
}
