package dataset

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/copying"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/paddlecloud/pfs/split"
	"github.com/urfave/cli/v2"
)

// convertOptions are the flags of dataset convert, and what check makes of them.
type convertOptions struct {
	outputPath, namePrefix string
	lineCount, numShards   int64
	shardSize              cliio.SizeFlag
	paddleCompat           bool

	format, payload string
	encoding        string
	rules           []transfer.Rule
	delimiter       string
	noHeader, text  bool
	skipLines       int64
	columns, null   string
	types, labels   []string
	labelFrom       string

	shuffle       bool
	seed          uint64
	shuffleMemory cliio.SizeFlag

	bad, badFile string
	maxBad       int64
	damage       datafile.ReadOptions // of recordio
	maxRecord    cliio.SizeFlag

	compressor string
	chunkSize  cliio.SizeFlag
	jobs       int

	resume, restart, force, dryRun, quiet, json bool

	allowEmpty bool

	given func(name string) bool // whether a flag was; nil: none

	rule    split.Rule
	pattern split.Pattern
	options convert.Options
	packed  recordio.Compressor
}

const (
	defaultShardBytes = 256 << 20
	// defaultChunkBytes is less than the reference's 32 MiB: faster to read, and less
	// is lost to damage.
	defaultChunkBytes = 4 << 20
)

func (o *convertOptions) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "output-path", Usage: "write the shards into `DIR`, which is made if it is missing", Destination: &o.outputPath},
		&cli.StringFlag{Name: "name-prefix", Usage: "begin the names of the shards with `PREFIX`", Destination: &o.namePrefix},
		&cli.Int64Flag{Name: "line-count", Usage: "put `N` records into each shard", DefaultText: "none", Destination: &o.lineCount},
		&cli.Int64Flag{Name: "num-shards", Usage: "make `K` shards, whose records differ by at most one", DefaultText: "none", Destination: &o.numShards},
		&cli.GenericFlag{Name: "shard-size", Usage: "put records of `SIZE` bytes into each shard (256M if nothing else is said)", Value: &o.shardSize},
		&cli.BoolFlag{Name: "paddle-compat", Usage: "cut, count in names and chunk as convert of paddle.v2.dataset.common: see docs/datasets.md", Destination: &o.paddleCompat},
		&cli.StringFlag{Name: "format", Usage: "the inputs are `NAME` (csv if a flag about tables is given, else found by content and name)", Destination: &o.format},
		&cli.GenericFlag{Name: "include", Usage: "read what matches `PATTERN` below directories; of all rules the last that matches decides", Value: &copying.RuleFlag{Rules: &o.rules}},
		&cli.GenericFlag{Name: "exclude", Usage: "leave out what matches `PATTERN` below directories (*.json, raw/); excluded directories are not entered", Value: &copying.RuleFlag{Rules: &o.rules, Exclude: true}},
		&cli.StringFlag{Name: "payload", Usage: "encode records as `NAME`", Value: convert.Encodings[0].Name, Destination: &o.payload},
		&cli.StringFlag{Name: "encoding", Usage: "text is written in `NAME`: " + strings.Join(convert.Charsets(), ", ") + " (utf-8)", Destination: &o.encoding},
		&cli.StringFlag{Name: "delimiter", Usage: "`CHAR` between the columns of a table, or tab, or space for any run of blanks", Destination: &o.delimiter},
		&cli.BoolFlag{Name: "no-header", Usage: "the first line of a table is a record", Destination: &o.noHeader},
		&cli.Int64Flag{Name: "skip-lines", Usage: "leave out the first `N` lines of each input, before a header", DefaultText: "none", Destination: &o.skipLines},
		&cli.StringFlag{Name: "columns", Usage: "`NAMES` of the columns of a table without a header, between commas", Destination: &o.columns},
		&cli.GenericFlag{Name: "type", Usage: "`COLUMN=TYPE` of a table, COLUMN by name or number from 1: text, bytes, int, float, float32, bool, skip; several times", Value: app.ListFlag(&o.types)},
		&cli.BoolFlag{Name: "text", Usage: "columns without --type are text; do not find out their types", Destination: &o.text},
		&cli.StringFlag{Name: "null", Usage: "`TEXT` in a table that means that the value is missing, such as NA", Destination: &o.null},
		&cli.GenericFlag{Name: "label", Usage: "`COLUMN` of a table that is a label: records become [features, labels]; several times", Value: app.ListFlag(&o.labels)},
		&cli.StringFlag{Name: "label-from", Usage: "the label of an image is the directory right below the operand (top), the one it is in (dir), or there is none: `WHICH`", Value: string(LabelFromTop), Destination: &o.labelFrom},
		&cli.BoolFlag{Name: "shuffle", Usage: "put the records into a random order", Destination: &o.shuffle},
		&cli.Uint64Flag{Name: "seed", Usage: "shuffle by the number `N`", Destination: &o.seed},
		&cli.GenericFlag{Name: "shuffle-memory", Usage: "shuffle in about `SIZE` of memory (64M), the rest in the folder for temporary files", Value: &o.shuffleMemory},
		&cli.StringFlag{Name: "bad", Usage: "`POLICY` for records that are malformed: fail, or skip them", Value: "fail", Destination: &o.bad},
		&cli.Int64Flag{Name: "max-bad", Usage: "skip at most `N` records; -1 means any number", Value: convert.DefaultMaxBad, Destination: &o.maxBad},
		&cli.StringFlag{Name: "bad-file", Usage: "skip malformed records and write them to `FILE`, as JSON lines with the reason", Destination: &o.badFile},
		o.damage.DamageFlag("fail"),
		&cli.GenericFlag{Name: "max-record", Usage: "refuse records of more than `SIZE` (64M)", Value: &o.maxRecord},
		&cli.StringFlag{Name: "compressor", Usage: "compress chunks by `NAME`: none, snappy, gzip, zstd", Value: "snappy", Destination: &o.compressor},
		&cli.GenericFlag{Name: "chunk-size", Aliases: []string{"chunk"}, Usage: "put records of `SIZE` bytes into a chunk, or one record with 0 (4M; 32M with --paddle-compat)", Value: &o.chunkSize},
		&cli.IntFlag{Name: "jobs", Aliases: []string{"j", "parallel"}, Usage: "work on `N` pieces of input at once; 0 is one a processor", Destination: &o.jobs},
		&cli.BoolFlag{Name: "resume", Usage: "go on with what a run before has finished", Destination: &o.resume},
		&cli.BoolFlag{Name: "restart", Usage: "discard what a run before has finished", Destination: &o.restart},
		app.ForceFlag(&o.force),
		&cli.BoolFlag{Name: "allow-empty", Usage: "make a dataset also of no records", Destination: &o.allowEmpty},
		&cli.BoolFlag{Name: "dry-run", Usage: "read everything, write nothing, print the shards that would be made", Destination: &o.dryRun},
		app.QuietFlag(&o.quiet),
		app.JSONFlag(&o.json),
	}
}

