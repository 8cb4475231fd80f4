package dataset

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/paddlecloud/pfs/internal/sorter"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/dataset/payload"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// recordFiles are RecordIO inputs and the common properties of their manifests. These are empty
// without manifests, or if they differ.
type recordFiles struct {
	files   []recordfile.File
	payload string // encoding of the records; "" until the first one is read
	columns []manifest.Column
	classes []string
	notes   []string // of all of them
	loss    recordio.Loss
}

// findRecords finds the datasets and files that the operands name. The caller closes them.
func findRecords(ctx context.Context, o *settings) (*inputs, error) {
	in := &inputs{o: o, records: &recordFiles{}}
	for i, operand := range o.Inputs {
		set, files, err := Find(ctx, []Input{operand}, o.OnDamage)
		if err == nil {
			err = in.records.add(i == 0, operand.Title, set)
		}
		if err == nil {
			err = in.addRecords(ctx, operand, files)
		}
		if err != nil {
			in.close()
			return nil, err
		}
	}
	in.labels = in.records.classes
	return in, nil
}

// add compares what a set states with the sets before it; nil stands for files without a manifest.
func (r *recordFiles) add(first bool, text string, set *Dataset) error {
	if set == nil {
		r.columns, r.classes = nil, nil
		return nil
	}
	if r.payload != "" && r.payload != set.Payload {
		return invalid("%s has records of %s, the inputs before it of %s: convert them one by one, with --payload", text, set.Payload, r.payload)
	}
	r.payload, r.notes = set.Payload, append(r.notes, set.Notes...)
	switch {
	case first:
		r.columns, r.classes = set.Columns, set.Classes
	case !slices.Equal(r.columns, set.Columns), !slices.Equal(r.classes, set.Classes):
		return invalid("%s has other columns or classes than the inputs before it: their records make no set", text)
	}
	return nil
}

// addRecords makes a group of the files that one operand names.
func (in *inputs) addRecords(ctx context.Context, operand Input, files []recordfile.File) error {
	g := &inputGroup{operand: operand, found: sorter.New(byName), below: survey{}}
	in.groups, in.records.files = append(in.groups, g), append(in.records.files, files...)
	for _, f := range files {
		if f.Stream != nil {
			g.files, in.bytes = 1, -1
			break
		}
		end, info, err := f.End.Follow(ctx)
		if err != nil {
			return err
		}
		g.fs = end.FS
		g.noteTime(info, f.Title)
		if err := g.add(foundInput{path: end.Path, title: f.Title, name: baseOf(f.Title)}, info.Size); err != nil {
			return err
		}
	}
	in.files += g.files
	if in.bytes >= 0 {
		in.bytes += g.bytes
	}
	return nil
}

// readRecords passes all records to emit, in another encoding if --payload names one.
func (c *conversion) readRecords(ctx context.Context, emit func([]byte) error) error {
	r := c.in.records
	c.stats.Format = RecordsFormat
	counted := func(data []byte) error {
		c.stats.Records++
		c.stats.Payload += int64(len(data))
		return emit(data)
	}
	reading := recordfile.Reading{Policy: c.o.OnDamage, OnDamage: c.o.Damaged, Meter: c.in.meter}
	defer func() { r.loss = reading.Loss }()
	records := reading.Records(ctx, r.files)
	if c.o.Payload != "" && c.o.Payload != r.payload {
		note := func(n convert.Note) { c.stats.Notes = append(c.stats.Notes, n) }
		return Transcoder{From: r.payload, To: c.o.Payload, Note: note}.Run(ctx, records, counted)
	}
	for rec, err := range records {
		if err == nil {
			err = pfs.CheckContext(ctx, "dataset.Convert", "")
		}
		if err != nil {
			return err
		}
		if r.payload == "" {
			r.payload = payload.Guess(rec.Data)
		}
		if err := counted(rec.Data); err != nil {
			return err
		}
	}
	return nil
}

// payload returns the encoding of the records that are made.
func (c *conversion) payload() string {
	if c.in.records != nil && c.o.Payload == "" && c.in.records.payload != "" {
		return c.in.records.payload
	}
	return c.o.encoding()
}

// Transcoder converts the payloads of records to another encoding.
type Transcoder struct {
	From string // encoding of the records; "": that of the first one
	To   string // name of one of convert.Encodings, or of convert.Shown
	// Note, if not nil, is called with properties that the new encoding cannot represent.
	Note func(convert.Note)
}

