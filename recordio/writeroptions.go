package recordio

import (
	"errors"
	"fmt"
	"math"
)

// DefaultChunkBytes is the reference implementation's limit of the record bytes in a chunk. Smaller
// chunks of 1 to 4 MiB need less memory, are faster to read and lose less to damage.
const DefaultChunkBytes = 32 << 20

// SingleRecords as WriterOptions.ChunkBytes gives each record a chunk of its own, as the reference
// implementation does with a limit of 0. Consecutive empty records share one.
const SingleRecords = -1

// maxPayload is the maximum size of a payload: 4 GiB, which the header can state, less the growth
// of incompressible data.
const maxPayload = math.MaxUint32 - math.MaxUint32/32

// IndexMode tells whether a Writer builds an index.
type IndexMode uint8

const (
	NoIndex    IndexMode = iota
	KeepIndex            // build it; Writer.Index returns it after Close
	EmbedIndex           // also write it as the last chunk, with 0 records, which readers ignore
)

// WriterOptions configure a Writer. The zero value writes the same bytes as the reference
// implementation without compression.
type WriterOptions struct {
	Path        string     // for messages only
	Offset      int64      // position of the first byte in the file, for appending
	Compressor  Compressor // of all chunks
	ChunkBytes  int        // maximum record bytes of a chunk with several records; 0: DefaultChunkBytes; or SingleRecords
	Parallelism int        // number of goroutines that compress; below 2: the caller's goroutine. The output is the same
	Index       IndexMode  // whether to gather an index
}

// check returns an error if o is invalid.
func (o WriterOptions) check() error {
	switch {
	case !o.Compressor.known():
		return plain(o.Path, Unsupported, errors.New(o.Compressor.String()))
	case o.ChunkBytes < SingleRecords || o.ChunkBytes > 1<<30:
		return plain(o.Path, Invalid, fmt.Errorf("chunks of %d bytes; the most is %d", o.ChunkBytes, 1<<30))
	case o.Index != NoIndex && o.Offset != 0:
		return plain(o.Path, Invalid, errors.New("an index would cover only a part of the file: append without one, then build it"))
	}
	return nil
}

// WriterStats counts the records and bytes that a Writer has taken and written.
type WriterStats struct {
	Records     int64 // records written so far
	RecordBytes int64 // in these records, without their lengths
	Chunks      int64 // written
	FileBytes   int64 // written
}
