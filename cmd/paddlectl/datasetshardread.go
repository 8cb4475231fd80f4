package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

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
	if s.o.as == "recordio" {
		err = s.readPacked(records)
	} else {
		err = s.readDecoded(ctx, records)
	}
	if err == nil && cursor != nil {
		s.d.out.Message("cursor %d", cursor())
	}
	return err
}

func (s *sharing) readDecoded(ctx context.Context, records iter.Seq2[dataRecord, error]) error {
	from := s.o.payload
	if from == "" && s.set != nil {
		from = s.set.Payload
	}
	return transcoder{from: from, to: convert.Shown.Name}.run(ctx, records, func(line []byte) error {
		_, err := s.d.out.Out.Write(append(line[:len(line):len(line)], '\n'))
		return err
	})
}

// readPacked prints RecordIO, in small chunks: who reads it waits for the first.
func (s *sharing) readPacked(records iter.Seq2[dataRecord, error]) error {
	w := recordio.NewWriter(s.d.out.Out, recordio.WriterOptions{Path: "standard output", ChunkBytes: 1 << 20})
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
	if s.o.policy == byOrder {
		return s.ordered(ctx)
	}
	parts, err := s.parts()
	if err != nil {
		return nil, nil, err
	}
	p := parts[s.o.who.ID]
	once := s.filesOf(ctx, p)
	if p.Spans != nil {
		once = s.spansOf(ctx, p)
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
	files := make([]dataFile, len(p.Files))
	for i, f := range p.Files {
		files[i] = s.source[f.Name]
	}
	return s.d.recordsOf(ctx, files, -1, nil)
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
	records, err := s.d.openRecordFile(ctx, s.source[span.File], &readOptions{})
	if err != nil {
		yield(dataRecord{}, err)
		return false
	}
	defer records.Close()
	n := span.First
	for rec, err := range records.Range(span.First, span.First+span.Records) {
		name := recordName(span.File, n)
		if !yield(dataRecord{name: name, data: rec}, recordError(err)) || err != nil {
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
	batchRecords = 8192
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
	left := s.o.limit
	seq := func(yield func(dataRecord, error) bool) {
		for {
			batch := make([]int64, 0, s.batchSize(all))
			for len(batch) < cap(batch) && left != 0 {
				n, ok := walk.Next()
				if !ok {
					break
				}
				batch = append(batch, n)
				left--
			}
			if len(batch) == 0 || !s.readBatch(ctx, all, batch, yield) {
				return
			}
		}
	}
	return seq, walk.Cursor, nil
}

// batchSize is how many records are read at once.
func (s *sharing) batchSize(all *shard.Dataset) int {
	bytes := int64(0)
	for _, f := range all.Files() {
		bytes += f.Bytes
	}
	if s.set != nil {
		bytes = s.set.RecordBytes
	}
	each := max(1, bytes/max(1, all.Len()))
	return int(min(batchRecords, max(1, batchBytes/each)))
}

// located is where a record of a batch is, and when its turn comes.
type located struct {
	file   int
	number int64
	turn   int
}

// readBatch reads the records of a batch file by file, and yields them in its order.
func (s *sharing) readBatch(ctx context.Context, all *shard.Dataset, batch []int64, yield func(dataRecord, error) bool) bool {
	places := make([]located, len(batch))
	for i, n := range batch {
		file, number, err := all.Locate(n)
		if err != nil {
			yield(dataRecord{}, err)
			return false
		}
		places[i] = located{file, number, i}
	}
	slices.SortFunc(places, func(a, b located) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.number, b.number)) })
	data := make([]dataRecord, len(batch))
	for from := 0; from < len(places); {
		to := from + 1
		for to < len(places) && places[to].file == places[from].file {
			to++
		}
		if err := s.readOfFile(ctx, all.Files()[places[from].file].Name, places[from:to], data); err != nil {
			yield(dataRecord{}, err)
			return false
		}
		from = to
	}
	for _, rec := range data {
		if !yield(rec, nil) {
			return false
		}
	}
	return true
}

// readOfFile reads the records of a batch that are in one file.
func (s *sharing) readOfFile(ctx context.Context, name string, places []located, data []dataRecord) error {
	records, err := s.d.openRecordFile(ctx, s.source[name], &readOptions{})
	if err != nil {
		return err
	}
	defer records.Close()
	numbers := make([]int64, len(places))
	for i, p := range places {
		numbers[i] = p.number
	}
	return recordError(records.ReadBatch(numbers, func(k int, rec []byte) error {
		data[places[k].turn] = dataRecord{name: recordName(name, places[k].number), data: slices.Clone(rec)}
		return nil
	}))
}