// suffix is what stands behind the prefix in the names of shards.
func (o *convertOptions) suffix() string {
	if o.paddleCompat && o.lineCount > 0 {
		return "-%05d"
	}
	return "-%05d-of-%05d"
}

func (o *convertOptions) of() split.Of {
	if o.paddleCompat {
		return split.OfLast
	}
	return split.OfCount
}

// ofText is of for the manifest.
func (o *convertOptions) ofText() string {
	switch {
	case !o.pattern.HasTotal():
		return ""
	case o.paddleCompat:
		return "last"
	}
	return "count"
}

// ofBytes lists the flags that the bytes of the shards depend on, in the order of the
// alphabet, for the manifest.
func (o *convertOptions) ofBytes() []string {
	list := o.ofRecords()
	if o.damage.Policy != recordio.Fail { // records of RecordIO have no other options that are not in order
		option := "--on-damage=" + o.damage.Damage
		i, _ := slices.BinarySearch(list, option)
		list = slices.Insert(list, i, option)
	}
	if o.options.Bad.Policy == convert.Fail {
		return list
	}
	return slices.Insert(list, 0, "--bad=skip") // the first in the alphabet
}

// ofRecords lists the flags that a run which goes on with another must share with it:
// all but what happens to malformed records and to damage. What was finished had none of these, or
// left them out; that its records are the same is checked.
func (o *convertOptions) ofRecords() []string {
	var list []string
	add := func(given bool, name string, value any) {
		if given {
			list = append(list, fmt.Sprintf("--%s=%v", name, value))
		}
	}
	add(o.format != recordsFormat || o.is("payload"), "payload", o.payload)
	add(true, "compressor", o.compressor)
	add(true, "chunk-size", o.chunkSize.Bytes)
	add(o.lineCount > 0, "line-count", o.lineCount)
	add(o.numShards > 0, "num-shards", o.numShards)
	add(o.shardSize.Given, "shard-size", o.shardSize.Bytes)
	add(o.paddleCompat, "paddle-compat", true)
	add(o.format != "", "format", o.format)
	add(o.shuffle, "shuffle", true)
	add(o.shuffle, "seed", o.seed)
	add(o.encoding != "", "encoding", o.encoding)
	add(o.delimiter != "", "delimiter", o.delimiter)
	add(o.noHeader, "no-header", true)
	add(o.skipLines > 0, "skip-lines", o.skipLines)
	add(o.text, "text", true)
	add(o.columns != "", "columns", o.columns)
	add(o.null != "", "null", o.null)
	add(o.is("label-from"), "label-from", o.labelFrom)
	add(o.maxRecord.Given, "max-record", o.maxRecord.Bytes)
	for _, t := range o.types {
		add(true, "type", t)
	}
	slices.Sort(list)
	for _, l := range o.labels { // their order matters, as that of the rules
		add(true, "label", l)
	}
	for _, r := range o.rules {
		add(!r.Exclude, "include", r.Pattern)
		add(r.Exclude, "exclude", r.Pattern)
	}
	return list
}

// mayBeMNIST reports whether names of MNIST mean files of MNIST.
func (o *convertOptions) mayBeMNIST() bool { return o.format == "" || o.format == mnistName }

// workers is how many goroutines compress.
func (o *convertOptions) workers() int {
	if o.jobs > 0 {
		return o.jobs
	}
	return runtime.GOMAXPROCS(0)
}
