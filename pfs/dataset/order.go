package dataset

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sort"

	"github.com/paddlecloud/pfs/internal/lru"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/shard"
)

// Limits of the decoded chunks, in bytes of records, and open files that an orderReader keeps for
// the records to come.
const (
	keptBytes = 256 << 20
	keptFiles = 64
)

// orderReader reads records in an order that returns to the same files and chunks. It is for one
// goroutine.
type orderReader struct {
	source map[string]recordfile.File // by the names that read gets
	chunky bool                       // chunks are decoded whole and kept, because more of their records follow soon

	files  *lru.Cache[string, *recordfile.Records]
	chunks *lru.Cache[chunkID, *keptChunk]
}

func newOrderReader(source map[string]recordfile.File, chunky bool) *orderReader {
	return &orderReader{
		source: source, chunky: chunky,
		files: lru.New[string](keptFiles, lru.One[*recordfile.Records]), chunks: lru.New[chunkID](keptBytes, (*keptChunk).size),
	}
}

func (r *orderReader) close() {
	for f := range r.files.Values() {
		f.Close() // only read from
	}
}

// chunkID identifies a chunk of a file by its position among those that hold records.
type chunkID struct {
	file  string
	chunk int
}

// keptChunk is a decoded chunk.
type keptChunk struct {
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

// read passes the records of a file that have these numbers, which ascend, to fn with their
// positions in numbers. They are valid during the call.
func (r *orderReader) read(ctx context.Context, name string, numbers []int64, fn func(k int, rec []byte) error) error {
	f, err := r.file(ctx, name)
	if err != nil {
		return err
	}
	if !r.chunky {
		return recordfile.RecordError(f.ReadBatch(numbers, fn))
	}
	var c *keptChunk
	for k, n := range numbers {
		if !c.holds(n) {
			if c, err = r.chunk(f, name, n); err != nil {
				return recordfile.RecordError(err)
			}
		}
		if err := fn(k, c.record(n)); err != nil {
			return err
		}
	}
	return nil
}

// file returns an open file by name.
func (r *orderReader) file(ctx context.Context, name string) (*recordfile.Records, error) {
	if f, open := r.files.Get(name); open {
		return f, nil
	}
	f, err := recordfile.OpenRecords(ctx, r.source[name], recordio.OpenOptions{Parallelism: 1})
	if err != nil {
		return nil, err
	}
	for _, old := range r.files.Add(name, f) {
		old.Close() // only read from
	}
	return f, nil
}

// chunk returns the decoded chunk of record n of f.
func (r *orderReader) chunk(f *recordfile.Records, name string, n int64) (*keptChunk, error) {
	all := f.Chunks()
	id := chunkID{name, sort.Search(len(all), func(i int) bool { return all[i].First+all[i].Records > n })}
	if c, kept := r.chunks.Get(id); kept {
		return c, nil
	}
	c := &keptChunk{info: all[id.chunk]}
	for rec, err := range f.Range(c.info.First, c.info.First+c.info.Records) {
		if err != nil {
			return nil, err
		}
		c.data = append(c.data, rec...)
		c.ends = append(c.ends, len(c.data))
	}
	r.chunks.Add(id, c)
	return c, nil
}

// size is what c counts against the limit.
func (c *keptChunk) size() int64 {
	const end = 8
	return int64(cap(c.data)) + end*int64(cap(c.ends))
}

// Limits of one read in an order, in records and in bytes of records. The more, the fewer
// chunks are decoded twice.
const (
	batchRecords = 1 << 16
	batchBytes   = 64 << 20
)

// ordered yields the trainer's records of an order, reading several at a time.
func (s *Sharing) ordered(ctx context.Context, limit int64) (iter.Seq2[recordfile.Record, error], func() int64, error) {
	all, order, err := s.order()
	if err != nil {
		return nil, nil, err
	}
	walk, err := shard.NewWalk(order, s.o.Cursor, s.o.Trainer, s.o.Equal)
	if err != nil {
		return nil, nil, err
	}
	s.tell(order.Len()-s.o.Cursor, shard.TailOf(order.Len()-s.o.Cursor, s.o.Trainer, s.o.Equal))
	left := limit
	seq := func(yield func(recordfile.Record, error) bool) {
		reader := newOrderReader(s.source, s.o.Shuffle.String() != "global" || s.recordBytes(all) <= keptBytes)
		defer reader.close()
		b := &batch{all: all, reader: reader}
		most := s.batchSize(all)
		for {
			b.places = b.places[:0]
			for len(b.places) < most && left != 0 {
				n, ok := walk.Next()
				if !ok {
					break
				}
				if err := b.add(n); err != nil {
					yield(recordfile.Record{}, err)
					return
				}
				left--
			}
			if len(b.places) == 0 || !b.yield(ctx, yield) {
				return
			}
		}
	}
	return s.metered(seq), walk.Cursor, nil
}

// recordBytes returns the number of bytes of all records, exactly or about.
func (s *Sharing) recordBytes(all *shard.Dataset) int64 {
	if s.set != nil {
		return s.set.RecordBytes
	}
	bytes := int64(0)
	for _, f := range all.Files() {
		bytes += f.Bytes
	}
	return bytes
}

// batchSize returns the number of records to read at once.
func (s *Sharing) batchSize(all *shard.Dataset) int {
	each := max(1, s.recordBytes(all)/max(1, all.Len()))
	return int(min(batchRecords, max(1, batchBytes/each)))
}

// located is the location of a record of a batch, and its position in the order.
type located struct {
	file   int
	number int64
	turn   int
}

// batch are records that are read file by file and yielded in order.
type batch struct {
	all    *shard.Dataset
	reader *orderReader

	places  []located
	numbers []int64 // of the records of one file
	data    []byte
	read    []stretch // in the order in which they are yielded
}

// stretch is the position of a record in the data of a batch.
type stretch struct {
	located
	from, to int
}

// add appends the record with number n.
func (b *batch) add(n int64) error {
	file, number, err := b.all.Locate(n)
	b.places = append(b.places, located{file: file, number: number, turn: len(b.places)})
	return err
}

// yield reads the records and yields them; false if the caller wants no more.
func (b *batch) yield(ctx context.Context, yield func(recordfile.Record, error) bool) bool {
	slices.SortFunc(b.places, func(a, b located) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.number, b.number)) })
	b.data, b.read = b.data[:0], slices.Grow(b.read[:0], len(b.places))[:len(b.places)]
	for left := b.places; len(left) > 0; {
		n := len(left)
		if !b.reader.chunky {
			n = windowOf(left)
		}
		if err := b.readWindow(ctx, left[:n]); err != nil {
			yield(recordfile.Record{}, err)
			return false
		}
		left = left[n:]
	}
	for _, p := range b.read {
		name := recordfile.RecordName(b.all.Files()[p.file].Name, p.number)
		if !yield(recordfile.Record{Name: name, Data: b.data[p.from:p.to:p.to]}, nil) {
			return false
		}
	}
	return true
}

