package dataset

import (
	"context"
	"slices"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/sorter"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/dataset/payload"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// recordsFormat is the format of inputs that are datasets, or files of RecordIO. Their
// records go through as they are, to be cut, ordered or compressed anew.
const recordsFormat = "recordio"

// recordFiles are the inputs of that format, and what their manifests say of all of
// them. Where one has no manifest, or they differ, that is nothing.
type recordFiles struct {
	files   []datafile.File
	payload string // encoding of the records; "" until the first one is looked at
	columns []manifest.Column
	classes []string
	reading *datafile.Reading
}

// recordInputs finds the datasets and the files that the operands name. The caller
// closes them.
func recordInputs(ctx context.Context, a *app.App, operands []string, o *convertOptions) (*datasetInputs, error) {
	in := &datasetInputs{a: a, records: &recordFiles{reading: &datafile.Reading{App: a, O: &o.damage}}}
	for i, text := range operands {
		if text == "-" && slices.Contains(operands[:i], text) {
			in.close()
			return nil, cliargs.Usagef("\"-\" is given twice: standard input can be read once")
		}
		set, files, err := datasetOrDamaged(ctx, a, []string{text}, o.damage.Policy)
		if err == nil {
			err = in.records.add(i == 0, text, set)
		}
		if err == nil {
			err = in.addRecords(ctx, text, files)
		}
		if err != nil {
			in.close()
			return nil, err
		}
	}
	in.labels = in.records.classes
	return in, nil
}

// add holds what a set states to what those before it did; nil is files without a
// manifest.
func (r *recordFiles) add(first bool, text string, set *dataset) error {
	if set == nil {
		r.columns, r.classes = nil, nil
		return nil
	}
	if r.payload != "" && r.payload != set.Payload {
		return cliargs.Usagef("%s has records of %s, the inputs before it of %s: convert them one by one, with --payload", text, set.Payload, r.payload)
	}
	r.payload = set.Payload
	switch {
	case first:
		r.columns, r.classes = set.Columns, set.Classes
	case !slices.Equal(r.columns, set.Columns), !slices.Equal(r.classes, set.Classes):
		return cliargs.Usagef("%s has other columns or classes than the inputs before it: their records make no set", text)
	}
	return nil
}

// addRecords makes a group of what one operand names.
func (in *datasetInputs) addRecords(ctx context.Context, text string, files []datafile.File) error {
	g := &inputGroup{operand: text, found: sorter.New(app.ByName), below: survey{}}
	in.groups, in.records.files = append(in.groups, g), append(in.records.files, files...)
	for _, f := range files {
		if f.Stdin {
			g.stdin, g.files, in.bytes = true, 1, -1
			break
		}
		end, info, err := app.Followed(ctx, f.End, true)
		if err != nil {
			return err
		}
		g.fs = end.FS
		g.noteTime(info, f.Text)
		if err := g.add(foundInput{path: end.Path, title: f.Text, name: baseOf(f.Text)}, info.Size); err != nil {
			return err
		}
	}
	in.files += g.files
	if in.bytes >= 0 {
		in.bytes += g.bytes
	}
	return nil
}

// readRecords gives all records to emit, in another encoding if --payload names one.
func (c *conversion) readRecords(ctx context.Context, emit func([]byte) error) error {
	r := c.in.records
	c.stats.Format = recordsFormat
	counted := func(data []byte) error {
		c.stats.Records++
		c.stats.Payload += int64(len(data))
		return emit(data)
	}
	r.reading.M = c.in.meter
	records := recordsOf(ctx, r.reading, r.files, -1)
	if c.o.is("payload") && c.o.payload != r.payload {
		note := func(n convert.Note) { c.stats.Notes = append(c.stats.Notes, n) }
		return transcoder{from: r.payload, to: c.o.payload, note: note}.run(ctx, records, counted)
	}
	for rec, err := range records {
		if err == nil {
			err = pfs.CheckContext(ctx, "paddlectl.convert", "")
		}
		if err != nil {
			return err
		}
		if r.payload == "" {
			r.payload = payload.Guess(rec.data)
		}
		if err := counted(rec.data); err != nil {
			return err
		}
	}
	return nil
}

// payload is the encoding of the records that are made.
func (c *conversion) payload() string {
	if c.in.records != nil && !c.o.is("payload") && c.in.records.payload != "" {
		return c.in.records.payload
	}
	return c.o.payload
}

// damaged says what was lost of inputs that are RecordIO.
func (in *datasetInputs) damaged(err error) error {
	if in.records == nil {
		return err
	}
	return in.records.reading.End(err)
}
