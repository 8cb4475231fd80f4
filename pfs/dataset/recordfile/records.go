package recordfile

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
)

// Records is an open file of records that can be read at random.
type Records struct {
	*recordio.File
	Input *Input
	Index *recordio.Index // the one beside the file, if it matches
	State IndexState
}

// IndexState is the state of the index beside a file, or in it.
type IndexState string

// The states of an index.
const (
	IndexNone     IndexState = "none"
	IndexEmbedded IndexState = "embedded" // in the file
	IndexUsed     IndexState = "matches"
	IndexStale    IndexState = "does not match"
	IndexBroken   IndexState = "not readable"
)

// Close ends the use of the file.
func (f *Records) Close() error { return f.Input.Close() }

// OpenRecords opens f with the index beside it, if that matches. One that does not
// is left alone, and the file read without it. A stream is kept in a temporary file.
func OpenRecords(ctx context.Context, f File, opts recordio.OpenOptions) (*Records, error) {
	in, err := Open(ctx, f, nil)
	if err == nil && f.Stream != nil {
		err = in.Keep()
	}
	if err != nil {
		return nil, err
	}
	if err := f.Stated.OfSize(in.End, in.Size); err != nil {
		in.Close()
		return nil, err
	}
	r := &Records{Input: in}
	r.Index, r.State = in.IndexBeside(ctx)
	opts.Path, opts.Index = f.Title, r.Index
	r.File, err = recordio.Open(in.ReaderAt, in.Size, opts)
	if err == nil {
		err = f.Stated.OfRecords(in.End, r.Len())
	}
	if err != nil {
		err = in.Explain(err)
		in.Close()
		return nil, err
	}
	if r.State == IndexNone && r.Indexed() {
		r.State = IndexEmbedded
	}
	return r, nil
}

// IndexEnd is where the index of the file e is kept.
func IndexEnd(e transfer.End) transfer.End {
	e.Path = e.Path.Parent().Join(recordio.IndexName(e.Path.Base()))
	return e
}

// IndexBeside reads the index beside a file and compares it with the file. If the index is
// unusable, the file can be read without it.
func (in *Input) IndexBeside(ctx context.Context) (*recordio.Index, IndexState) {
	if in.Stream != nil {
		return nil, IndexNone
	}
	x, err := in.ReadIndex(ctx)
	if err != nil {
		return nil, IndexStateOf(err)
	}
	return x, IndexUsed
}

// IndexStateOf returns the state for an error of ReadIndex.
func IndexStateOf(err error) IndexState {
	switch {
	case errors.Is(err, pfs.NotExist):
		return IndexNone
	case errors.Is(err, recordio.Stale):
		return IndexStale
	}
	return IndexBroken
}

// ReadIndex reads and checks the index beside a file.
func (in *Input) ReadIndex(ctx context.Context) (*recordio.Index, error) {
	e := IndexEnd(in.End)
	beside, err := Open(ctx, File{Title: string(e.Path), End: e, Remote: in.Remote}, nil)
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
