package convert

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"golang.org/x/text/encoding"
)

// Stats are the results of Run.
type Stats struct {
	Format   string // the format that was read; text if there was no input
	Inputs   int64
	Records  int64 // without bad ones
	Payload  int64 // bytes of their payloads
	Bad      int64 // omitted records
	Partial  int64 // records of which the encoding raw kept only one value
	FirstBad []*RecordError
	// Columns are the columns of a table, or of Parquet files and numpy arrays according to their
	// headers.
	Columns []Column
	// Notes are facts that the records do not show, in the order of the inputs; Unnoted counts
	// those beyond the first MaxNotes.
	Notes   []Note
	Unnoted int64
	// Start, End and Lines describe what was read of an input of lines if that was the only one:
	// where its first record begins, the end of the last one, and the number of lines up to there.
	Start, End, Lines int64
}

// Column is one column of a table, of Parquet files or of numpy arrays.
type Column struct {
	Name  string // "" if it has none; the only column of an array is the record
	Type  string // of a table the name of a Type; otherwise other types as well, with units and shapes
	Label int    // position among the labels, from 1, if the record is [features, labels]; else 0
}

// Run reads all sources in order and passes the payload of each record to emit, in order and from
// the caller's goroutine. A payload is valid during the call.
//
// Workers read ahead of emit by a bounded amount: memory is a few times Jobs blocks of 1 MiB, or as
// many records if they are larger, whatever the size of the inputs. The first error in the order of
// the records ends the run: a bad record unless Options.Bad permits it (*RecordError), and any
// error of a source, of sources, of emit and of ctx. Errors name the source. Run returns after
// everything that it opened is closed; only a Reader that does not return can delay it.
func Run(ctx context.Context, sources iter.Seq2[Source, error], opts Options, emit func(payload []byte) error) (Stats, error) {
	r, err := newRun(opts, emit)
	if err != nil {
		return Stats{}, err
	}
	stats, err := r.run(ctx, sources)
	stats.finish(opts.Encoding)
	return stats, err
}

// newRun checks the options.
func newRun(opts Options, emit func(payload []byte) error) (*run, error) {
	opts.Limits = opts.Limits.withDefaults()
	if opts.Jobs <= 0 {
		opts.Jobs = runtime.GOMAXPROCS(0)
	}
	payload, err := findEncoding(opts.Encoding)
	if err != nil {
		return nil, err
	}
	r := &run{opts: opts, encoding: payload, emit: emit,
		queue: make(chan *task, opts.Jobs), work: make(chan *task),
		batches: make(chan *batch, 2*opts.Jobs), blocks: make(chan []byte, 2*opts.Jobs)}
	if r.charset, err = findCharset(opts.Charset); err != nil {
		return nil, err
	}
	if opts.Format != "" {
		if r.format, err = findFormat(opts.Format); err != nil {
			return nil, err
		}
		if err := r.checkCharset(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// run is one call of Run. A producer makes tasks, in the order of the records, and puts each into
// queue and into work; workers process them; the caller's goroutine delivers their batches in the
// order of queue. A worker takes the oldest waiting task, so the task to be delivered next is
// always in progress.
type run struct {
	opts     Options
	encoding Encoding
	charset  encoding.Encoding // of the inputs; nil for UTF-8
	format   *Format           // set by the producer if it is to be detected
	guessed  bool              // whether it was detected
	first    string            // title of the source it was detected from
	lines    lineFormat        // set for a format of lines
	emit     func([]byte) error
	queue    chan *task
	work     chan *task
	batches  chan *batch // for reuse, like blocks
	blocks   chan []byte
	inputs   int64 // the producer's until it has ended, like start and end
	start    int64 // of the records in an input of lines
	end      int64
	stats    Stats // the caller's
}

// task is the work of one worker: a block of lines, or an input.
type task struct {
	source Source
	err    error   // if set, production ended with it
	open   *opened // the input, if it is already open

	lines     bool   // a block of lines:
	block     []byte // whole records
	parser    lineParser
	first     bool  // the first block of its input
	headBytes int64 // bytes of the input before its first block,
	headLines int64 // such as a header, and their lines

	out chan *batch
}

func (r *run) run(parent context.Context, sources iter.Seq2[Source, error]) (Stats, error) {
	ctx, cancel := context.WithCancel(parent)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(r.queue)
		defer close(r.work)
		r.produce(ctx, sources)
	})
	for range r.opts.Jobs {
		wg.Go(func() { r.serve(ctx) })
	}
	err := r.deliver(ctx)
	if err == nil {
		err = parent.Err()
	}
	cancel()
	wg.Wait()
	r.stats.Inputs = r.inputs
	if r.format != nil {
		r.stats.Format = r.format.Name
	}
	r.stats.Start, r.stats.End = r.start, r.end
	if t, ok := r.lines.(*table); ok {
		r.stats.Columns = t.summary()
	}
	return r.stats, err
}

// finish removes columns that records in the given encoding do not need.
func (s *Stats) finish(encoding string) {
	switch {
	case s.Format == pickleFormat.Name && !haveTimes(s.Columns):
		s.Columns = nil // the values need no types
	case encoding == rawName && s.Format != csvFormat.Name && s.Format != tsvFormat.Name:
		s.Columns = nil // a record is one value, not a row
	}
}
