// Package convert converts data sets in foreign formats to record payloads.
//
// A Decoder reads the samples of one input in order and passes each to an Encoder, which builds the
// payload. Formats lists the input formats, Encodings the payload encodings. Run combines them, in
// parallel and in order: the same sources, options and seed give the same payloads at any
// parallelism.
//
// The package uses io.Reader and io.ReaderAt, and knows neither files nor stores. The caller walks
// directories, opens files and writes shards.
//
// Inputs are not trusted. Memory is allocated for a length only after a check against the remaining
// bytes, or in steps as bytes arrive. Limits bound depth and size of a record. Nothing is ever
// executed.
//
// # Files
//
//	convert, errors, policy           the options; errors, and the policy for bad records
//	run, produce, serve, batch        the tasks of a run, made in order and processed in parallel
//	prior                             a run in parts, by several processes
//	described                         the columns of an input, which must fit those of the others
//	notes                             facts about inputs that the records do not show
//	formats, sniff, snifftable        the formats, and their detection
//	compressed, gzipmembers,          processing of an input before its format reads it
//	charset, bounded
//	lines, text, csv*, libsvm,        formats of lines, which are cut into blocks
//	jsonl, jsonkeys
//	images*, mnist*, cifar            images and their labels
//	npy*, npz                         arrays of numpy
//	parquet*                          Parquet; footer and pages are checked before the library reads them
//	arrow*                            Arrow IPC; descriptions of messages are checked before the library reads them
//	avro*                             object container files of Avro
//	tfrecord*, webdataset*            records of TensorFlow; samples in a tar
//	unpickle*                         pickles, read by a machine that executes nothing
//	encodings, encoder, nesting       the encodings, and the order of calls that all enforce
//	json, msgpack, picklew, raw       one encoding each
//	number, word                      parsing of numbers, eight characters at once
package convert

import (
	"context"
	"io"
	"math"
)

// Source is an unopened input. A tree of images is a sequence of sources with labels.
type Source struct {
	// Name helps to find the format by its extension. Formats with one sample a file store it in
	// the record.
	Name string
	// Title names the input in messages; "" is Name.
	Title string
	// Label is the class name of every sample of this input, "" if it has none. Class is its
	// number, from 0.
	Label string
	Class int
	// Bytes is the size of the content, if the caller knows it. Run does not use it.
	Bytes int64
	// From and To select the records of an input of lines that begin in these bytes; To 0 is the
	// end. With Exact a record begins at From; otherwise the first one after the next newline. Of a Parquet
	// file they select row groups. See Prior.Cuts.
	From, To int64
	Exact    bool
	// Open opens the content. It is called once, from any goroutine.
	Open func(ctx context.Context) (Content, error)
}

func (s *Source) title() string {
	if s.Title != "" {
		return s.Title
	}
	return s.Name
}

// Content is what a Source opens.
type Content struct {
	// Reader reads from the start. If nil, ReaderAt is read in order.
	Reader io.Reader
	// ReaderAt serves the formats that are read from their end (Parquet, zip). It is nil if the
	// content can only be read in order.
	ReaderAt io.ReaderAt
	// Size is the length in bytes; negative if unknown.
	Size int64
	// Close is called once after the content has been read; it may be nil.
	Close func() error

	labels *opened // see WithLabels
}

// Input is an open Source as a format sees it: decompressed, and in that case without ReaderAt and
// Size.
type Input struct {
	Name  string // of the Source, without the extension of a compression
	Label string
	Class int

	Reader   io.Reader   // never nil; reads from the start
	ReaderAt io.ReaderAt // may be nil; Size is then negative
	Size     int64

	labels *Input // of MNIST images; may be nil

	from, to int64 // of the Source; for Parquet
}

// Decoder reads the samples of one input in order. It belongs to one goroutine.
type Decoder interface {
	// Next encodes the next sample with enc, and returns io.EOF after the last. A *RecordError
	// means that this sample is bad and that the next call continues after it; any other error ends
	// the input. After an error, the content of enc is discarded. The caller of Next checks
	// enc.Err, not Next.
	Next(enc Encoder) error
}

// Limits bound the size of one record.
type Limits struct {
	// Record is the maximum size of a record in bytes, both in the input and as a payload; at most
	// 2 GiB - 1.
	Record int
	// Depth is the maximum nesting of values.
	Depth int
}

// The default limits.
const (
	DefaultMaxRecord = 64 << 20
	DefaultMaxDepth  = 64
)

func (l Limits) withDefaults() Limits {
	if l.Record <= 0 {
		l.Record = DefaultMaxRecord
	}
	l.Record = min(l.Record, math.MaxInt32)
	if l.Depth <= 0 {
		l.Depth = DefaultMaxDepth
	}
	return l
}

// Options configure Run. The zero value detects the format, reads it with its defaults, writes
// msgpack, uses every processor and stops at the first bad record.
type Options struct {
	// Format is the name of one of Formats. "" detects it by the content and the name of the first
	// source and requires it of all others; empty sources whose name implies no format are then
	// skipped.
	Format string
	// Encoding is the name of one of Encodings, or of Shown; "" is the first.
	Encoding string
	// Jobs is the number of workers; 0 is one for each processor. Payloads do not depend on it.
	Jobs   int
	Limits Limits
	Bad    BadPolicy
	// Charset is the name of one of Charsets, the encoding of all text inputs; "" is UTF-8.
	// Positions in messages refer to the text as UTF-8.
	Charset string
	// SkipLines is the number of lines to skip at the start of each input, before its header and
	// records. It applies to formats of lines.
	SkipLines int64
	// AllowNaN accepts NaN, Infinity and -Infinity in JSON Lines, as Python's json module writes
	// them. The encoding json cannot express them.
	AllowNaN bool
	// Labelled refuses images whose Source has no label.
	Labelled bool

	CSV CSVOptions
}
