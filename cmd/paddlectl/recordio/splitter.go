package recordio

import (
	"cmp"
	"context"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/split"
)

// splitter writes the files of one set.
type splitter struct {
	o      *splitOptions
	outs   *transfer.Outputs
	dir    transfer.End
	id     string // of parts whose names are not known yet
	source recordio.Compressor
	files  []*recordOutput
}

// run reads all records and completes all files.
func (s *splitter) run(ctx context.Context, r *datafile.Reading, files []datafile.File, w *split.Writer) error {
	err := copyRecords(ctx, r, files, func(rec []byte, source recordio.Compressor) error {
		s.source = source
		return w.Write(rec)
	})
	if err != nil {
		w.Abort(err)
		return err
	}
	plan, err := w.Close()
	if err != nil {
		return err
	}
	for i, f := range s.files {
		if f.out.IsPart() {
			err = f.out.Name(s.place(plan.Files[i].Name))
		}
		if err = cmp.Or(err, f.writeIndex()); err != nil {
			return err
		}
	}
	return nil
}

// create begins file i of the set; see split.Create.
func (s *splitter) create(i int, name string) (split.RecordWriter, error) {
	var out *transfer.Output
	var err error
	if name == "" {
		out, err = s.outs.CreatePart(transfer.End{FS: s.dir.FS, Path: s.dir.Path.Join(fmt.Sprintf(".%s-%05d.part", s.id, i))})
	} else {
		out, err = s.outs.Create(s.place(name))
	}
	if err != nil {
		return nil, err
	}
	f := &recordOutput{outs: s.outs, o: &s.o.writeOptions, out: out, parallel: s.o.Parallel}
	s.files = append(s.files, f)
	return splitFile{s, f}, nil
}

// place is where the file of that name belongs.
func (s *splitter) place(name string) (string, transfer.End) {
	return app.InDir(s.o.dir, name), transfer.End{FS: s.dir.FS, Path: s.dir.Path.Join(name)}
}

// splitFile is a recordOutput as package split knows it.
type splitFile struct {
	s *splitter
	f *recordOutput
}

func (f splitFile) Write(rec []byte) error { return f.f.write(rec, f.s.source) }

func (f splitFile) Close() error { return f.f.close() }

// tell says what was made.
func (s *splitter) tell(a *app.App) {
	var sum writtenJSON
	for _, f := range s.files {
		j := f.written()
		if s.o.json {
			a.JSON(j) // an error shows when Out is flushed
		}
		sum.Records, sum.Chunks, sum.Bytes = sum.Records+j.Records, sum.Chunks+j.Chunks, sum.Bytes+j.Bytes
	}
	if !s.o.json && !s.o.Quiet {
		a.Message("%s: %s in %s, %s", s.o.dir, app.Count(sum.Records, "record", "records"),
			app.Count(int64(len(s.files)), "file", "files"), cliio.Size(sum.Bytes))
	}
}
