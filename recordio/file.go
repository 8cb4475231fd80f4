package recordio

import (
	"io"
	"sync"
	"sync/atomic"
)

// cacheChunks is the number of decoded chunks that a File keeps: for one sequential and one random
// reader.
const cacheChunks = 2

// OpenOptions configure a File.
type OpenOptions struct {
	Path          string // for messages only
	Index         *Index // nil: use the embedded index if there is one, or else read the headers
	Parallelism   int    // for Range; see ScanOptions
	MaxChunkBytes int64  // see ScanOptions
}

// File reads records by number. It is safe for concurrent use.
//
// With an index, reading a record decodes only the blocks that contain it: one or two snappy frames
// of 64 KiB, each with its own checksum. Without an index, the first record of a chunk costs
// decoding the chunk; File then remembers the record positions at four bytes a record.
type File struct {
	r    io.ReaderAt
	size int64
	opts OpenOptions
	x    *Index

	indexed bool                   // x is a full index, not made from headers
	known   []atomic.Pointer[part] // by chunk; without an index nil until decoded
	right   []atomic.Bool          // whether the chunk's header has been compared with the index
	cache   cache
	readers sync.Pool // of *recordReader
}

// Open returns a File over the size bytes of r, which must allow concurrent ReadAt. It returns
// Stale if the index in the options belongs to another file. An index is verified step by step: its
// size here, each chunk header on first use, and data by its checksums on every use.
func Open(r io.ReaderAt, size int64, opts OpenOptions) (*File, error) {
	scan := ScanOptions{Path: opts.Path, MaxChunkBytes: opts.MaxChunkBytes}
	if err := scan.check(); err != nil {
		return nil, err
	}
	opts.MaxChunkBytes = scan.MaxChunkBytes
	f := &File{r: r, size: size, opts: opts, cache: cache{most: cacheChunks}}
	indexed, err := f.find()
	if err != nil {
		return nil, withPath(err, opts.Path)
	}
	f.indexed = indexed
	f.known = make([]atomic.Pointer[part], len(f.x.chunks))
	f.right = make([]atomic.Bool, len(f.x.chunks))
	for i := range f.known {
		if indexed {
			f.known[i].Store(&f.x.parts[i])
		} else {
			f.right[i].Store(true) // the header has just been read
		}
	}
	return f, nil
}

// find loads an index and reports whether it includes records and blocks.
func (f *File) find() (indexed bool, err error) {
	if f.x = f.opts.Index; f.x != nil {
		if err := f.x.fits(f.size); err != nil {
			return true, err
		}
		return true, f.ends()
	}
	if f.x, err = findEmbedded(f.r, f.size); f.x != nil || err != nil {
		return true, err
	}
	f.x, err = walkHeaders(f.r, f.size, f.opts.MaxChunkBytes)
	return false, err
}

// ends compares the first and the last chunk with the index.
func (f *File) ends() error {
	if len(f.x.chunks) == 0 {
		return nil
	}
	if err := f.x.matches(f.r, f.x.chunks[0]); err != nil {
		return err
	}
	return f.x.matches(f.r, f.x.chunks[len(f.x.chunks)-1])
}

// Len returns the number of records; without an index, the number that the headers state.
func (f *File) Len() int64 { return f.x.records }

// Indexed reports whether the File uses an index, from the options or embedded.
func (f *File) Indexed() bool { return f.indexed }

// Dialect returns the dialect of the file.
func (f *File) Dialect() Dialect { return f.x.dialect }

// Chunks describes the chunks that hold records. The caller must not modify the slice.
func (f *File) Chunks() []ChunkInfo { return f.x.chunks }

// ReadRecord appends record i to dst.
func (f *File) ReadRecord(i int64, dst []byte) ([]byte, error) {
	if i < 0 || i >= f.x.records {
		return dst, outOfRange(f.opts.Path, i, f.x.records)
	}
	r := f.reader()
	defer f.readers.Put(r)
	rec, err := r.record(i, false)
	if err != nil {
		return dst, f.about(err, i)
	}
	return append(dst, rec...), nil
}

// reader returns an idle recordReader.
func (f *File) reader() *recordReader {
	if r, ok := f.readers.Get().(*recordReader); ok {
		return r
	}
	return &recordReader{file: f, decoder: decoder{limit: f.opts.MaxChunkBytes, verify: true}, chunk: -1}
}

// about adds path and record number to an error.
func (f *File) about(err error, record int64) error {
	return edited(err, func(e *Error) { e.Path, e.Record = f.opts.Path, record })
}
