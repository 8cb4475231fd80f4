package dataset

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/paddlecloud/pfs/shard"
)

// read prints the records of the trainer.
func (s *sharing) read(ctx context.Context) error {
	records, cursor, err := s.records(ctx)
	if err != nil {
		return err
	}
	if s.damage.M == nil { // no whole files, whose bytes are counted as they are read
		s.damage.M = s.a.StartMeter(s.a.OnScreen(), -1, 1)
		records = metered(records, s.damage.M)
	}
	defer s.damage.M.End()
	if s.o.as == "recordio" {
		err = s.readPacked(records)
	} else {
		err = s.readDecoded(ctx, records)
	}
	s.damage.M.End()
	if err == nil && cursor != nil {
		s.a.Message("cursor %d", cursor())
	}
	return s.damage.End(err)
}

func (s *sharing) readDecoded(ctx context.Context, records iter.Seq2[dataRecord, error]) error {
	return transcoder{from: s.o.payload, to: convert.Shown.Name}.run(ctx, records, func(line []byte) error {
		_, err := s.a.Out.Write(append(line[:len(line):len(line)], '\n'))
		return err
	})
}

// readPacked prints RecordIO, in small chunks: who reads it waits for the first.
func (s *sharing) readPacked(records iter.Seq2[dataRecord, error]) error {
	w := recordio.NewWriter(s.a.Out, recordio.WriterOptions{Path: "standard output", ChunkBytes: 1 << 20})
	for rec, err := range records {
		if err != nil {
			return err
		}
		if err := w.Write(rec.data); err != nil {
			return err
		}
	}
	return w.Close()
}

// records yields what the trainer reads. In an order, cursor tells how far that is.
func (s *sharing) records(ctx context.Context) (_ iter.Seq2[dataRecord, error], cursor func() int64, err error) {
	if s.o.policy == ByOrder {
		return s.ordered(ctx)
	}
	parts, tail, err := s.parts()
	if err != nil {
		return nil, nil, err
	}
	s.tellTail(recordsOfAll(parts), tail)
	p := parts[s.o.who.ID]
	once := s.spansOf(ctx, p)
	if p.Spans == nil {
		once = s.filesOf(ctx, p)
	}
	steps := int64(-1)
	if s.o.equally != shard.Exact {
		steps = p.Steps
	}
	if s.o.limit >= 0 && (steps < 0 || s.o.limit < steps) {
		steps = s.o.limit
	}
	return taking(once, steps, s.o.equally == shard.Pad), nil, nil
}

// metered counts the bytes of records.
func metered(records iter.Seq2[dataRecord, error], m *app.Meter) iter.Seq2[dataRecord, error] {
	return func(yield func(dataRecord, error) bool) {
		for rec, err := range records {
			m.Add(int64(len(rec.data)))
			if !yield(rec, err) {
				return
			}
		}
	}
}

// taking yields the first so many of the records, all if steps is negative; with
// again, it begins anew with the first one where they are fewer.
func taking(once iter.Seq2[dataRecord, error], steps int64, again bool) iter.Seq2[dataRecord, error] {
	if steps < 0 {
		return once
	}
	return func(yield func(dataRecord, error) bool) {
		for left := steps; left > 0; {
			before := left
			for rec, err := range once {
				if !yield(rec, err) || err != nil {
					return
				}
				if left--; left == 0 {
					return
				}
			}
			if !again || left == before {
				return
			}
		}
	}
}

func (s *sharing) filesOf(ctx context.Context, p part) iter.Seq2[dataRecord, error] {
	files := make([]datafile.File, len(p.Files))
	for i, f := range p.Files {
		files[i] = s.source[f.Name]
	}
	s.damage.M = s.a.StartMeter(s.a.OnScreen(), p.Bytes, len(files))
	return recordsOf(ctx, s.damage, files, -1)
}

// spansOf yields rows of records.
func (s *sharing) spansOf(ctx context.Context, p part) iter.Seq2[dataRecord, error] {
	return func(yield func(dataRecord, error) bool) {
		for _, span := range p.Spans {
			if !s.span(ctx, span, yield) {
				return
			}
		}
	}
}

