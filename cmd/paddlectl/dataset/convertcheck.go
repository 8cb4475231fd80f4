package dataset

import (
	"errors"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/paddlecloud/pfs/split"
)

// check makes the values of the flags what they stand for.
func (o *convertOptions) check() error {
	switch {
	case o.outputPath == "":
		return cliargs.Usagef("--output-path is needed: the directory for the shards")
	case o.namePrefix == "":
		return cliargs.Usagef("--name-prefix is needed: what the names of the shards begin with")
	case o.resume && o.restart:
		return cliargs.Usagef("--resume goes on and --restart begins anew: give one")
	case o.jobs < 0 || o.jobs > 256:
		return cliargs.Usagef("--jobs %d: a number from 0 to 256 is needed", o.jobs)
	}
	if why := manifest.CheckName(o.namePrefix); why != "" {
		return cliargs.Usagef("--name-prefix %q: %s", o.namePrefix, why)
	}
	if from := labelFrom(o.labelFrom); from != LabelFromTop && from != LabelFromDir && from != LabelFromNone {
		return cliargs.Usagef("--label-from %s: top, dir or none is needed", o.labelFrom)
	}
	o.options.Labelled = labelFrom(o.labelFrom) != LabelFromNone
	for _, check := range []func() error{o.checkRule, o.checkWriting, o.checkPolicy, o.checkTable, o.checkText, o.checkIdle} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// maxRecordBytes is the largest value of --max-record: a record of more, which has a chunk
// of its own, is not read without being told so.
const maxRecordBytes = recordio.DefaultMaxChunkBytes - 1<<20

// checkText refuses values that no manifest can have.
func (o *convertOptions) checkText() error {
	for _, text := range o.ofBytes() {
		if !utf8.ValidString(text) {
			return cliargs.Usagef("%q: flags are UTF-8: the manifest has them", text)
		}
	}
	return nil
}

// checkRule finds how records are cut into shards and how these are called.
func (o *convertOptions) checkRule() error {
	given := 0
	for _, is := range []bool{o.lineCount != 0, o.numShards != 0, o.shardSize.Given} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return cliargs.Usagef("--line-count, --num-shards and --shard-size exclude each other")
	case o.lineCount < 0 || o.numShards < 0 || o.numShards > manifest.MaxShards,
		o.is("line-count") && o.lineCount == 0, o.is("num-shards") && o.numShards == 0:
		return cliargs.Usagef("--line-count and --num-shards are numbers from 1 on; at most %d shards are made", manifest.MaxShards)
	case o.paddleCompat && given == 1 && o.shardSize.Given, o.paddleCompat && given == 0:
		return cliargs.Usagef("--paddle-compat needs --line-count or --num-shards")
	case o.shardSize.Given && o.shardSize.Bytes == 0:
		return cliargs.Usagef("--shard-size 0: shards hold something")
	case o.paddleCompat && o.lineCount > 0:
		o.rule = split.PaddleConvert(o.lineCount)
	case o.lineCount > 0:
		o.rule = split.Records(o.lineCount)
	case o.numShards > 0:
		o.rule = split.Files(int(o.numShards))
	case o.shardSize.Given:
		o.rule = split.Bytes(o.shardSize.Bytes)
	default:
		o.rule = split.Bytes(defaultShardBytes)
	}
	var err error
	o.pattern, err = split.ParsePattern(split.Escape(o.namePrefix)+o.suffix(), o.of())
	return err
}

// checkWriting finds how shards are written.
func (o *convertOptions) checkWriting() error {
	var err error
	if o.packed, err = recordio.ParseCompressor(o.compressor); err != nil {
		return cliargs.Usagef("--compressor %s: none, snappy, gzip or zstd is needed", o.compressor)
	}
	if o.chunkSize.Bytes > datafile.MaxChunkBytes {
		return cliargs.Usagef("--chunk-size: a size of at most %s is needed", cliio.ShortSize(datafile.MaxChunkBytes))
	}
	if !o.chunkSize.Given {
		o.chunkSize.Bytes = defaultChunkBytes
		if o.paddleCompat {
			o.chunkSize.Bytes = recordio.DefaultChunkBytes
		}
	}
	if o.maxRecord.Bytes > maxRecordBytes {
		return cliargs.Usagef("--max-record: at most %s, which is what readers take, is needed", cliio.ShortSize(maxRecordBytes))
	}
	if o.skipLines < 0 {
		return cliargs.Usagef("--skip-lines %d: a number from 0 on is needed", o.skipLines)
	}
	o.options.SkipLines = o.skipLines
	if o.shuffleMemory.Bytes > math.MaxInt32 {
		return cliargs.Usagef("--shuffle-memory is less than 2G")
	}
	if err := o.damage.CheckPolicy(); err != nil {
		return err
	}
	o.options.Format, o.options.Encoding, o.options.Jobs = o.format, o.payload, o.jobs
	o.options.Limits.Record = int(o.maxRecord.Bytes)
	o.options.Charset = o.encoding
	return o.checkNames()
}

