package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/paddlecloud/pfs/split"
)

// RecordsFormat is the format of inputs that are datasets, or files of RecordIO. Their records
// are not changed, only cut, ordered or compressed anew.
const RecordsFormat = "recordio"

// Input is what one operand names: a file, a directory with all below it, or a stream.
type Input struct {
	// File has the operand as its title. The manifest and the records have the last part of it.
	recordfile.File

	// Expand, if not nil, calls fn with each file or directory that a pattern matches.
	Expand func(ctx context.Context, fn func(recordfile.File) error) error
}

// Path returns the Input for a file or directory of a file system.
func Path(e transfer.End) Input {
	return Input{File: recordfile.File{Title: string(e.Path), End: e}}
}

// name returns the operand as manifests name it.
func (in Input) name() string {
	if in.Stream != nil {
		return "-"
	}
	return in.Title
}

// Each calls fn with each file or directory.
func (in Input) Each(ctx context.Context, fn func(recordfile.File) error) error {
	if in.Expand == nil || in.Stream != nil {
		return fn(in.File)
	}
	return in.Expand(ctx, fn)
}

// Options are the inputs and options of Convert. Errors name an option as the manifest does, such
// as --line-count.
type Options struct {
	Inputs []Input      `json:"-"`
	Dir    transfer.End `json:"-"` // for the shards; made if it is missing
	Title  string       // the name of Dir in messages; empty: its path
	Name   string       // prefix of the names of the shards

	// At most one of these determines how records are cut into shards. Default: 256 MiB a shard.
	LineCount int64 // records a shard
	NumShards int64
	ShardSize int64 // bytes of records a shard
	// PaddleCompat cuts, numbers and chunks as convert of paddle.v2.dataset.common does.
	PaddleCompat bool

	Format  string          // of the inputs: one of convert.Formats, or RecordsFormat; empty: detect
	Payload string          // one of convert.Encodings; empty: the first, or that of the records that are read
	Rules   []transfer.Rule // for files below directories
	// LabelFrom chooses the directory that is the label of an image: the one below the input
	// ("top", the default), the one that the image is in ("dir"), or "none".
	LabelFrom string

	Encoding  string // of text: one of convert.Charsets; empty: UTF-8
	Delimiter string // between the columns of a table: one character, "tab", or "space" for any run of blanks
	NoHeader  bool   // the first line of a table is a record
	SkipLines int64  // lines to skip at the beginning of each input
	AllowNaN  bool   // accept NaN and Infinity in JSON Lines
	Columns   string // names of columns, between commas
	Types     []string
	Text      bool   // columns that are not in Types are text
	Null      string // the text of a missing value
	Labels    []string

	Shuffle       bool
	Seed          uint64
	ShuffleMemory int64 // bytes; 0: 64 MiB

	SkipBad   bool            // leave malformed records out
	MaxBad    int64           // most malformed records; 0: convert.DefaultMaxBad, less than 0: any number
	BadFile   *transfer.End   `json:"-"` // leave them out and write them to this file, or to Stdout if it has no file system
	Stdout    Stdout          `json:"-"`
	OnDamage  recordio.Policy // for damage of inputs that are RecordIO
	MaxRecord int64           // bytes; 0: the default of package convert

	Compressor string // empty: snappy
	ChunkSize  int64  // bytes; 0: 4 MiB, or 32 MiB with PaddleCompat; less than 0: one record
	Jobs       int    // goroutines that compress; 0: one a processor

	Resume     bool // keep the finished shards of an earlier run
	Restart    bool // discard them
	Force      bool // replace what exists
	AllowEmpty bool
	DryRun     bool // read everything, write nothing

	// Tell, if not nil, gets remarks, such as the name of a file that is left out.
	Tell func(text string) `json:"-"`
	// Damaged, if not nil, is called for each damaged place of an input that is RecordIO.
	Damaged func(recordio.Damage) `json:"-"`
	// Meter, if not nil, begins to show the progress of reading; less than 0 bytes: unknown.
	Meter func(bytes int64, files int) recordfile.Meter `json:"-"`
	// SameFile, if not nil, reports whether an input is the file e by another name.
	SameFile func(ctx context.Context, in recordfile.File, e transfer.End) bool `json:"-"`
	// Lease is the time after which a run that shows no sign of life counts as dead; 0: 10 s.
	Lease time.Duration
	// Unit is the size in bytes of the parts of the inputs that several processes read; 0: by the size of all inputs.
	Unit int64
}

