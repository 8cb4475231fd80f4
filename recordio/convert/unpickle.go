package convert

import (
	"errors"
	"io"
	"slices"
)

// pickleFormat reads Python pickles, protocols 0 to 5, as split of paddle.v2.dataset.common writes
// them: a list or tuple yields a record for each of its items, a batch of the Python version of
// CIFAR one for each image, any other value is one record, and an input may have several pickles.
// Nothing in a pickle is executed: it may only name the few data classes in unpicklecall.go; any
// other is an error.
//
// Tuples, lists and sets become arrays, dicts become maps in their order, numpy arrays and scalars
// become the same as in the format npy. A Python 2 str is text if it is UTF-8, else bytes. Integer
// keys of dicts become decimal text. Dates and times become numbers, whose types are the columns if all
// samples have the same. Stats.Notes list types that a record lacks.
//
// A list in an uncompressed file needs as much memory as the items that are appended at once
// (Python appends them by the thousand), without the bytes of their arrays. Any other value must
// fit into twice the limit of a record.
var pickleFormat = Format{
	Name:       "pickle",
	Doc:        "Python pickle, never executed: each item of a list, each image of a batch of CIFAR, or the value",
	Extensions: []string{".pickle", ".pkl", ".pck"},
	Sniff:      isPickle,
	open: func(in Input, opts Options) (Decoder, error) {
		return newPickleDecoder(in, opts.Limits.withDefaults()), nil
	},
}

// isPickle recognizes protocols 2 to 5, which begin with their number, and lists of protocols 0 and
// 1.
func isPickle(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	switch head[0] {
	case opProto:
		return head[1] >= 2 && head[1] <= 5 && opcodes[head[2]].name != ""
	case opEmptyList:
		return head[1] == opBinPut && head[2] <= 1
	}
	return string(head[:3]) == "(lp" && (head[3] == '0' || head[3] == '1')
}

// pickleDecoder decodes the samples of the pickles of an input.
type pickleDecoder struct {
	machine *unpickler
	at      io.ReaderAt
	limits  Limits

	items []any // samples not yet returned
	n     int64
	begun bool // inside a pickle

	columns []Column // see learning
}

func newPickleDecoder(in Input, limits Limits) *pickleDecoder {
	scan := newPickleScanner(in.Reader, limits.Record, in.ReaderAt != nil)
	return &pickleDecoder{
		machine: &unpickler{scan: scan, plan: planPickles(in, limits, planFrom), limits: limits},
		at:      in.ReaderAt,
		limits:  limits,
	}
}

func (d *pickleDecoder) Next(enc Encoder) error {
	for len(d.items) == 0 {
		if err := d.more(); err != nil {
			return err
		}
	}
	item := d.items[0]
	d.items[0], d.items = nil, d.items[1:]
	d.n++
	w := pickleWriter{enc: enc, at: d.at, depth: d.limits.Depth, room: d.limits.Record}
	if err := w.value(item); err != nil {
		return &RecordError{Row: d.n, Offset: -1, Err: err}
	}
	d.learn(item)
	return nil
}

// more runs the machine up to the next samples.
func (d *pickleDecoder) more() error {
	if !d.begun {
		d.machine.begin()
		d.begun = true
	}
	value, items, err := d.machine.run()
	switch {
	case errors.Is(err, ErrSyntax) && d.machine.e.offset == 0:
		return faultf(ErrSyntax, "not a pickle, or damaged at its beginning: %v", err)
	case err != nil:
		return err
	}
	if d.items = items; len(items) > 0 {
		return nil
	}
	d.begun = false
	if d.items = d.cifarSamples(value); d.items == nil {
		d.items = samplesOf(value)
	}
	return nil
}

// samplesOf returns the samples of a whole pickle. They are released one by one, which a sample
// that contains the pickle itself must not see.
func samplesOf(value any) []any {
	switch v := value.(type) {
	case *pickleList:
		items := v.items
		v.items, v.given = nil, true
		return items
	case pickleTuple:
		return slices.Clone(v)
	}
	return []any{value}
}