// span yields one row; false if there are to be no more.
func (s *sharing) span(ctx context.Context, span shard.Span, yield func(dataRecord, error) bool) bool {
	records, err := datafile.OpenRecordFile(ctx, s.a, s.source[span.File], &datafile.ReadOptions{})
	if err != nil {
		yield(dataRecord{}, err)
		return false
	}
	defer records.Close()
	n := span.First
	for rec, err := range records.Range(span.First, span.First+span.Records) {
		name := recordName(span.File, n)
		if !yield(dataRecord{name: name, data: rec}, datafile.RecordError(err)) || err != nil {
			return false
		}
		n++
	}
	return true
}

// recordName makes what messages call a record.
func recordName(file string, n int64) func() string {
	return func() string { return fmt.Sprintf("%s: record %d", file, n) }
}

// Bounds of what is read at once in an order: that many records, or about that many
// bytes of them. The more, the fewer chunks are decoded twice.
const (
	batchRecords = 1 << 16
	batchBytes   = 64 << 20
)

// ordered yields the trainer's records of an order, some read at a time.
func (s *sharing) ordered(ctx context.Context) (iter.Seq2[dataRecord, error], func() int64, error) {
	all, order, err := s.order()
	if err != nil {
		return nil, nil, err
	}
	walk, err := shard.NewWalk(order, s.o.cursor, s.o.who, s.o.equally)
	if err != nil {
		return nil, nil, err
	}
	s.tellTail(order.Len()-s.o.cursor, shard.TailOf(order.Len()-s.o.cursor, s.o.who, s.o.equally))
	left := s.o.limit
	seq := func(yield func(dataRecord, error) bool) {
		reader := newOrderReader(s.a, s.source, s.o.shuffling.String() != "global" || s.recordBytes(all) <= keptBytes)
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
					yield(dataRecord{}, err)
					return
				}
				left--
			}
			if len(b.places) == 0 || !b.yield(ctx, yield) {
				return
			}
		}
	}
	return seq, walk.Cursor, nil
}

// recordBytes is how many bytes all records have, or about that many.
func (s *sharing) recordBytes(all *shard.Dataset) int64 {
	if s.set != nil {
		return s.set.RecordBytes
	}
	bytes := int64(0)
	for _, f := range all.Files() {
		bytes += f.Bytes
	}
	return bytes
}

// batchSize is how many records are read at once.
func (s *sharing) batchSize(all *shard.Dataset) int {
	each := max(1, s.recordBytes(all)/max(1, all.Len()))
	return int(min(batchRecords, max(1, batchBytes/each)))
}

// located is where a record of a batch is, and when its turn comes.
type located struct {
	file   int
	number int64
	turn   int
}

// batch are records that are read file by file and yielded in their order.
type batch struct {
	all    *shard.Dataset
	reader *orderReader

	places  []located
	numbers []int64 // of the records of one file
	data    []byte
	read    []stretch // by turns
}

// stretch is where a record stands in the data of a batch.
type stretch struct {
	located
	from, to int
}

// add puts the record of a number behind those that are there.
func (b *batch) add(n int64) error {
	file, number, err := b.all.Locate(n)
	b.places = append(b.places, located{file: file, number: number, turn: len(b.places)})
	return err
}

// yield reads the records and yields them; false if there are to be no more.
func (b *batch) yield(ctx context.Context, yield func(dataRecord, error) bool) bool {
	slices.SortFunc(b.places, func(a, b located) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.number, b.number)) })
	b.data, b.read = b.data[:0], slices.Grow(b.read[:0], len(b.places))[:len(b.places)]
	for from := 0; from < len(b.places); {
		to := from + 1
		for to < len(b.places) && b.places[to].file == b.places[from].file {
			to++
		}
		if err := b.readFile(ctx, b.places[from:to]); err != nil {
			yield(dataRecord{}, err)
			return false
		}
		from = to
	}
	for _, p := range b.read {
		name := recordName(b.all.Files()[p.file].Name, p.number)
		if !yield(dataRecord{name: name, data: b.data[p.from:p.to:p.to]}, nil) {
			return false
		}
	}
	return true
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
