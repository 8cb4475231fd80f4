package dataset

import (
	"context"
	"slices"

	"github.com/paddlecloud/pfs/internal/sorter"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/dataset/payload"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// recordFiles are the inputs of that format, and what their manifests say of all of
// them. Where one has no manifest, or they differ, that is nothing.
type recordFiles struct {
	files   []recordfile.File
	payload string // encoding of the records; "" until the first one is looked at
	columns []manifest.Column
	classes []string
	loss    recordio.Loss
}

// findRecords finds the datasets and the files that the operands name. The caller
// closes them.
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

// add holds what a set states to what those before it did; nil is files without a
// manifest.
func (r *recordFiles) add(first bool, text string, set *Dataset) error {
	if set == nil {
		r.columns, r.classes = nil, nil
		return nil
	}
	if r.payload != "" && r.payload != set.Payload {
		return invalid("%s has records of %s, the inputs before it of %s: convert them one by one, with --payload", text, set.Payload, r.payload)
	}
	r.payload = set.Payload
	switch {
	case first:
		r.columns, r.classes = set.Columns, set.Classes
	case !slices.Equal(r.columns, set.Columns), !slices.Equal(r.classes, set.Classes):
		return invalid("%s has other columns or classes than the inputs before it: their records make no set", text)
	}
	return nil
}

// addRecords makes a group of what one operand names.
func (in *inputs) addRecords(ctx context.Context, operand Input, files []recordfile.File) error {
	g := &inputGroup{operand: operand, found: sorter.New(byName), below: survey{}}
	in.groups, in.records.files = append(in.groups, g), append(in.records.files, files...)
	for _, f := range files {
		if f.Stream != nil {
			g.files, in.bytes = 1, -1
			break
		}
		end, info, err := recordfile.Follow(ctx, f.End)
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

// readRecords gives all records to emit, in another encoding if --payload names one.
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

// payload is the encoding of the records that are made.
func (c *conversion) payload() string {
	if c.in.records != nil && c.o.Payload == "" && c.in.records.payload != "" {
		return c.in.records.payload
	}
	return c.o.encoding()
}