// checkNames refuses formats and payloads that there are not.
func (o *convertOptions) checkNames() error {
	if o.format != "" && !slices.Contains(FirstColumn(FormatLines()), o.format) {
		return cliargs.Usagef("--format %s: there is no such format: %s", o.format, namesOf(FormatLines()))
	}
	if known := convert.Charsets(); o.encoding != "" && !slices.Contains(known, o.encoding) {
		return cliargs.Usagef("--encoding %s: there is no such encoding of text: %s", o.encoding, strings.Join(known, ", "))
	}
	if !slices.ContainsFunc(convert.Encodings, func(e convert.Encoding) bool { return e.Name == o.payload }) {
		return cliargs.Usagef("--payload %s: there is no such encoding: %s", o.payload, namesOf(EncodingLines()))
	}
	return nil
}

// namesOf lists the first column.
func namesOf(lines [][2]string) string { return strings.Join(FirstColumn(lines), ", ") }

func FirstColumn(lines [][2]string) (names []string) {
	for _, l := range lines {
		names = append(names, l[0])
	}
	return names
}

// checkPolicy finds what happens to malformed records.
func (o *convertOptions) checkPolicy() error {
	policy, err := convert.ParsePolicy(o.bad)
	switch {
	case err != nil || policy == convert.Collect:
		return cliargs.Usagef("--bad %s: fail or skip is needed", o.bad)
	case policy == convert.Fail && o.badFile != "" && o.is("bad"):
		return cliargs.Usagef("--bad fail and --bad-file, which skips, exclude each other")
	case o.maxBad == 0:
		policy = convert.Fail
	case o.badFile != "":
		policy = convert.Collect
	}
	o.options.Bad.Policy, o.options.Bad.Max = policy, o.maxBad
	return nil
}

// checkTable finds how tables are read.
func (o *convertOptions) checkTable() error {
	t := &o.options.CSV
	t.NoHeader, t.Text, t.Null, t.Labels = o.noHeader, o.text, o.null, o.labels
	switch {
	case o.delimiter == "tab":
		t.Comma = '\t'
	case o.delimiter == "space":
		t.Comma = ' '
	case len(o.delimiter) == 1 && o.delimiter[0] < utf8.RuneSelf && !strings.ContainsAny(o.delimiter, "\"\r\n\x00"):
		t.Comma = o.delimiter[0]
	case o.delimiter != "":
		return cliargs.Usagef("--delimiter %q: one ASCII character is needed, no quote and no end of a line; or tab, or space", o.delimiter)
	}
	if o.columns != "" {
		t.Columns = strings.Split(o.columns, ",")
	}
	if o.delimiter != "" || o.noHeader || o.text || o.columns != "" || o.null != "" || len(o.types)+len(o.labels) > 0 {
		switch o.options.Format {
		case "":
			o.options.Format = "csv"
		case "csv", "tsv":
		default:
			return cliargs.Usagef("--delimiter, --no-header, --columns, --type, --text, --null and --label are for tables, not --format %s", o.format)
		}
	}
	for _, text := range o.types {
		name, kind, ok := cutLast(text, "=")
		parsed, err := convert.ParseType(kind)
		if !ok || err != nil {
			return cliargs.Usagef("--type %q: COLUMN=TYPE is needed, TYPE one of text, bytes, int, float, float32, bool, skip", text)
		}
		if t.Types == nil {
			t.Types = map[string]convert.Type{}
		}
		if _, twice := t.Types[name]; twice {
			return cliargs.Usagef("--type names the column %q twice", name)
		}
		t.Types[name] = parsed
	}
	return errors.Join(refuseTwice("columns", t.Columns), refuseTwice("label", t.Labels))
}

// refuseTwice refuses columns that a flag names more than once.
func refuseTwice(flag string, columns []string) error {
	for i, name := range columns {
		if slices.Contains(columns[:i], name) {
			return cliargs.Usagef("--%s names the column %q twice", flag, name)
		}
	}
	return nil
}

// cutLast cuts s at the last sep.
func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
