package split

import (
	"errors"
	"io/fs"
)

// errAborted is the default cause of Abort.
var errAborted = errors.New("splitting was abandoned")

// RecordWriter writes the records of one file in order; a *recordio.Writer is one.
type RecordWriter interface {
	// Write writes one record. It does not retain rec.
	Write(rec []byte) error
	// Close ends the file. It is called once.
	Close() error
}

// Create creates file number i. If the name depends on the number of files, which only Close
// determines, name is "": write such a file under a temporary name and rename it according to the
// plan.
type Create func(i int, name string) (RecordWriter, error)

// Writer applies a Rule to a stream of records: it creates files in order and writes each record to
// its file. It buffers no records and, except for RoundRobin, has one open file; memory grows with
// the number of files, not of records. It is for one goroutine.
type Writer struct {
	tally   tally
	pattern Pattern
	create  Create
	files   int            // number of files; negative if unknown
	open    []RecordWriter // by file; nil if closed
	err     error          // the result of Write: the first failure, or fs.ErrClosed
	done    bool           // plan and result are the results of Close
	plan    Plan
	result  error
}

// NewWriter returns a Writer that has not created a file yet. The error is ErrRule, ErrNeedsCount,
// ErrCount, ErrDigits or ErrPattern.
func NewWriter(r Rule, p Pattern, create Create) (*Writer, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	w := &Writer{tally: tally{cutter: cutter{rule: r}}, pattern: p, create: create}
	var err error
	if w.files, err = r.announced(p); err != nil {
		return nil, err
	}
	return w, nil
}

// announced returns how many files r makes if that is known before the first record, else -1. It
// checks that p has names for them.
func (r Rule) announced(p Pattern) (int, error) {
	if r.kind == roundRobin {
		_, err := p.Name(int(r.n)-1, int(r.n))
		return int(r.n), err
	}
	if !r.known || r.NeedsSizes() {
		_, err := p.Name(0, 1)
		return -1, err
	}
	plan, err := r.Plan(p, r.total)
	return len(plan.Files), err
}

// Write puts the next record into its file. It does not retain rec. After a failure every call
// returns that failure.
func (w *Writer) Write(rec []byte) error {
	if w.err == nil {
		w.err = w.write(rec)
	}
	return w.err
}

func (w *Writer) write(rec []byte) error {
	before := len(w.tally.plan.Files)
	i := w.tally.add(int64(len(rec)))
	if i == before {
		if err := w.begin(i); err != nil {
			return err
		}
	}
	return w.open[i].Write(rec)
}

// begin creates file i, and closes the file before it if that is complete.
func (w *Writer) begin(i int) error {
	if w.tally.rule.kind != roundRobin {
		if err := w.end(i - 1); err != nil {
			return err
		}
	}
	name := ""
	if w.files >= 0 || !w.pattern.HasTotal() {
		var err error
		if name, err = w.pattern.Name(i, w.files); err != nil {
			return err
		}
	}
	f, err := w.create(i, name)
	if err == nil {
		w.open = append(w.open, f)
	}
	return err
}

// end closes file i if it is open.
func (w *Writer) end(i int) error {
	if i < 0 || w.open[i] == nil {
		return nil
	}
	f := w.open[i]
	w.open[i] = nil
	return f.Close()
}

// Close ends the set: it closes open files, creates the empty last file that PaddleConvert may
// need, and returns the executed plan with the bytes of each file. If it returns an error, possibly
// of an earlier Write, the set is incomplete and there is no plan: discard the files. A second call
// returns the same.
func (w *Writer) Close() (Plan, error) {
	if !w.done {
		w.plan, w.result = w.finish()
		w.done, w.err = true, fs.ErrClosed
	}
	return w.plan, w.result
}

// Abort closes open files without completing the set, for callers whose records failed; discard the
// files. Close then returns cause.
func (w *Writer) Abort(cause error) {
	if cause == nil {
		cause = errAborted
	}
	if w.err == nil {
		w.err = cause
	}
	_, _ = w.Close()
}

func (w *Writer) finish() (Plan, error) {
	if w.err == nil {
		w.err = w.complete()
	}
	for i := range w.open {
		if err := w.end(i); w.err == nil {
			w.err = err
		}
	}
	if w.err != nil {
		return Plan{}, w.err
	}
	return w.tally.finish(w.pattern)
}

// complete checks the number of records and creates the empty last file.
func (w *Writer) complete() error {
	if err := w.tally.counted(); err != nil {
		return err
	}
	if w.tally.trailing() {
		i := len(w.tally.plan.Files)
		w.tally.open(w.tally.seen)
		return w.begin(i)
	}
	return nil
}
