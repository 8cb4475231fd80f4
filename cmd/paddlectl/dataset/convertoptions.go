package dataset

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/copying"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/urfave/cli/v2"
)

// convertOptions are the flags of dataset convert.
type convertOptions struct {
	dataset.Options // of flags whose values need no conversion

	shardSize, shuffleMemory, maxRecord, chunkSize cliio.SizeFlag
	payload, labelFrom, bad, badFile               string
	damage                                         datafile.ReadOptions
	quiet, json                                    bool

	on, jobName string
	workers     int
	told        string // of the progress of the job
	toldAt      time.Time
	dir         copying.Target // for the shards

	given func(name string) bool // whether a flag was given; nil: none was
}

func (o *convertOptions) flags() []cli.Flag {
	o.payload, o.labelFrom, o.bad, o.Compressor = convert.Encodings[0].Name, "top", "fail", "snappy"
	return []cli.Flag{
		&cli.StringFlag{Name: "output-path", Usage: "write the shards into `DIR`, which is made if it is missing", Destination: &o.Title},
		&cli.StringFlag{Name: "name-prefix", Usage: "begin the names of the shards with `PREFIX`", Destination: &o.Name},
		&cli.Int64Flag{Name: "line-count", Usage: "put `N` records into each shard", DefaultText: "none", Destination: &o.LineCount},
		&cli.Int64Flag{Name: "num-shards", Usage: "make `K` shards whose numbers of records differ by at most one", DefaultText: "none", Destination: &o.NumShards},
		&cli.GenericFlag{Name: "shard-size", Usage: "put records of `SIZE` bytes into each shard (256M by default)", Value: &o.shardSize},
		&cli.BoolFlag{Name: "paddle-compat", Usage: "cut, number and chunk like convert of paddle.v2.dataset.common: see docs/datasets.md", Destination: &o.PaddleCompat},
		&cli.GenericFlag{Name: "format", Usage: "the inputs are `NAME` (csv if a flag about tables is given, else found by content and name)", Value: cliargs.Suggest(&o.Format, dataset.Formats()...)},
		&cli.GenericFlag{Name: "include", Usage: "read what matches `PATTERN` below directories; the last matching --include or --exclude decides", Value: &copying.RuleFlag{Rules: &o.Rules}},
		&cli.GenericFlag{Name: "exclude", Usage: "leave out what matches `PATTERN` below directories (*.json, raw/); excluded directories are not entered", Value: &copying.RuleFlag{Rules: &o.Rules, Exclude: true}},
		&cli.GenericFlag{Name: "payload", Usage: "encode records as `NAME`", Value: cliargs.Suggest(&o.payload, dataset.Payloads()...)},
		&cli.GenericFlag{Name: "encoding", Usage: "decode text as `NAME`: " + strings.Join(convert.Charsets(), ", ") + " (utf-8)", Value: cliargs.Suggest(&o.Encoding, convert.Charsets()...)},
		&cli.GenericFlag{Name: "delimiter", Usage: "`CHAR` between the columns of a table, or tab, or space for any run of blanks", Value: cliargs.Suggest(&o.Delimiter, "space", "tab")},
		&cli.BoolFlag{Name: "no-header", Usage: "the first line of a table is a record", Destination: &o.NoHeader},
		&cli.Int64Flag{Name: "skip-lines", Aliases: []string{"skip-rows"}, Usage: "leave out the first `N` lines of each input, before a header", DefaultText: "none", Destination: &o.SkipLines},
		&cli.BoolFlag{Name: "allow-nan", Usage: "read NaN, Infinity and -Infinity in JSON Lines, as Python writes them", Destination: &o.AllowNaN},
		&cli.StringFlag{Name: "columns", Aliases: []string{"column-names"}, Usage: "`NAMES` of the columns of a table without a header, between commas", Destination: &o.Columns},
		&cli.GenericFlag{Name: "type", Usage: "`COLUMN=TYPE` of a table, COLUMN by name or number from 1: text, bytes, int, float, float32, bool, skip; several times", Value: app.ListFlag(&o.Types)},
		&cli.BoolFlag{Name: "text", Usage: "columns without --type are text; do not find out their types", Destination: &o.Text},
		&cli.StringFlag{Name: "null", Usage: "`TEXT` that marks a missing value in a table, such as NA", Destination: &o.Null},
		&cli.GenericFlag{Name: "label", Usage: "`COLUMN` of a table that is a label: records become [features, labels]; several times", Value: app.ListFlag(&o.Labels)},
		&cli.GenericFlag{Name: "label-from", Usage: "label images by `WHICH` directory: top (right below the operand), dir (that of the image) or none", Value: cliargs.OneOf(&o.labelFrom, "top", "dir", "none")},
		&cli.BoolFlag{Name: "shuffle", Usage: "put records into a random order", Destination: &o.Shuffle},
		&cli.Uint64Flag{Name: "seed", Usage: "shuffle by the number `N`", Destination: &o.Seed},
		&cli.GenericFlag{Name: "shuffle-memory", Usage: "shuffle in about `SIZE` of memory (64M), and the rest in temporary files", Value: &o.shuffleMemory},
		&cli.GenericFlag{Name: "bad", Usage: "`POLICY` for malformed records: fail or skip", Value: cliargs.OneOf(&o.bad, "fail", "skip")},
		&cli.Int64Flag{Name: "max-bad", Usage: "skip at most `N` records; -1 means any number", Value: convert.DefaultMaxBad, Destination: &o.MaxBad},
		&cli.StringFlag{Name: "bad-file", Usage: "skip malformed records and write them to `FILE`, as JSON lines with the reason", Destination: &o.badFile},
		o.damage.DamageFlag("fail"),
		&cli.GenericFlag{Name: "max-record", Usage: "refuse records of more than `SIZE` (64M)", Value: &o.maxRecord},
		&cli.GenericFlag{Name: "compressor", Usage: "compress chunks by `NAME`: none, snappy, gzip, zstd", Value: cliargs.Suggest(&o.Compressor, "none", "snappy", "gzip", "zstd")},
		&cli.GenericFlag{Name: "chunk-size", Aliases: []string{"chunk"}, Usage: "put records of `SIZE` bytes into a chunk, or one record with 0 (4M; 32M with --paddle-compat)", Value: &o.chunkSize},
		&cli.IntFlag{Name: "jobs", Aliases: []string{"j", "parallel"}, Usage: "work on `N` parts of the input at once; 0 is one per processor", Destination: &o.Jobs},
		&cli.StringFlag{Name: "on", Usage: "convert by a job of the datacenter `DC`", Destination: &o.on},
		&cli.IntFlag{Name: "workers", Usage: "run `N` workers with --on", DefaultText: "none", Destination: &o.workers},
		&cli.StringFlag{Name: "jobname", Usage: "`NAME` of the job of --on", DefaultText: "convert- and the time", Destination: &o.jobName},
		&cli.BoolFlag{Name: "resume", Usage: "keep the finished shards of an earlier run", Destination: &o.Resume},
		&cli.BoolFlag{Name: "restart", Usage: "discard the finished shards of an earlier run", Destination: &o.Restart},
		app.ForceFlag(&o.Force),
		&cli.BoolFlag{Name: "allow-empty", Usage: "allow a dataset without records", Destination: &o.AllowEmpty},
		&cli.BoolFlag{Name: "dry-run", Usage: "read everything, write nothing, print the shards that would be made", Destination: &o.DryRun},
		app.QuietFlag(&o.quiet),
		app.JSONFlag(&o.json),
	}
}

