package convert

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"golang.org/x/text/encoding"
)

// Stats tell what Run did.
type Stats struct {
	Format   string // what was read; text if there was nothing
	Inputs   int64
	Records  int64 // without the bad ones
	Payload  int64 // bytes of their payloads
	Bad      int64 // records that were left out
	Partial  int64 // records of which the encoding raw took one value, and left out others
	FirstBad []*RecordError
	// Columns are the columns of a table, as they were found, or of Parquet files and
	// arrays of numpy, as their headers say.
	Columns []Column
	// Notes tell what the records do not show, in the order of the inputs; Unnoted counts
	// those beyond the first MaxNotes.
	Notes   []Note
	Unnoted int64
}

// Column is one column of a table, of Parquet files or of arrays of numpy.
type Column struct {
	Name string // "" if it has none; the only one of an array is the record itself
	Type string // of a table the name of a Type; else also others, with units and shapes
}

// Run reads all sources, in order, and gives the payload of each record to emit, in
// order and from the caller's goroutine; a payload is valid during the call.
//
// Workers read ahead of emit by a bounded amount: memory is a few times Jobs blocks of
// 1 MiB, or as many records if they are larger, whatever the size of the inputs. The
// first error in the order of the records ends the run: a bad record unless
// Options.Bad lets it pass (*RecordError), any error of a source, of sources, of emit
// and of ctx. Errors name the source. Run returns after all that it opened is
// closed; it can be held up only by a Reader that does not return.
func Run(ctx context.Context, sources iter.Seq2[Source, error], opts Options, emit func(payload []byte) error) (Stats, error) {
	opts.Limits = opts.Limits.withDefaults()
	if opts.Jobs <= 0 {
		opts.Jobs = runtime.GOMAXPROCS(0)
	}
	payload, err := findEncoding(opts.Encoding)
	if err != nil {
		return Stats{}, err
	}
	r := &run{opts: opts, encoding: payload, emit: emit,
		queue: make(chan *task, opts.Jobs), work: make(chan *task),
		batches: make(chan *batch, 2*opts.Jobs), blocks: make(chan []byte, 2*opts.Jobs)}
	if r.charset, err = findCharset(opts.Charset); err != nil {
		return Stats{}, err
	}
	if opts.Format != "" {
		if r.format, err = findFormat(opts.Format); err != nil {
			return Stats{}, err
		}
		if err := r.checkCharset(); err != nil {
			return Stats{}, err
		}
	}
	return r.run(ctx, sources)
}

// run is one call of Run. A producer makes tasks, in the order of the records, and
// puts each into queue and into work; workers carry them out; the caller's goroutine
// delivers their batches in the order of queue. A worker takes the oldest task that
// waits, so that the one which is delivered next is always being worked on.
type run struct {
	opts     Options
	encoding Encoding
	charset  encoding.Encoding // of the inputs; nil for UTF-8
	format   *Format           // set by the producer if it is to be found
	guessed  bool              // it was found, and
	first    string            // the title of the source that told it
	lines    lineFormat        // for a format of lines
	emit     func([]byte) error
	queue    chan *task
	work     chan *task
	batches  chan *batch // to be used again, as blocks are
	blocks   chan []byte
	inputs   int64 // the producer's, until it ended
	stats    Stats // the caller's
}

// task is a part of the work that one worker does: a block of lines, or an input.
type task struct {
	source Source
	err    error   // instead of work: why there is no more
	open   *opened // the input, if it is open already

	lines     bool   // a block of lines:
	block     []byte // whole records
	parser    lineParser
	first     bool  // of its input
	headBytes int64 // what the input has before its first block,
	headLines int64 // such as a header

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
	if t, ok := r.lines.(*table); ok {
		r.stats.Columns = t.summary()
	} else if r.encoding.Name == rawName {
		r.stats.Columns = nil // a record is one piece, and no row
	}
	return r.stats, err
}
