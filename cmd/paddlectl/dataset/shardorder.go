package dataset

import (
	"container/list"
	"context"
	"slices"
	"sort"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/recordio"
)

// Bounds of what an orderReader keeps for the records to come: decoded chunks, in
// bytes of records, and open files.
const (
	keptBytes = 256 << 20
	keptFiles = 64
)

// orderReader reads records in an order that comes back to the same files and chunks.
// It is for one goroutine.
type orderReader struct {
	a      *app.App
	source map[string]datafile.File // by the names that read is given
	chunky bool                     // chunks are decoded whole, and kept: others of their records come soon

	files  map[string]*datafile.RecordFile
	opened []string // names of files, the one used last at the end
	chunks map[chunkID]*list.Element
	recent *list.List // of *keptChunk, the one used last in front
	bytes  int64      // of recent
}

func newOrderReader(a *app.App, source map[string]datafile.File, chunky bool) *orderReader {
	return &orderReader{a: a, source: source, chunky: chunky, files: map[string]*datafile.RecordFile{}, chunks: map[chunkID]*list.Element{}, recent: list.New()}
}

func (r *orderReader) close() {
	for _, f := range r.files {
		f.Close() // only read from
	}
}

// chunkID names a chunk of a file by its place among those that hold records.
type chunkID struct {
	file  string
	chunk int
}

// keptChunk is a decoded chunk.
type keptChunk struct {
	id   chunkID
	info recordio.ChunkInfo
	data []byte
	ends []int // of its records in data
}

// holds reports whether record n of the file is in c.
func (c *keptChunk) holds(n int64) bool {
	return c != nil && n >= c.info.First && n < c.info.First+c.info.Records
}

func (c *keptChunk) record(n int64) []byte {
	k, start := n-c.info.First, 0
	if k > 0 {
		start = c.ends[k-1]
	}
	return c.data[start:c.ends[k]]
}

// read passes records of a file, by ascending numbers, to fn with their places in
// numbers. They are valid during the call.
func (r *orderReader) read(ctx context.Context, name string, numbers []int64, fn func(k int, rec []byte) error) error {
	f, err := r.file(ctx, name)
	if err != nil {
		return err
	}
	if !r.chunky {
		return datafile.RecordError(f.ReadBatch(numbers, fn))
	}
	var c *keptChunk
	for k, n := range numbers {
		if !c.holds(n) {
			if c, err = r.chunk(f, name, n); err != nil {
				return datafile.RecordError(err)
			}
		}
		if err := fn(k, c.record(n)); err != nil {
			return err
		}
	}
	return nil
}

// file returns the file of a name, open.
func (r *orderReader) file(ctx context.Context, name string) (*datafile.RecordFile, error) {
	f, open := r.files[name]
	if open {
		i := slices.Index(r.opened, name)
		r.opened = append(slices.Delete(r.opened, i, i+1), name)
		return f, nil
	}
	if len(r.opened) == keptFiles {
		r.files[r.opened[0]].Close() // only read from
		delete(r.files, r.opened[0])
		r.opened = slices.Delete(r.opened, 0, 1)
	}
	f, err := datafile.OpenRecordFile(ctx, r.a, r.source[name], &datafile.ReadOptions{Parallel: 1})
	if err != nil {
		return nil, err
	}
	r.files[name], r.opened = f, append(r.opened, name)
	return f, nil
}

// chunk returns the chunk of record n of f, decoded.
func (r *orderReader) chunk(f *datafile.RecordFile, name string, n int64) (*keptChunk, error) {
	all := f.Chunks()
	id := chunkID{name, sort.Search(len(all), func(i int) bool { return all[i].First+all[i].Records > n })}
	if e, kept := r.chunks[id]; kept {
		r.recent.MoveToFront(e)
		return e.Value.(*keptChunk), nil
	}
	c := &keptChunk{id: id, info: all[id.chunk]}
	for rec, err := range f.Range(c.info.First, c.info.First+c.info.Records) {
		if err != nil {
			return nil, err
		}
		c.data = append(c.data, rec...)
		c.ends = append(c.ends, len(c.data))
	}
	r.keep(c)
	return c, nil
}

// size is what c takes of the bound.
func (c *keptChunk) size() int64 {
	const end = 8
	return int64(cap(c.data)) + end*int64(cap(c.ends))
}

// keep puts c among the chunks that are kept, and gives up those used longest ago.
func (r *orderReader) keep(c *keptChunk) {
	r.chunks[c.id] = r.recent.PushFront(c)
	r.bytes += c.size()
	for r.bytes > keptBytes && r.recent.Len() > 1 {
		old := r.recent.Remove(r.recent.Back()).(*keptChunk)
		delete(r.chunks, old.id)
		r.bytes -= old.size()
	}
}