// check turns the values of the flags into options.
func (o *convertOptions) check() error {
	switch {
	case o.Title == "":
		return cliargs.Usagef("--output-path is needed: the directory for the shards")
	case o.is("line-count") && o.LineCount == 0, o.is("num-shards") && o.NumShards == 0:
		return cliargs.Usagef("--line-count and --num-shards are numbers from 1 up")
	case o.shardSize.Given && o.shardSize.Bytes == 0:
		return cliargs.Usagef("--shard-size 0: at least one byte is needed")
	case o.bad == "fail" && o.badFile != "" && o.is("bad"):
		return cliargs.Usagef("--bad fail and --bad-file, which skips, contradict each other")
	}
	o.OnDamage = o.damage.Policy()
	o.ShardSize, o.ShuffleMemory, o.MaxRecord, o.ChunkSize = o.shardSize.Bytes, o.shuffleMemory.Bytes, o.maxRecord.Bytes, o.chunkSize.Bytes
	if o.chunkSize.Given && o.chunkSize.Bytes == 0 {
		o.ChunkSize = -1
	}
	if o.is("payload") {
		o.Payload = o.payload
	}
	if o.is("label-from") {
		o.LabelFrom = o.labelFrom
	}
	o.SkipBad = o.bad == "skip" && o.MaxBad != 0
	if o.MaxBad == 0 {
		o.badFile = ""
	}
	return o.checkIdle()
}