// Run passes the payload of each record in its new encoding to emit, in order; it is valid during
// the call. Run uses a record only until it asks for the next one.
func (t Transcoder) Run(ctx context.Context, records iter.Seq2[recordfile.Record, error], emit func([]byte) error) error {
	next, stop := iter.Pull2(records)
	defer stop()
	first, err, ok := next()
	if !ok || err != nil {
		return err
	}
	if t.From == "" {
		t.From = payload.Guess(first.Data)
	}
	all := func(yield func(recordfile.Record, error) bool) {
		for rec, err, ok := first, err, ok; ok; rec, err, ok = next() {
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
	if t.From == payload.Pickle || t.From == payload.JSON {
		return t.foreign(ctx, all, emit)
	}
	return t.own(ctx, all, emit)
}

// own converts payloads that package payload reads.
func (t Transcoder) own(ctx context.Context, records iter.Seq2[recordfile.Record, error], emit func([]byte) error) error {
	enc := t.encoder()
	if t.Note != nil {
		losses := convert.Losses(enc)
		defer func() {
			for _, text := range losses() {
				t.Note(convert.Note{Text: text})
			}
		}()
	}
	var buf []byte
	for rec, err := range records {
		if err == nil {
			err = pfs.CheckContext(ctx, "dataset.Transcode", "")
		}
		if err != nil {
			return err
		}
		enc.Reset()
		if t.From == payload.Raw {
			walkRaw(rec.Data, enc, t.To == payload.JSON || t.To == convert.Shown.Name)
		} else if err := payload.Walk(rec.Data, enc, convert.DefaultMaxDepth); err != nil {
			return badPayload(rec.Name(), err)
		}
		if err := enc.Err(); err != nil {
			return badPayload(rec.Name(), err)
		}
		buf = enc.Append(buf[:0])
		if err := emit(buf); err != nil {
			return err
		}
	}
	return nil
}

// badPayload is the error for a record that does not have the encoding.
func badPayload(record string, err error) error {
	return recordfile.WithKind(fmt.Errorf("%s: %w", record, err), pfs.Integrity)
}

// walkRaw passes bytes unchanged, as text if they are. In JSON, whose base64 is text too, other bytes
// become the one value of an object, which no record of bytes is.
func walkRaw(data []byte, enc convert.Encoder, json bool) {
	switch {
	case utf8.Valid(data):
		enc.String(data)
	case json:
		enc.Map(1)
		enc.Key("base64")
		enc.Bytes(data)
		enc.End()
	default:
		enc.Bytes(data)
	}
}

// encoder returns an encoder of t.To.
func (t Transcoder) encoder() convert.Encoder {
	if t.To == convert.Shown.Name {
		return convert.Shown.New(t.limits())
	}
	i := slices.IndexFunc(convert.Encodings, func(e convert.Encoding) bool { return e.Name == t.To })
	return convert.Encodings[i].New(t.limits())
}

// limits are as wide as possible: the records have been read already.
func (t Transcoder) limits() convert.Limits {
	return convert.Limits{Record: math.MaxInt32, Depth: convert.DefaultMaxDepth}
}

// foreign reads payloads as package convert reads files: each is one input.
func (t Transcoder) foreign(ctx context.Context, records iter.Seq2[recordfile.Record, error], emit func([]byte) error) error {
	opts := convert.Options{Format: "jsonl", Encoding: t.To, Limits: t.limits()}
	wrap := asLine
	if t.From == payload.Pickle {
		opts.Format, wrap = "pickle", asListOfOne
	}
	sources := func(yield func(convert.Source, error) bool) {
		for rec, err := range records {
			if err != nil {
				yield(convert.Source{}, err)
				return
			}
			data := wrap(rec.Data)
			if len(bytes.TrimPrefix(data, []byte("\ufeff"))) == 0 {
				yield(convert.Source{}, badPayload(rec.Name(), fmt.Errorf("it has no value of %s", t.From)))
				return
			}
			s := convert.Source{Name: rec.Name(), Open: func(context.Context) (convert.Content, error) {
				return convert.Content{Reader: bytes.NewReader(data), Size: int64(len(data))}, nil
			}}
			if !yield(s, nil) {
				return
			}
		}
	}
	stats, err := convert.Run(ctx, sources, opts, emit)
	for _, n := range stats.Notes {
		if t.Note != nil {
			t.Note(n)
		}
	}
	return recordfile.ConvertError(err)
}

// asLine makes JSON one line, so that a record is one sample and not several. Both ends of lines are
// white space, and errors in a text.
func asLine(json []byte) []byte {
	return bytes.Trim(bytes.ReplaceAll(json, []byte("\n"), []byte("\r")), " \t\r")
}

// asListOfOne makes a pickle that of a list with its value as the only item, so that a tuple is one
// sample and not several.
func asListOfOne(pickle []byte) []byte {
	const emptyList, appendOne, stop = "]", "a", "."
	body := bytes.TrimSuffix(pickle, []byte(stop))
	if len(body) == len(pickle) {
		return bytes.Clone(pickle) // not a pickle; the reader reports it
	}
	return slices.Concat([]byte(emptyList), body, []byte(appendOne+stop))
}
