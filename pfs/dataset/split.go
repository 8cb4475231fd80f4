package dataset

import (
	"bytes"
	"context"

	"github.com/paddlecloud/pfs/pfs/dataset/payload"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/paddlecloud/pfs/split"
)

// SplitOptions are the options of Split.
type SplitOptions struct {
	Dir     transfer.End  // for the files; made if it is missing
	Rule    split.Rule    // which record goes to which file
	Pattern split.Pattern // the names of the files
	As      string        // payload.Pickle, one pickled list a file; payload.JSON, one value a line; or RecordsFormat
	Payload string        // encoding of the records; empty: from the manifests, else from the first record
	Force   bool          // replace existing files
	// SameFile is as in Options.
	SameFile func(ctx context.Context, in recordfile.File, e transfer.End) bool

	OnDamage recordio.Policy
	Damaged  func(recordio.Damage)                         // may be nil
	Note     func(convert.Note)                            // called with properties that the format cannot represent; may be nil
	Meter    func(bytes int64, files int) recordfile.Meter // may be nil
}

// Split writes the records of datasets and files to other files, which get their names together.
func Split(ctx context.Context, inputs []Input, o SplitOptions) (plan split.Plan, loss recordio.Loss, err error) {
	_, files, err := Find(ctx, inputs, o.OnDamage)
	if err != nil {
		return plan, loss, err
	}
	if o.Payload == "" {
		if o.Payload, err = PayloadOf(files); err != nil {
			return plan, loss, err
		}
	}
	if o.Pattern.HasTotal() || o.Rule.NeedsCount() {
		total, err := CountRecords(ctx, files)
		if err != nil {
			return plan, loss, err
		}
		o.Rule = o.Rule.WithCount(total)
	}
	exists := false
	if o.Dir, exists, err = lookAtDir(ctx, o.Dir); err == nil && !exists {
		err = o.Dir.FS.Mkdir(ctx, o.Dir.Path, 0o755)
	}
	if err != nil {
		return plan, loss, err
	}
	reads := func(ctx context.Context, e transfer.End) (string, bool) {
		for _, f := range files {
			if isSameFile(ctx, o.SameFile, f, e) {
				return f.Title, true
			}
		}
		return "", false
	}
	s := &splitting{o: o, outs: transfer.NewOutputs(ctx, transfer.OutputOptions{Force: o.Force, Reads: reads})}
	defer s.outs.Abort()
	s.reading = recordfile.Reading{Policy: o.OnDamage, OnDamage: o.Damaged}
	if o.Meter != nil {
		s.reading.Meter = o.Meter(recordfile.SizeOf(ctx, files), len(files))
		defer s.reading.Meter.End()
	}
	plan, err = s.run(ctx, files)
	return plan, s.reading.Loss, err
}

// CountRecords returns the number of records in files, from the manifests or, without one, from the
// headers.
func CountRecords(ctx context.Context, files []recordfile.File) (int64, error) {
	total := int64(0)
	for _, f := range files {
		if f.Stated != nil {
			total += f.Stated.Records
			continue
		}
		if f.Stream != nil {
			return 0, invalid("the number of records of standard input is not known: give --line-count and a pattern without -of-")
		}
		records, err := recordfile.OpenRecords(ctx, f, recordio.OpenOptions{})
		if err != nil {
			return 0, err
		}
		total += records.Len()
		if err := records.Close(); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// splitting is one call of Split.
type splitting struct {
	o       SplitOptions
	outs    *transfer.Outputs
	reading recordfile.Reading
}

func (s *splitting) run(ctx context.Context, files []recordfile.File) (plan split.Plan, err error) {
	w, err := split.NewWriter(s.o.Rule, s.o.Pattern, s.create)
	if err != nil {
		return plan, err
	}
	if err := s.write(ctx, files, w.Write); err != nil {
		w.Abort(err)
		return plan, err
	}
	if plan, err = w.Close(); err == nil {
		err = s.outs.Publish()
	}
	return plan, err
}

// write passes all records to emit, in the format in which they are written.
func (s *splitting) write(ctx context.Context, files []recordfile.File, emit func([]byte) error) error {
	records := s.reading.Records(ctx, files)
	if s.o.As != RecordsFormat {
		return Transcoder{From: s.o.Payload, To: s.o.As, Note: s.o.Note}.Run(ctx, records, emit)
	}
	for rec, err := range records {
		if err == nil {
			err = emit(rec.Data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// create begins one file.
func (s *splitting) create(_ int, name string) (split.RecordWriter, error) {
	end := s.o.Dir
	end.Path = end.Path.Join(name)
	out, err := s.outs.Create(name, end)
	if err != nil {
		return nil, err
	}
	switch s.o.As {
	case payload.Pickle:
		_, err := out.Write([]byte(listBegin))
		return &pickledList{out}, err
	case payload.JSON:
		return &jsonLines{out}, nil
	}
	w := recordio.NewWriter(out, recordio.WriterOptions{Path: string(end.Path), Compressor: recordio.Snappy, ChunkBytes: defaultChunkBytes})
	return &splitShard{out, w}, nil
}

// The bytes before and after the items of a pickled list of protocol 2, and around each item that
// is itself a pickle.
const (
	listBegin  = "\x80\x02]("
	listEnd    = "e."
	itemBegin  = "\x80\x02"
	itemEnd    = "."
	lineEnding = "\n"
)

// pickledList writes pickles of protocol 2, which use no memo, as the items of one list.
type pickledList struct{ *transfer.Output }

func (l *pickledList) Write(rec []byte) error {
	body := bytes.TrimSuffix(bytes.TrimPrefix(rec, []byte(itemBegin)), []byte(itemEnd))
	_, err := l.Output.Write(body)
	return err
}

func (l *pickledList) Close() error {
	if _, err := l.Output.Write([]byte(listEnd)); err != nil {
		return err
	}
	return l.Finish()
}

// jsonLines writes one value a line.
type jsonLines struct{ *transfer.Output }

func (l *jsonLines) Write(rec []byte) error {
	if _, err := l.Output.Write(rec); err != nil {
		return err
	}
	_, err := l.Output.Write([]byte(lineEnding))
	return err
}

func (l *jsonLines) Close() error { return l.Finish() }

// splitShard writes RecordIO.
type splitShard struct {
	out *transfer.Output
	*recordio.Writer
}

func (s *splitShard) Close() error {
	if err := s.Writer.Close(); err != nil {
		return err
	}
	return s.out.Finish()
}