// is reports whether a flag was given, with any value.
func (o *convertOptions) is(name string) bool { return o.given != nil && o.given(name) }

// checkIdle refuses flags that would have no effect.
func (o *convertOptions) checkIdle() error {
	raw := o.payload == "raw"
	skips := o.badFile != "" || o.bad == "skip"
	for _, rule := range []struct {
		names  string // of flags without an effect
		idle   bool   // in this case
		reason string
	}{
		{"workers jobname", o.on == "", "it needs --on"},
		{"seed shuffle-memory", !o.Shuffle, "it needs --shuffle"},
		{"columns", !o.NoHeader, "the header names the columns; without one, give --no-header too"},
		{"type text null label columns", raw, "--payload raw takes lines as they are"},
		{"label-from", o.Format != "" && o.Format != "images", "labels of directories are for images, not for --format " + o.Format},
		{"bad max-bad bad-file max-record encoding include exclude skip-lines", o.Format == dataset.RecordsFormat, "records of RecordIO are taken as they are"},
		{"on-damage", o.Format != dataset.RecordsFormat, "it is for --format recordio"},
		{"max-bad", !skips, "it needs --bad skip or --bad-file"},
		{"allow-nan", o.Format != "" && o.Format != "jsonl", "it is for --format jsonl"},
		{"allow-nan", raw, "--payload raw takes lines as they are"},
	} {
		for _, name := range strings.Fields(rule.names) {
			if rule.idle && o.is(name) {
				return cliargs.Usagef("--%s does nothing: %s", name, rule.reason)
			}
		}
	}
	return nil
}

// withHint adds the hint to an error of a conversion.
func (o *convertOptions) withHint(ctx context.Context, a *app.App, err error) error {
	if errors.As(err, new(*dataset.Error)) {
		return withHint(ctx, a, err)
	}
	if way := o.wayOut(err); way != "" {
		return app.WithHint(err, way)
	}
	return datafile.WithHint(a, err)
}

// wayOut returns which flag helps with an error of package convert.
func (o *convertOptions) wayOut(err error) string {
	const skip = "--bad skip leaves out malformed records and names them"
	var bad *convert.RecordError
	fails := !o.SkipBad && o.BadFile == nil && errors.As(err, &bad)
	switch {
	case errors.Is(err, convert.ErrLine):
		way := "each line is a record: jq -c . makes a line of each value, and jq -c '.[]' of each item of an array"
		if fails {
			way += "; " + skip
		}
		return way
	case errors.Is(err, convert.ErrNaN):
		way := "--allow-nan reads the numbers that Python writes and JSON lacks"
		if fails {
			way += "; " + skip
		}
		return way
	case errors.Is(err, convert.ErrHeader):
		return "--no-header reads the first line as a record; --columns then names the columns"
	case errors.Is(err, convert.ErrManyPieces):
		return "--payload msgpack, pickle and json hold all values of a sample"
	case errors.Is(err, convert.ErrTooMany):
		return "--max-bad N allows more of them, -1 any number"
	case errors.Is(err, convert.ErrUnlabelled):
		return "the directories right below an operand are labels; --label-from dir uses those that the images are in, none makes records without labels"
	case errors.Is(err, convert.ErrFormat):
		return "--format NAME sets the format of the inputs: " + strings.Join(dataset.Formats(), ", ") + "; --include and --exclude choose files of a directory"
	case errors.Is(err, convert.ErrDelimiter):
		return "--delimiter CHAR sets what separates the columns, such as ';', tab or space"
	case errors.Is(err, convert.ErrCharset):
		way := "--encoding NAME reads other text: " + strings.Join(convert.Charsets(), ", ")
		if fails {
			way += "; " + skip
		}
		return way
	case fails && o.is("max-bad"): // which is 0
		return "--max-bad N leaves out up to N malformed records, -1 any number"
	case fails:
		return skip + "; --bad-file FILE keeps them"
	}
	return ""
}
