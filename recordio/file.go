package recordio

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// defaultCacheChunks is for one reader that goes through a file and one that jumps.
const defaultCacheChunks = 2

// OpenOptions are the choices of a File.
type OpenOptions struct {
	Path          string // for messages only
	Index         *Index // nil: the embedded index if there is one, else the headers are walked
	Parallelism   int    // of Range, as in ScanOptions
	MaxChunkBytes int64  // as in ScanOptions
	CacheChunks   int    // decoded chunks that are kept; 0: 2
}

// File reads records by number. It may be used concurrently.
//
// With an index a record costs the parts of its chunk that it touches: one or two
// frames of 64 KiB of a snappy chunk, each checked by its own checksum. Without,
// the first record of a chunk costs decoding the chunk; what was learned from it
// is kept, four bytes a record.
type File struct {
	r    io.ReaderAt
	size int64
	opts OpenOptions
	x    *Index

	indexed bool                   // x is of an index, and not of the headers
	known   []atomic.Pointer[part] // of each chunk; nil until decoded, where there is no index
	right   []atomic.Bool          // the chunk's header is what the index says
	cache   cache
	readers sync.Pool // of *recordReader
}

// Open returns a File of the size bytes of r, which must allow concurrent ReadAt.
// It answers Stale if the index in the options is of another file. An index is
// believed only as far as it can be checked: its size here, the header of each
// chunk when that is first used, and what it leads to by checksums always.
func Open(r io.ReaderAt, size int64, opts OpenOptions) (*File, error) {
	scan := ScanOptions{Path: opts.Path, MaxChunkBytes: opts.MaxChunkBytes}
	if err := scan.check(); err != nil {
		return nil, err
	}
	opts.MaxChunkBytes = scan.MaxChunkBytes
	if opts.CacheChunks == 0 {
		opts.CacheChunks = defaultCacheChunks
	}
	f := &File{r: r, size: size, opts: opts, cache: cache{most: opts.CacheChunks}}
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

// find finds an index and says whether it reaches into chunks.
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

// Len returns the number of records. Without an index it is what the headers say.
func (f *File) Len() int64 { return f.x.records }

// Indexed reports whether an index is used, that of the options or an embedded one.
func (f *File) Indexed() bool { return f.indexed }

// Dialect returns the dialect of the file.
func (f *File) Dialect() Dialect { return f.x.dialect }

// Chunks describes the chunks that hold records. The caller must not change it.
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

// reader returns one that nobody uses.
func (f *File) reader() *recordReader {
	if r, ok := f.readers.Get().(*recordReader); ok {
		return r
	}
	return &recordReader{file: f, decoder: decoder{limit: f.opts.MaxChunkBytes, verify: true}, chunk: -1}
}

// about puts path and record into an error.
func (f *File) about(err error, record int64) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	named := *e
	named.Path, named.Record = f.opts.Path, record
	return &named
}
