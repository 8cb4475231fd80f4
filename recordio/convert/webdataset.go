package convert

import "io"

// webdatasetFormat reads tar archives in the layout of WebDataset: consecutive files that share
// their path up to the first dot of the last element are one sample. The record is a map of
// "__key__", that path, and for each file its bytes, untouched, by its extension after that dot.
//
// As in WebDataset, directories and files whose name begins with a dot are ignored; any other file
// that belongs to no sample is a bad record.
var webdatasetFormat = Format{
	Name:       "webdataset",
	Doc:        "WebDataset tar: the files of one key, as a map by extension",
	Extensions: []string{".tar"},
	Sniff:      func(head []byte) bool { return len(head) >= 512 && string(head[257:262]) == "ustar" },
	open: func(in Input, opts Options) (Decoder, error) {
		return newTarDecoder(in, opts.Limits.withDefaults().Record), nil
	},
}

// keyField is the field in which WebDataset itself keeps the key.
const keyField = "__key__"

// maxFields bounds the files of one sample.
const maxFields = 1024

// tarDecoder gathers the files of one sample at a time.
type tarDecoder struct {
	archive *tarReader
	limit   int

	next *tarMember // read-ahead: the first file of the next sample
	n    int64      // number of samples begun

	open   bool // inside a sample
	key    string
	start  int64
	size   int   // total size of its fields and their names
	bad    error // the reason why it is bad
	fields []tarField
	buf    []byte // content of all fields
}

// tarField is a file of a sample.
type tarField struct {
	ext    string
	lo, hi int // range in buf
}

func newTarDecoder(in Input, limit int) *tarDecoder {
	return &tarDecoder{archive: newTarReader(in.Reader), limit: limit}
}

func (d *tarDecoder) Next(enc Encoder) error {
	for {
		m, err := d.member()
		switch {
		case err == io.EOF && d.open:
			return d.finish(enc)
		case err != nil:
			return err
		case d.open && m.key != d.key:
			d.next = m
			return d.finish(enc)
		}
		if err := d.add(m); err != nil {
			return err
		}
	}
}

// member returns the next file that belongs to a sample. A file that belongs to none is a bad
// record; the next call still continues the sample around it.
func (d *tarDecoder) member() (*tarMember, error) {
	if m := d.next; m != nil {
		d.next = nil
		return m, nil
	}
	for {
		m, err := d.archive.next()
		if err != nil {
			return nil, err
		}
		if m.hidden() {
			continue
		}
		if why := m.stray(); why != "" {
			return nil, &RecordError{Row: d.n + 1, Offset: m.start,
				Err: faultf(ErrSyntax, "file %q in the archive %s", m.name, why)}
		}
		return m, nil
	}
}

// add adds a file to the current sample or a new one. For a bad sample it only looks for the end.
func (d *tarDecoder) add(m *tarMember) error {
	if !d.open {
		d.open, d.key, d.start, d.bad = true, m.key, m.start, nil
		d.fields, d.buf, d.size = d.fields[:0], d.buf[:0], len(m.key)
		d.n++
	}
	if d.bad != nil {
		return nil
	}
	if d.bad = d.check(m); d.bad != nil {
		return nil
	}
	lo := len(d.buf)
	var err error
	if d.buf, err = d.archive.content(d.buf, int(m.size)); err != nil {
		return err
	}
	d.size += len(m.ext) + int(m.size)
	d.fields = append(d.fields, tarField{m.ext, lo, len(d.buf)})
	return nil
}

// check returns an error if a file does not fit into the sample.
func (d *tarDecoder) check(m *tarMember) error {
	for _, f := range d.fields {
		if f.ext == m.ext {
			return faultf(ErrSyntax, "two files %q of sample %q", m.ext, d.key)
		}
	}
	if len(d.fields) == maxFields {
		return faultf(ErrLimit, "more than %d files of sample %q", maxFields, d.key)
	}
	if m.size > int64(d.limit-d.size-len(m.ext)) {
		return faultf(ErrLimit, "sample %q is larger than the limit of %d bytes for a record", d.key, d.limit)
	}
	return nil
}

// notes implements noting.
func (d *tarDecoder) notes() *notes { return &d.archive.notes }

// finish encodes the sample.
func (d *tarDecoder) finish(enc Encoder) error {
	d.open = false
	if d.bad != nil {
		return &RecordError{Row: d.n, Offset: d.start, Err: d.bad}
	}
	enc.Map(len(d.fields) + 1)
	enc.Key(keyField)
	enc.String([]byte(d.key))
	for _, f := range d.fields {
		enc.Key(f.ext)
		enc.Bytes(d.buf[f.lo:f.hi])
	}
	enc.End()
	return nil
}