// Stdout is a stream for output that has no name.
type Stdout interface {
	io.Writer
	Flush() error
}

const (
	defaultShardBytes = 256 << 20
	// defaultChunkBytes is less than the reference's 32 MiB: reading is faster, and damage costs
	// less.
	defaultChunkBytes = 4 << 20
	// maxChunkBytes is what every reader accepts by default.
	maxChunkBytes = recordio.DefaultMaxChunkBytes / 2
	// maxRecordBytes is the largest value of MaxRecord: readers refuse larger records, each of
	// which has a chunk of its own, by default.
	maxRecordBytes = recordio.DefaultMaxChunkBytes - 1<<20
)

// settings are checked Options, and what follows from them.
type settings struct {
	Options
	label   labelFrom
	rule    split.Rule
	pattern split.Pattern
	convert convert.Options
	packed  recordio.Compressor
}

// check refuses invalid options.
func (o Options) check() (*settings, error) {
	s := &settings{Options: o}
	if o.Tell == nil {
		s.Tell = func(string) {}
	}
	if s.Title == "" {
		s.Title = string(o.Dir.Path)
	}
	s.label = labelFrom(cmp.Or(o.LabelFrom, string(labelFromTop)))
	if o.Compressor == "" {
		s.Compressor = recordio.Snappy.String()
	}
	switch {
	case o.Dir.FS == nil:
		return nil, invalid("--output-path is needed: the directory for the shards")
	case o.Name == "":
		return nil, invalid("--name-prefix is needed: what the names of the shards begin with")
	case o.Resume && o.Restart:
		return nil, invalid("--resume and --restart exclude each other")
	case o.Jobs < 0 || o.Jobs > 256:
		return nil, invalid("--jobs %d: a number from 0 to 256 is needed", o.Jobs)
	}
	if why := manifest.CheckName(o.Name); why != "" {
		return nil, invalid("--name-prefix %q: %s", o.Name, why)
	}
	if s.label != labelFromTop && s.label != labelFromDir && s.label != labelFromNone {
		return nil, invalid("--label-from %s: top, dir or none is needed", o.LabelFrom)
	}
	s.convert.Labelled = s.label != labelFromNone
	for _, check := range []func() error{s.checkRule, s.checkWriting, s.checkTable, s.checkText} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// checkText refuses values that no manifest can have.
func (s *settings) checkText() error {
	for _, text := range s.ofBytes() {
		if !utf8.ValidString(text) {
			return invalid("%q: flags are UTF-8: the manifest has them", text)
		}
	}
	return nil
}

// checkRule determines how records are cut into shards and how these are named.
func (s *settings) checkRule() (err error) {
	given := 0
	for _, n := range []int64{s.LineCount, s.NumShards, s.ShardSize} {
		if n != 0 {
			given++
		}
	}
	switch {
	case given > 1:
		return invalid("--line-count, --num-shards and --shard-size exclude each other")
	case s.LineCount < 0 || s.NumShards < 0 || s.NumShards > manifest.MaxShards:
		return invalid("--line-count and --num-shards are numbers from 1 on; at most %d shards are made", manifest.MaxShards)
	case s.PaddleCompat && given == 1 && s.ShardSize != 0, s.PaddleCompat && given == 0:
		return invalid("--paddle-compat needs --line-count or --num-shards")
	case s.PaddleCompat && s.LineCount > 0:
		s.rule = split.PaddleConvert(s.LineCount)
	case s.LineCount > 0:
		s.rule = split.Records(s.LineCount)
	case s.NumShards > 0:
		s.rule = split.Files(int(s.NumShards))
	default:
		s.rule = split.Bytes(cmp.Or(s.ShardSize, defaultShardBytes))
	}
	suffix, of := "-%05d-of-%05d", split.OfCount
	if s.PaddleCompat {
		of = split.OfLast
		if s.LineCount > 0 {
			suffix = "-%05d"
		}
	}
	s.pattern, err = split.ParsePattern(split.Escape(s.Name)+suffix, of)
	return err
}

// checkWriting determines how records are read and written.
func (s *settings) checkWriting() (err error) {
	if s.packed, err = recordio.ParseCompressor(s.Compressor); err != nil {
		return invalid("--compressor %s: none, snappy, gzip or zstd is needed", s.Compressor)
	}
	switch {
	case s.ChunkSize > maxChunkBytes:
		return invalid("--chunk-size: a size of at most %dM is needed", maxChunkBytes>>20)
	case s.ChunkSize == 0 && s.PaddleCompat:
		s.ChunkSize = recordio.DefaultChunkBytes
	case s.ChunkSize == 0:
		s.ChunkSize = defaultChunkBytes
	}
	switch {
	case s.MaxRecord > maxRecordBytes:
		return invalid("--max-record: at most %dM, which is what readers take, is needed", maxRecordBytes>>20)
	case s.SkipLines < 0:
		return invalid("--skip-lines %d: a number from 0 on is needed", s.SkipLines)
	case s.ShuffleMemory > math.MaxInt32:
		return invalid("--shuffle-memory is less than 2G")
	}
	c := &s.convert
	c.Format, c.Encoding, c.Charset, c.Jobs, c.SkipLines = s.Format, s.encoding(), s.Encoding, s.Jobs, s.SkipLines
	c.AllowNaN = s.AllowNaN
	c.Limits.Record = int(s.MaxRecord)
	c.Bad.Max = s.MaxBad
	switch {
	case s.BadFile != nil:
		c.Bad.Policy = convert.Collect
	case s.SkipBad:
		c.Bad.Policy = convert.Skip
	}
	return s.checkNames()
}

// checkNames refuses unknown formats and payloads.
func (s *settings) checkNames() error {
	if known := Formats(); s.Format != "" && !slices.Contains(known, s.Format) {
		return invalid("--format %s: there is no such format: %s", s.Format, strings.Join(known, ", "))
	}
	if known := convert.Charsets(); s.Encoding != "" && !slices.Contains(known, s.Encoding) {
		return invalid("--encoding %s: there is no such encoding of text: %s", s.Encoding, strings.Join(known, ", "))
	}
	if known := Payloads(); !slices.Contains(known, s.encoding()) {
		return invalid("--payload %s: there is no such encoding: %s", s.Payload, strings.Join(known, ", "))
	}
	return nil
}

// Formats lists the formats of inputs.
func Formats() (names []string) {
	for _, f := range convert.Formats {
		names = append(names, f.Name)
	}
	return append(names, RecordsFormat)
}

// Payloads lists the encodings of records.
func Payloads() (names []string) {
	for _, e := range convert.Encodings {
		names = append(names, e.Name)
	}
	return names
}

// encoding is the encoding of records if the inputs do not state one.
func (s *settings) encoding() string { return cmp.Or(s.Payload, convert.Encodings[0].Name) }

// checkTable determines how tables are read.
func (s *settings) checkTable() error {
	t := &s.convert.CSV
	t.NoHeader, t.Text, t.Null, t.Labels = s.NoHeader, s.Text, s.Null, s.Labels
	switch {
	case s.Delimiter == "tab":
		t.Comma = '\t'
	case s.Delimiter == "space":
		t.Comma = ' '
	case len(s.Delimiter) == 1 && s.Delimiter[0] < utf8.RuneSelf && !strings.ContainsAny(s.Delimiter, "\"\r\n\x00"):
		t.Comma = s.Delimiter[0]
	case s.Delimiter != "":
		return invalid("--delimiter %q: one ASCII character is needed, no quote and no end of a line; or tab, or space", s.Delimiter)
	}
	if s.Columns != "" {
		t.Columns = strings.Split(s.Columns, ",")
	}
	if s.Delimiter != "" || s.NoHeader || s.Text || s.Columns != "" || s.Null != "" || len(s.Types)+len(s.Labels) > 0 {
		switch s.Format {
		case "":
			s.convert.Format = "csv"
		case "csv", "tsv":
		default:
			return invalid("--delimiter, --no-header, --columns, --type, --text, --null and --label are for tables, not --format %s", s.Format)
		}
	}
	for _, text := range s.Types {
		i := strings.LastIndex(text, "=")
		parsed, err := convert.ParseType(text[i+1:])
		if i < 0 || err != nil {
			return invalid("--type %q: COLUMN=TYPE is needed, TYPE one of text, bytes, int, float, float32, bool, skip", text)
		}
		if t.Types == nil {
			t.Types = map[string]convert.Type{}
		}
		name := text[:i]
		if _, twice := t.Types[name]; twice {
			return invalid("--type names the column %q twice", name)
		}
		t.Types[name] = parsed
	}
	return errors.Join(refuseTwice("columns", t.Columns), refuseTwice("label", t.Labels))
}

// refuseTwice refuses columns that an option names more than once.
func refuseTwice(option string, columns []string) error {
	for i, name := range columns {
		if slices.Contains(columns[:i], name) {
			return invalid("--%s names the column %q twice", option, name)
		}
	}
	return nil
}

// ofText is, for the manifest, what -of- in the names of the shards counts.
func (s *settings) ofText() string {
	switch {
	case !s.pattern.HasTotal():
		return ""
	case s.PaddleCompat:
		return "last"
	}
	return "count"
}

// ofBytes lists, for the manifest, the options that the bytes of the shards depend on, in
// alphabetical order.
func (s *settings) ofBytes() []string {
	list := s.ofRecords()
	if s.OnDamage != recordio.Fail { // for RecordIO, all other options are in order already
		option := "--on-damage=" + s.OnDamage.String()
		i, _ := slices.BinarySearch(list, option)
		list = slices.Insert(list, i, option)
	}
	if s.convert.Bad.Policy == convert.Fail {
		return list
	}
	return slices.Insert(list, 0, "--bad=skip") // the first in the alphabet
}

// ofRecords lists the options that a run must share with the run that it resumes: all but those for
// malformed records and damage. The finished shards have no such records, and their records are
// compared with those of this run.
func (s *settings) ofRecords() []string {
	var list []string
	add := func(given bool, name string, value any) {
		if given {
			list = append(list, fmt.Sprintf("--%s=%v", name, value))
		}
	}
	add(s.Format != RecordsFormat || s.Payload != "", "payload", s.encoding())
	add(true, "compressor", s.Compressor)
	add(true, "chunk-size", max(0, s.ChunkSize))
	add(s.LineCount > 0, "line-count", s.LineCount)
	add(s.NumShards > 0, "num-shards", s.NumShards)
	add(s.ShardSize > 0, "shard-size", s.ShardSize)
	add(s.PaddleCompat, "paddle-compat", true)
	add(s.Format != "", "format", s.Format)
	add(s.Shuffle, "shuffle", true)
	add(s.Shuffle, "seed", s.Seed)
	add(s.Encoding != "", "encoding", s.Encoding)
	add(s.Delimiter != "", "delimiter", s.Delimiter)
	add(s.NoHeader, "no-header", true)
	add(s.SkipLines > 0, "skip-lines", s.SkipLines)
	add(s.AllowNaN, "allow-nan", true)
	add(s.Text, "text", true)
	add(s.Columns != "", "columns", s.Columns)
	add(s.Null != "", "null", s.Null)
	add(s.LabelFrom != "", "label-from", s.LabelFrom)
	add(s.MaxRecord > 0, "max-record", s.MaxRecord)
	for _, t := range s.Types {
		add(true, "type", t)
	}
	slices.Sort(list)
	for _, l := range s.Labels { // their order matters, as that of the rules
		add(true, "label", l)
	}
	for _, r := range s.Rules {
		add(!r.Exclude, "include", r.Pattern)
		add(r.Exclude, "exclude", r.Pattern)
	}
	return list
}

// mayBeMNIST reports whether names of MNIST files imply the format MNIST.
func (s *settings) mayBeMNIST() bool { return s.Format == "" || s.Format == mnistName }

// chunkBytes is ChunkSize for package recordio.
func (s *settings) chunkBytes() int {
	if s.ChunkSize < 0 {
		return recordio.SingleRecords
	}
	return int(s.ChunkSize)
}

// workers is the number of goroutines that compress.
func (s *settings) workers() int { return cmp.Or(s.Jobs, runtime.GOMAXPROCS(0)) }

// startMeter begins to show the progress of reading.
func (o *Options) startMeter(bytes int64, files int) recordfile.Meter {
	if o.Meter == nil {
		return recordfile.NoMeter{}
	}
	return o.Meter(bytes, files)
}
