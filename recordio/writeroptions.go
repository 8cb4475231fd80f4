package recordio

import (
	"errors"
	"fmt"
	"math"
)

// DefaultChunkBytes is the reference's limit of the record bytes in a chunk.
// Smaller chunks, of 1 to 4 MiB, need less memory, are faster to read and lose
// less to damage.
const DefaultChunkBytes = 32 << 20

// SingleRecords as WriterOptions.ChunkBytes gives each record a chunk of its own, as the
// reference does with a limit of 0. Empty records that follow each other share one.
const SingleRecords = -1

// maxPayload is the most a payload may have, of the 4 GiB its header can state:
// what compression adds to the incompressible must fit too.
const maxPayload = math.MaxUint32 - math.MaxUint32/32

// IndexMode says whether a Writer gathers an index of what it writes.
type IndexMode uint8

const (
	NoIndex    IndexMode = iota
	KeepIndex            // gather it: Writer.Index returns it after Close
	EmbedIndex           // also write it as the last chunk, of 0 records, which readers pass over
)

// WriterOptions are the choices of a Writer. The zero value writes what the
// reference writes with compressor none.
type WriterOptions struct {
	Path        string          // for messages only
	Offset      int64           // where the first byte written stands in the file, when appending
	Compressor  Compressor      // of all chunks
	ChunkBytes  int             // most record bytes of a chunk of several records; 0: DefaultChunkBytes; or SingleRecords
	Parallelism int             // goroutines that compress; below 2: the caller's does. The output is the same
	Index       IndexMode       // whether to gather an index
	OnChunk     func(ChunkInfo) // called after each chunk is written, in the caller's goroutine; may be nil
}

// check returns what is wrong with o, nil if nothing is.
func (o WriterOptions) check() error {
	switch {
	case !o.Compressor.known():
		return plain(o.Path, Unsupported, errors.New(o.Compressor.String()))
	case o.ChunkBytes < SingleRecords || o.ChunkBytes > 1<<30:
		return plain(o.Path, Invalid, fmt.Errorf("chunks of %d bytes; the most is %d", o.ChunkBytes, 1<<30))
	case o.Index != NoIndex && o.Offset != 0:
		return plain(o.Path, Invalid, errors.New("an index of a part of the file: append without, then build it anew"))
	}
	return nil
}

// WriterStats counts what a Writer has taken and written.
type WriterStats struct {
	Records     int64 // taken
	RecordBytes int64 // in them, without the lengths before them
	Chunks      int64 // written
	FileBytes   int64 // written
}
