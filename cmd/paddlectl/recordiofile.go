package main

import (
	"context"
	"errors"
	"strings"

	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
)

// recordFile is an open file of records that can be read at random.
type recordFile struct {
	*recordio.File
	in      *input
	indexed string // what became of the index beside the file, or in it
	index   *recordio.Index
}

// What became of an index; embedded is the one in the file.
const (
	indexNone     = "none"
	indexEmbedded = "embedded"
	indexUsed     = "matches"
	indexStale    = "does not match"
	indexBroken   = "not readable"
)

func (f *recordFile) Close() error { return f.in.Close() }

// openRecordFile opens f with the index beside it, if that matches. One that does not
// is left alone, and the file read without it. Standard input is kept in a temporary file.
func (d *deps) openRecordFile(ctx context.Context, f dataFile, o *readOptions) (*recordFile, error) {
	in, err := d.open(ctx, f, nil)
	if err == nil && f.stdin {
		err = in.keep()
	}
	if err != nil {
		return nil, err
	}
	if err := f.stated.ofSize(in.end, in.size); err != nil {
		in.Close()
		return nil, err
	}
	r := &recordFile{in: in}
	r.index, r.indexed = d.indexBeside(ctx, in)
	r.File, err = recordio.Open(in.ReaderAt, in.size, recordio.OpenOptions{
		Path: f.text, Index: r.index, Parallelism: o.parallel, MaxChunkBytes: o.maxChunk.Bytes,
	})
	if err == nil {
		err = f.stated.ofRecords(in.end, r.Len())
	}
	if err != nil {
		err = d.foreignHint(in, err)
		in.Close()
		return nil, err
	}
	if r.indexed == indexNone && r.Indexed() {
		r.indexed = indexEmbedded
	}
	return r, nil
}

// indexEnd is where the index of the file e is kept.
func indexEnd(e transfer.End) transfer.End {
	e.Path = e.Path.Parent().Join(recordio.IndexName(e.Path.Base()))
	return e
}

// indexBeside reads the index beside a file and compares it with the file. Whatever
// is wrong with it, the file can be read without.
func (d *deps) indexBeside(ctx context.Context, in *input) (*recordio.Index, string) {
	if in.stdin {
		return nil, indexNone
	}
	x, err := d.readIndex(ctx, in)
	if err != nil {
		return nil, indexState(err)
	}
	return x, indexUsed
}

// indexState says what is the matter with an index that readIndex could not read.
func indexState(err error) string {
	switch {
	case isMissing(err):
		return indexNone
	case errors.Is(err, recordio.Stale):
		return indexStale
	}
	return indexBroken
}

// readIndex reads and checks the index beside a file.
func (d *deps) readIndex(ctx context.Context, in *input) (*recordio.Index, error) {
	e := indexEnd(in.end)
	beside, err := d.open(ctx, dataFile{text: localText(e.Path), end: e}, nil)
	if err != nil {
		return nil, err
	}
	defer beside.Close()
	x, err := recordio.ReadIndex(beside, in.size)
	if err == nil {
		err = x.Matches(in.ReaderAt, in.size)
	}
	return x, recordError(err)
}

// fileJSON is how --json shows a file of records.
type fileJSON struct {
	Path        string   `json:"path"`
	Records     int64    `json:"records"`
	Chunks      int64    `json:"chunks"`
	Compressors []string `json:"compressors"`
	Bytes       int64    `json:"bytes"`
	Dialect     string   `json:"dialect"`
	Index       string   `json:"index"` // beside the file, or embedded in it
}

func newFileJSON(r *recordFile) fileJSON {
	j := fileJSON{
		Path: r.in.text, Records: r.Len(), Chunks: int64(len(r.Chunks())), Bytes: r.in.size,
		Dialect: r.Dialect().String(), Index: r.indexed,
	}
	has := map[recordio.Compressor]int64{}
	for _, c := range r.Chunks() {
		has[c.Compressor]++
	}
	j.Compressors = compressorNames(has)
	return j
}

// compressor names those of a file; "-" if it has no chunk.
func (j fileJSON) compressor() string {
	if len(j.Compressors) == 0 {
		return "-"
	}
	return strings.Join(j.Compressors, "+")
}
