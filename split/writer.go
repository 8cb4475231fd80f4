package split

import (
	"errors"
	"io/fs"
)

// errAborted stands for a cause that was not given.
var errAborted = errors.New("splitting was abandoned")

// RecordWriter takes the records of one file in order; a *recordio.Writer is one.
type RecordWriter interface {
	// Write takes one record. It does not keep rec.
	Write(rec []byte) error
	// Close ends the file. It is called once.
	Close() error
}

// Create makes file number i. name is its name, or "" while that depends on the
// number of files, which Close tells: write such a file under a name of your own and
// give it the right one when the plan is there.
type Create func(i int, name string) (RecordWriter, error)

// Writer carries a Rule out on a stream of records: it creates files in order and
// writes to each what the rule gives it. It holds no record and, but for
// RoundRobin, one open file; memory grows with the number of files, not of records.
// It is for one goroutine.
type Writer struct {
	tally   tally
	pattern Pattern
	create  Create
	files   int            // in all; unknown: negative
	open    []RecordWriter // by file; nil: closed
	err     error          // what Write returns: the first failure, or fs.ErrClosed
	done    bool           // plan and result are what Close returns
	plan    Plan
	result  error
}

// NewWriter returns a Writer that has created no file yet. The error is ErrRule,
// ErrNeedsCount, ErrCount, ErrDigits or ErrPattern.
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

// announced returns how many files r makes if that is known before the first
// record, else -1, having checked that p has names for them.
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

// Write puts the next record into its file. It does not keep rec. After a failure
// every call returns that failure.
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

// begin creates file i, and closes the one before it if that is complete.
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

// Close ends the set: it closes what is open, creates the empty file that
// PaddleConvert may end with, and returns the plan that was carried out, with the
// bytes of each file. An error, be it of an earlier Write, means that the set is not
// complete and that no plan is returned: discard the files. A second call returns
// the same.
func (w *Writer) Close() (Plan, error) {
	if !w.done {
		w.plan, w.result = w.finish()
		w.done, w.err = true, fs.ErrClosed
	}
	return w.plan, w.result
}

// Abort closes what is open without completing the set, for a caller whose records
// failed; the files are to be discarded. Close then returns cause.
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
