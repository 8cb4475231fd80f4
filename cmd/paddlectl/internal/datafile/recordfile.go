package datafile

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
)

// RecordFile is an open file of records that can be read at random.
type RecordFile struct {
	*recordio.File
	In         *Input
	IndexState string // what became of the index beside the file, or in it
	index      *recordio.Index
}

// What became of an index; embedded is the one in the file.
const (
	IndexNone     = "none"
	indexEmbedded = "embedded"
	IndexUsed     = "matches"
	indexStale    = "does not match"
	indexBroken   = "not readable"
)

func (f *RecordFile) Close() error { return f.In.Close() }

// OpenRecordFile opens f with the index beside it, if that matches. One that does not
// is left alone, and the file read without it. Standard input is kept in a temporary file.
func OpenRecordFile(ctx context.Context, a *app.App, f File, o *ReadOptions) (*RecordFile, error) {
	in, err := Open(ctx, a, f, nil)
	if err == nil && f.Stdin {
		err = in.keep()
	}
	if err != nil {
		return nil, err
	}
	if err := f.Stated.OfSize(in.End, in.Size); err != nil {
		in.Close()
		return nil, err
	}
	r := &RecordFile{In: in}
	r.index, r.IndexState = IndexBeside(ctx, a, in)
	r.File, err = recordio.Open(in.ReaderAt, in.Size, recordio.OpenOptions{
		Path: f.Text, Index: r.index, Parallelism: o.Parallel, MaxChunkBytes: o.maxChunk.Bytes,
	})
	if err == nil {
		err = f.Stated.OfRecords(in.End, r.Len())
	}
	if err != nil {
		err = ForeignHint(a, in, err)
		in.Close()
		return nil, err
	}
	if r.IndexState == IndexNone && r.Indexed() {
		r.IndexState = indexEmbedded
	}
	return r, nil
}

// IndexEnd is where the index of the file e is kept.
func IndexEnd(e transfer.End) transfer.End {
	e.Path = e.Path.Parent().Join(recordio.IndexName(e.Path.Base()))
	return e
}

// IndexBeside reads the index beside a file and compares it with the file. Whatever
// is wrong with it, the file can be read without.
func IndexBeside(ctx context.Context, a *app.App, in *Input) (*recordio.Index, string) {
	if in.Stdin {
		return nil, IndexNone
	}
	x, err := ReadIndex(ctx, a, in)
	if err != nil {
		return nil, IndexState(err)
	}
	return x, IndexUsed
}

// IndexState says what is the matter with an index that readIndex could not read.
func IndexState(err error) string {
	switch {
	case app.IsMissing(err):
		return IndexNone
	case errors.Is(err, recordio.Stale):
		return indexStale
	}
	return indexBroken
}

// ReadIndex reads and checks the index beside a file.
func ReadIndex(ctx context.Context, a *app.App, in *Input) (*recordio.Index, error) {
	e := IndexEnd(in.End)
	beside, err := Open(ctx, a, File{Text: app.LocalText(e.Path), End: e}, nil)
	if err != nil {
		return nil, err
	}
	defer beside.Close()
	x, err := recordio.ReadIndex(beside, in.Size)
	if err == nil {
		err = x.Matches(in.ReaderAt, in.Size)
	}
	return x, RecordError(err)
}