// fetchRecords bounds the records that are prefetched together. Each takes one block of a file, or
// more if it is longer.
const fetchRecords = 512

// windowOf returns how many of the places are prefetched together. Their files stay open.
func windowOf(places []located) int {
	files := 1
	for i := 1; i < min(len(places), fetchRecords); i++ {
		if places[i].file != places[i-1].file {
			files++
		}
		if files > keptFiles {
			return i
		}
	}
	return min(len(places), fetchRecords)
}

// byFile yields the places of each file.
func byFile(places []located) iter.Seq[[]located] {
	return func(yield func([]located) bool) {
		for len(places) > 0 {
			n := 1
			for n < len(places) && places[n].file == places[0].file {
				n++
			}
			if !yield(places[:n]) {
				return
			}
			places = places[n:]
		}
	}
}

// readWindow reads the records at the places. Those of files on a service come by few requests,
// unless whole chunks are read.
func (b *batch) readWindow(ctx context.Context, places []located) error {
	if !b.reader.chunky {
		var wants []recordfile.Want
		for some := range byFile(places) {
			f, err := b.reader.file(ctx, b.all.Files()[some[0].file].Name)
			if err != nil {
				return err
			}
			w := recordfile.Want{File: f}
			for _, p := range some {
				w.Numbers = append(w.Numbers, p.number)
			}
			wants = append(wants, w)
		}
		defer recordfile.Prefetch(ctx, wants)()
	}
	for some := range byFile(places) {
		if err := b.readFile(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// readFile reads the records that are in one file.
func (b *batch) readFile(ctx context.Context, places []located) error {
	b.numbers = b.numbers[:0]
	for _, p := range places {
		b.numbers = append(b.numbers, p.number)
	}
	return b.reader.read(ctx, b.all.Files()[places[0].file].Name, b.numbers, func(k int, rec []byte) error {
		p := places[k]
		b.read[p.turn] = stretch{p, len(b.data), len(b.data) + len(rec)}
		b.data = append(b.data, rec...)
		return nil
	})
}
