package recordio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Writer writes records. It is not safe for concurrent use. Close must be called.
//
// A chunk ends before the record that would raise its record bytes above ChunkBytes, so a longer
// record has a chunk of its own. Unlike in the reference implementation, a chunk also ends after a
// million records, or ChunkBytes records if that is more, so that empty records do not fill the
// memory; and before the lengths of its records make it larger than readers accept by default
// (DefaultMaxChunkBytes). Only a single record larger than that needs a reader with another limit.
type Writer struct {
	w     io.Writer
	opts  WriterOptions
	pack  packer
	stats WriterStats
	index *indexer // nil if no index was requested

	err    error // sticky; of Kind Closed after Close
	closed bool
	result error // result of Close

	arena    []byte // data of the chunk that the packer has not consumed
	records  uint32 // number of records in the chunk
	maxCount uint32 // maximum of records
	maxData  int    // maximum bytes of several records with their lengths
	bytes    int    // in these records
	payload  int    // bytes with the lengths
}

// maxReadable is the maximum data of a chunk that readers accept by default. Incompressible data
// grows a little when it is stored.
const maxReadable = DefaultMaxChunkBytes - DefaultMaxChunkBytes/256

// NewWriter returns a Writer on w. Invalid options are reported by the first call.
func NewWriter(w io.Writer, opts WriterOptions) *Writer {
	switch opts.ChunkBytes {
	case 0:
		opts.ChunkBytes = DefaultChunkBytes
	case SingleRecords:
		opts.ChunkBytes = 0
	}
	out := &Writer{w: w, opts: opts, maxCount: uint32(min(max(opts.ChunkBytes, 1<<20), 1<<27)), maxData: maxReadable}
	if opts.ChunkBytes > maxReadable {
		out.maxData = math.MaxInt // the reader needs another limit anyway
	}
	if err := opts.check(); err != nil {
		out.err = err
		return out
	}
	if opts.Index != NoIndex {
		out.index = newIndexer(Go)
	}
	if err := out.pack.init(opts); err != nil {
		out.err = plain(opts.Path, Invalid, err)
		return out
	}
	out.arena = out.pack.begin()
	return out
}

// Write adds a copy of rec. After an error every call returns that error.
func (w *Writer) Write(rec []byte) error {
	if err := w.begin(len(rec)); err != nil {
		return err
	}
	w.arena = binary.LittleEndian.AppendUint32(w.arena, uint32(len(rec)))
	w.arena = append(w.arena, rec...)
	w.added(len(rec))
	return w.spill()
}

// begin prepares for a record of size bytes: it ends the chunk if it is full.
func (w *Writer) begin(size int) error {
	if w.err != nil {
		return w.err
	}
	if int64(size) > maxPayload-lengthSize {
		return w.fail(Limit, fmt.Errorf("a record of %d bytes; the format holds %d", size, int64(maxPayload-lengthSize)))
	}
	if w.full(size) {
		return w.Flush()
	}
	return nil
}

// full reports whether the chunk must end before a record of size bytes.
func (w *Writer) full(size int) bool {
	return w.records > 0 && (size > w.opts.ChunkBytes-w.bytes || w.records >= w.maxCount || size > w.maxData-w.payload-lengthSize)
}

// added counts a record that has been put into the arena.
func (w *Writer) added(size int) {
	w.records++
	w.bytes += size
	w.payload += lengthSize + size
	w.stats.Records++
	w.stats.RecordBytes += int64(size)
	if w.index != nil {
		w.index.record(w.payload)
	}
}

// spill passes full blocks to the packer.
func (w *Writer) spill() error {
	rest, err := w.pack.add(w.arena)
	w.arena = rest
	if err != nil {
		return w.fail(IO, err)
	}
	return nil
}

// Flush ends the current chunk and writes it. The reference implementation has no such call: its
// chunks end only when they are full.
func (w *Writer) Flush() error {
	if w.err != nil || w.records == 0 {
		return w.err
	}
	stored, err := w.pack.finish(w.arena)
	if err != nil {
		return w.fail(IO, err)
	}
	h := header{crc: w.pack.crc, comp: w.opts.Compressor, size: uint32(len(stored) - headerSize), n: w.records}
	h.put(stored)
	info := w.info(h)
	if w.index != nil {
		w.index.chunk(info, w.pack.listBlocks(stored[headerSize:]))
	}
	if err := w.emit(stored); err != nil {
		return err
	}
	w.stats.Chunks++
	w.arena = w.pack.begin()
	w.records, w.bytes, w.payload = 0, 0, 0
	return nil
}

// info describes the chunk that is about to be written.
func (w *Writer) info(h header) ChunkInfo {
	return ChunkInfo{
		Offset: w.opts.Offset + w.stats.FileBytes, Size: headerSize + int64(h.size),
		First: w.stats.Records - int64(h.n), Records: int64(h.n), RawBytes: int64(w.payload),
		Compressor: h.comp, CRC: h.crc,
	}
}

// emit writes whole chunks.
func (w *Writer) emit(p []byte) error {
	n, err := w.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	w.stats.FileBytes += int64(n)
	if err != nil {
		return w.fail(IO, err)
	}
	return nil
}

// Close writes the rest. It does not close the underlying writer. A second Close returns the same
// error as the first; other calls after it fail.
func (w *Writer) Close() error {
	if w.closed {
		return w.result
	}
	w.closed = true
	w.result = w.finish()
	w.pack.close(w.arena)
	w.arena = nil
	if w.err == nil {
		w.err = plain(w.opts.Path, Closed, nil)
	}
	return w.result
}

// finish writes the last chunk and the index.
func (w *Writer) finish() error {
	if err := w.Flush(); err != nil || w.opts.Index != EmbedIndex {
		return err
	}
	p, err := embeddedIndex(w.index.done(w.stats.FileBytes))
	if err != nil {
		return w.fail(Limit, err)
	}
	return w.emit(p)
}

// Stats returns the current counts.
func (w *Writer) Stats() WriterStats { return w.stats }

// Index returns the index of the written records. The options must ask for an index, and Close must
// have returned nil.
func (w *Writer) Index() (*Index, error) {
	switch {
	case w.index == nil:
		return nil, plain(w.opts.Path, Invalid, errors.New("the options of the Writer ask for no index"))
	case !w.closed:
		return nil, plain(w.opts.Path, Invalid, errors.New("the index is not complete before Close"))
	case w.result != nil:
		return nil, w.result
	}
	return w.index.done(w.stats.FileBytes), nil
}

// fail makes the error permanent.
func (w *Writer) fail(kind Kind, cause error) error {
	w.err = &Error{Path: w.opts.Path, Offset: w.opts.Offset + w.stats.FileBytes, Chunk: w.stats.Chunks, Record: -1, Kind: kind, Err: cause}
	return w.err
}
