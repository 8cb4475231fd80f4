// Package convert turns data sets in foreign formats into the payloads of records.
//
// A Decoder reads the samples of one input in order and gives each to an Encoder,
// which builds the payload. Formats lists what can be read, Encodings what can be
// written; Run puts the two together, in parallel and in order: the same sources,
// options and seed give the same payloads at any parallelism.
//
// The package is pure: it knows io.Reader and io.ReaderAt, no files and no stores.
// Walking a directory, opening, and writing the shards is the caller's.
//
// Nothing in an input is trusted. Lengths are checked against what is left, or read
// in steps, before memory is taken for them; depth and size of a record are bounded
// by Limits; nothing is ever executed.
//
// # Files
//
//	convert, errors, policy           what is given and asked for; what may be wrong, and what is done then
//	run, produce, serve, batch        the tasks of a run, made in order and carried out in parallel
//	described                         the columns of an input, which those of the others must fit
//	notes                             what is told of inputs because the records do not show it
//	formats, sniff, snifftable        the formats, and how that of an input is found
//	compressed, gzipmembers,          what is done to an input before its format reads it
//	charset, bounded
//	lines, text, csv*, libsvm,        formats of lines, which are cut into blocks
//	jsonl, jsonkeys
//	images*, mnist*, cifar            images and their labels
//	npy*, npz                         arrays of numpy
//	parquet*                          Parquet, of which the footer and the pages are checked before the library sees them
//	tfrecord*, webdataset*            records of TensorFlow; samples in a tar
//	unpickle*                         pickles, by a machine that executes nothing
//	encodings, encoder, nesting       the encodings, and the order of calls that all are held to
//	json, msgpack, picklew, raw       one encoding each
//	shuffle, shufflemerge             a random order of more records than memory holds
//	number, word                      numbers from digits, eight characters at once
package convert

import (
	"context"
	"io"
	"math"
)

// Source is an input that is not open yet. A tree of images is a sequence of
// sources that carry labels.
type Source struct {
	// Name helps to find the format by its extension, and formats of one sample a file
	// put it into the record.
	Name string
	// Title is what messages call the input; "" is Name.
	Title string
	// Label names the class of every sample of this input, "" if it has none; Class is
	// its number, from 0.
	Label string
	Class int
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
	// ReaderAt serves the formats that begin at their end (Parquet, zip); nil if the
	// content can only be read in order.
	ReaderAt io.ReaderAt
	// Size is the length in bytes; negative if it is not known.
	Size int64
	// Close is called once when the content was read; nil if there is nothing to do.
	Close func() error
}

// Input is an open Source as a format sees it: decompressed if it was compressed,
// and then without ReaderAt and Size.
type Input struct {
	Name  string // of the Source, without the extension of a compression
	Label string
	Class int

	Reader   io.Reader   // never nil; reads from the start
	ReaderAt io.ReaderAt // nil if there is none; Size is then negative
	Size     int64
}

// Decoder reads the samples of one input in order. It belongs to one goroutine.
type Decoder interface {
	// Next gives the next sample to enc, and returns io.EOF after the last. A
	// *RecordError says that this sample is bad and that the next call goes on behind
	// it; any other error ends the input. What enc holds after an error is dropped.
	// Next does not look at enc.Err: that is for its caller.
	Next(enc Encoder) error
}

// Limits bound what one record may take.
type Limits struct {
	// Record is the size in bytes of the largest record, in the input and as a
	// payload; at most 2 GiB - 1.
	Record int
	// Depth is how deep values may nest.
	Depth int
}

// The limits that hold where an option is zero.
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

// Options say what Run does. The zero value reads any format as it is usually meant,
// writes msgpack, uses every processor and stops at the first bad record.
type Options struct {
	// Format is the name of one of Formats; "" finds it by the content and the name of
	// the first source, and holds all others to it. Empty sources whose name says nothing
	// are passed over then.
	Format string
	// Encoding is the name of one of Encodings, or of Shown; "" is the first.
	Encoding string
	// Jobs is the number of workers; 0 is one for each processor. The payloads do not
	// depend on it.
	Jobs   int
	Limits Limits
	Bad    BadPolicy
	// Charset is the name of one of Charsets, in which the text of all inputs is written;
	// "" is UTF-8. Places in messages are those in the text as UTF-8.
	Charset string
	// SkipLines is how many lines of each input, of a format of lines, are left out in front
	// of its header and its records.
	SkipLines int64
	// Labelled refuses images whose Source has no label.
	Labelled bool

	CSV CSVOptions
}
