package recordio

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

// writeOptions are the options of all commands that write records.
type writeOptions struct {
	compressor   string
	chunk        cliio.SizeFlag
	index, embed bool
	force        bool

	as       recordio.Compressor
	asSource bool // the compressor is that of the first record's chunk
}

// flags are the flags of those commands.
func (o *writeOptions) flags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{Name: "compressor", Usage: "compress with `NAME`: none, snappy, gzip, or zstd, which other readers of the format refuse; by default as the input", Value: cliargs.OneOf(&o.compressor, "none", "snappy", "gzip", "zstd")},
		&cli.GenericFlag{Name: "chunk", Aliases: []string{"chunk-size"}, Usage: "put at most `SIZE` of records into a chunk, or one record with 0; 32M by default", Value: &o.chunk},
		&cli.BoolFlag{Name: "index", Usage: "also write the index .NAME.idx beside each file", Destination: &o.index},
		&cli.BoolFlag{Name: "embed-index", Usage: "end each file with its index, which other readers skip", Destination: &o.embed},
		app.ForceFlag(&o.force),
	}
}

// check refuses invalid values.
func (o *writeOptions) check() error {
	o.asSource = o.compressor == ""
	if !o.asSource {
		var err error
		if o.as, err = recordio.ParseCompressor(o.compressor); err != nil {
			return err
		}
	}
	if o.chunk.Bytes > datafile.MaxChunkBytes {
		return cliargs.Usagef("--chunk: a size of at most %s is needed", cliio.ShortSize(datafile.MaxChunkBytes))
	}
	if o.index && o.embed {
		return cliargs.Usagef("--index and --embed-index contradict each other: an index is beside the file or in it")
	}
	return nil
}

// recordOutput is a file of records in the making.
type recordOutput struct {
	o        *writeOptions
	outs     *transfer.Outputs
	out      *transfer.Output
	parallel int
	w        *recordio.Writer // nil before the first record and after close

	// After close:
	stats recordio.WriterStats
	index *recordio.Index // nil unless requested
}

// writer begins the file. source is the compressor of the input.
func (r *recordOutput) writer(source recordio.Compressor) *recordio.Writer {
	if r.w != nil {
		return r.w
	}
	opts := recordio.WriterOptions{
		Path: r.out.Title, Compressor: r.o.as, ChunkBytes: datafile.ChunkBytes(r.o.chunk), Parallelism: r.parallel,
	}
	if r.o.asSource {
		opts.Compressor = source
	}
	switch {
	case r.o.embed:
		opts.Index = recordio.EmbedIndex
	case r.o.index:
		opts.Index = recordio.KeepIndex
	}
	r.w = recordio.NewWriter(r.out, opts)
	return r.w
}

// write adds a record.
func (r *recordOutput) write(rec []byte, source recordio.Compressor) error {
	return recordfile.RecordError(r.writer(source).Write(rec))
}

// close completes the file and frees the memory of its writer.
func (r *recordOutput) close() error {
	w := r.writer(recordio.None)
	err := w.Close()
	if err == nil && r.o.index {
		r.index, err = w.Index()
	}
	if err != nil {
		return recordfile.RecordError(err)
	}
	r.stats, r.w = w.Stats(), nil
	return r.out.Finish()
}

// writeIndex makes the index of a file that is complete and has its name.
func (r *recordOutput) writeIndex() error {
	if r.index == nil {
		return nil
	}
	return createIndex(r.outs, r.out.End, r.index)
}

// written describes the file after close.
func (r *recordOutput) written() writtenJSON {
	return writtenJSON{Path: r.out.Title, Records: r.stats.Records, Chunks: r.stats.Chunks, Bytes: r.stats.FileBytes}
}

// createIndex adds the index x of the file to the set.
func createIndex(outs *transfer.Outputs, file transfer.End, x *recordio.Index) error {
	e := recordfile.IndexEnd(file)
	idx, err := outs.Create(app.LocalText(e.Path), e)
	if err != nil {
		return err
	}
	if err := recordio.WriteIndex(idx, x); err != nil {
		return recordfile.RecordError(err)
	}
	return idx.Finish()
}

// writtenJSON is how --json shows a file that was made.
type writtenJSON struct {
	Path    string `json:"path"`
	Records int64  `json:"records"`
	Chunks  int64  `json:"chunks"`
	Bytes   int64  `json:"bytes"`
}

// copyRecords passes the records of all files to write, with the compressors of their chunks. It
// ends at the first file that fails, and fails if damage leaves no record.
func copyRecords(ctx context.Context, r *datafile.Reading, files []recordfile.File, write func(rec []byte, source recordio.Compressor) error) error {
	none := true
	for _, f := range files {
		err := r.Each(ctx, f, func(s *recordio.Scanner) error {
			for s.Scan() {
				none = false
				if err := write(s.Bytes(), s.Chunk().Compressor); err != nil {
					return err
				}
			}
			return recordfile.RecordError(s.Err())
		})
		if err != nil {
			return err
		}
	}
	if none && r.Loss.Places > 0 {
		return recordfile.WithKind(errors.New("no record can be read: nothing is written"), pfs.Integrity)
	}
	return nil
}
