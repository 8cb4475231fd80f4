package dataset

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/shard"
)

// SharePolicy is a way to divide records among trainers.
type SharePolicy string

// The policies. The first three assign whole files.
const (
	ByMod        SharePolicy = "mod"
	ByLPT        SharePolicy = "lpt"
	ByRendezvous SharePolicy = "rendezvous"
	ByRange      SharePolicy = "range" // spans of records
	ByOrder      SharePolicy = "order" // in turn, in one order of all records
)

// ShareOptions are the options of Share: which trainer gets which records.
type ShareOptions struct {
	Trainer shard.Trainer
	Policy  SharePolicy
	Weight  shard.Weight // that ByLPT balances
	Equal   shard.Equal  // how trainers end

	// Of ByOrder:
	Shuffle     shard.Shuffle
	Seed, Epoch uint64
	Cursor      int64
	State       *shard.State // state of the run to resume; nil: do not compare
	StateTitle  string       // its name in messages

	OnDamage recordio.Policy                               // of whole files
	Damaged  func(recordio.Damage)                         // may be nil
	Tail     func(records int64, tail shard.Tail)          // called for the records that Equal drops or repeats; may be nil
	Meter    func(bytes int64, files int) recordfile.Meter // may be nil
}

// Sharing is a dataset, or files, divided among trainers.
type Sharing struct {
	o       ShareOptions
	set     *Dataset // nil if files, or several datasets, were named
	named   []recordfile.File
	files   []shard.File
	source  map[string]recordfile.File // of files, by name
	blocks  []int64                    // records of every chunk, if the order needs them
	reading recordfile.Reading         // of whole files
}

// Share divides the files that inputs name among trainers, and checks that they are a whole set.
func Share(ctx context.Context, inputs []Input, o ShareOptions) (*Sharing, error) {
	set, files, err := Find(ctx, inputs, o.OnDamage)
	if err != nil {
		return nil, err
	}
	s := &Sharing{o: o, set: set, named: files, source: map[string]recordfile.File{}}
	s.reading = recordfile.Reading{Policy: o.OnDamage, OnDamage: o.Damaged, Meter: recordfile.NoMeter{}}
	if set == nil {
		if err := CheckFiles(files); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		file, err := s.describe(ctx, f)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, file)
		s.source[f.Title] = f
	}
	return s, s.findBlocks(ctx)
}

// Payload returns the encoding of the records from the manifests; "" without one.
func (s *Sharing) Payload() (string, error) { return PayloadOf(s.named) }

// Loss returns the loss to damage among the records read.
func (s *Sharing) Loss() recordio.Loss { return s.reading.Loss }

// Close ends the display of progress.
func (s *Sharing) Close() { s.reading.Meter.End() }

func (s *Sharing) startMeter(bytes int64, files int) {
	if s.o.Meter != nil {
		s.reading.Meter = s.o.Meter(bytes, files)
	}
}

// metered counts the bytes of records if reading files does not.
func (s *Sharing) metered(records iter.Seq2[recordfile.Record, error]) iter.Seq2[recordfile.Record, error] {
	s.startMeter(-1, 1)
	return func(yield func(recordfile.Record, error) bool) {
		for rec, err := range records {
			s.reading.Meter.Add(int64(len(rec.Data)))
			if !yield(rec, err) {
				return
			}
		}
	}
}

func (s *Sharing) tell(records int64, tail shard.Tail) {
	if s.o.Tail != nil {
		s.o.Tail(records, tail)
	}
}

func (s *Sharing) tellTail(parts []Part, tail shard.Tail) {
	n := int64(0)
	for _, p := range parts {
		n += p.Records
	}
	s.tell(n, tail)
}

// CheckFiles checks files that were named themselves, those of one directory together.
func CheckFiles(files []recordfile.File) error {
	named := map[transfer.End]string{}
	for _, f := range files {
		if f.Stream != nil {
			return invalid("\"-\" cannot be shared out: files are needed")
		}
		if first, twice := named[f.End]; twice {
			return invalid("%s and %s are the same file: each is shared out once, so that the trainers together read its records once", first, f.Title)
		}
		named[f.End] = f.Title
	}
	names := map[string][]string{}
	for _, f := range files {
		dir, name := path.Split(string(f.End.Path))
		names[dir] = append(names[dir], name)
	}
	for _, list := range names {
		if err := shard.CheckSet(list, shard.OfAny); err != nil {
			return err
		}
	}
	return nil
}

// describe returns how much is in f.
func (s *Sharing) describe(ctx context.Context, f recordfile.File) (shard.File, error) {
	if f.Stated != nil {
		return shard.File{Name: f.Title, Records: f.Stated.Records, Bytes: f.Stated.Bytes}, nil
	}
	if !s.needsRecords() {
		_, info, err := f.End.Follow(ctx)
		return shard.File{Name: f.Title, Bytes: info.Size}, err
	}
	records, err := recordfile.OpenRecords(ctx, f, recordio.OpenOptions{})
	if err != nil {
		return shard.File{}, err
	}
	return shard.File{Name: f.Title, Records: records.Len(), Bytes: records.Input.Size}, records.Close()
}

// needsRecords reports whether the options depend on the numbers of records.
func (s *Sharing) needsRecords() bool {
	o := s.o
	return o.Policy == ByRange || o.Policy == ByOrder || o.Policy == ByLPT && o.Weight == shard.ByRecords || o.Equal != shard.Exact
}

// findBlocks finds the chunks of all files if the order depends on them.
func (s *Sharing) findBlocks(ctx context.Context) error {
	if s.o.Policy != ByOrder || !s.o.Shuffle.NeedsBlocks() {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(s.files), func(a, b shard.File) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range sorted {
		records, err := recordfile.OpenRecords(ctx, s.source[f.Name], recordio.OpenOptions{})
		if err != nil {
			return err
		}
		for _, c := range records.Chunks() {
			s.blocks = append(s.blocks, c.Records)
		}
		if err := records.Close(); err != nil {
			return err
		}
	}
	return nil
}

// assign shares out whole files.
func (s *Sharing) assign() (shard.Assignment, error) {
	a, err := s.assigned()
	if errors.Is(err, shard.ErrIdle) {
		err = &Error{Reason: TooFewFiles, Err: err}
	}
	return a, err
}

func (s *Sharing) assigned() (shard.Assignment, error) {
	switch s.o.Policy {
	case ByLPT:
		return shard.LPT(s.files, s.o.Trainer.Count, s.o.Weight)
	case ByRendezvous:
		return shard.Rendezvous(s.files, s.o.Trainer.Count)
	}
	return shard.Mod(s.files, s.o.Trainer.Count)
}

// Part is the share of one trainer: whole files, or spans of records.
type Part struct {
	Trainer shard.Trainer `json:"trainer"`
	Files   []shard.File  `json:"files,omitempty"`
	Spans   []shard.Span  `json:"spans,omitempty"`
	Records int64         `json:"records"`         // 0 if it was not needed
	Bytes   int64         `json:"bytes,omitempty"` // of whole files
	Steps   int64         `json:"steps"`           // records that it reads, with --equal; 0 if not needed

	Dropped  int64 `json:"dropped"`  // own records that it does not read, with --equal drop
	Repeated int64 `json:"repeated"` // records that it reads again, with --equal pad
}

// Parts returns the shares of all trainers, and how they end.
func (s *Sharing) Parts() ([]Part, shard.Tail, error) {
	share := s.wholes
	if s.o.Policy == ByRange {
		share = s.ranges
	}
	parts, err := share()
	if err != nil {
		return nil, shard.Tail{}, err
	}
	records := make([]int64, len(parts))
	for i := range parts {
		records[i] = parts[i].Records
	}
	tail, err := shard.StepsOf(records, s.o.Equal)
	if err != nil {
		return nil, shard.Tail{}, err
	}
	for i := range parts {
		p := &parts[i]
		if p.Steps = p.Records; s.o.Equal != shard.Exact {
			p.Steps = tail.Steps
		}
		p.Dropped, p.Repeated = max(0, p.Records-p.Steps), max(0, p.Steps-p.Records)
	}
	return parts, tail, nil
}

// wholes assigns whole files. It allocates memory for the trainers only after it knows that there
// are as many files.
func (s *Sharing) wholes() ([]Part, error) {
	a, err := s.assign()
	if err != nil {
		return nil, err
	}
	records, bytes := a.Records(), a.Bytes()
	parts := make([]Part, len(a))
	for i := range parts {
		parts[i] = Part{Trainer: shard.Trainer{ID: i, Count: len(parts)}, Files: a[i], Records: records[i], Bytes: bytes[i]}
	}
	return parts, nil
}

// ranges assigns spans of records.
func (s *Sharing) ranges() ([]Part, error) {
	all, err := shard.NewDataset(s.files)
	if err != nil {
		return nil, err
	}
	var parts []Part
	for i := range s.o.Trainer.Count {
		p := Part{Trainer: shard.Trainer{ID: i, Count: s.o.Trainer.Count}}
		if p.Spans, err = all.Range(p.Trainer); err != nil {
			return nil, err
		}
		for _, span := range p.Spans {
			p.Records += span.Records
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// order returns the order of all records that --shuffle chooses.
func (s *Sharing) order() (*shard.Dataset, shard.Order, error) {
	all, err := shard.NewDataset(s.files)
	if err != nil {
		return nil, nil, err
	}
	if err := s.fits(all); err != nil {
		return nil, nil, err
	}
	order, err := s.o.Shuffle.Order(all.Len(), s.blocks, s.o.Seed, s.o.Epoch)
	return all, order, err
}

// Position is a position in an order, and the number of records after it.
type Position struct {
	shard.State
	Records  int64 `json:"records"`
	Steps    int64 `json:"steps"`    // of trainer 0, from the cursor on
	Dropped  int64 `json:"dropped"`  // records that no trainer gets
	Repeated int64 `json:"repeated"` // records that a trainer gets again
}

// Position describes the order of ByOrder at its cursor.
func (s *Sharing) Position() (Position, error) {
	all, order, err := s.order()
	if err != nil {
		return Position{}, err
	}
	sum, err := s.fingerprint(all)
	if err != nil {
		return Position{}, err
	}
	o := s.o
	if _, err := shard.NewWalk(order, o.Cursor, o.Trainer, o.Equal); err != nil {
		return Position{}, err
	}
	tail := shard.TailOf(order.Len()-o.Cursor, shard.Trainer{Count: o.Trainer.Count}, o.Equal)
	return Position{shard.State{Dataset: sum, Shuffle: o.Shuffle.String(), Seed: o.Seed, Epoch: o.Epoch, Cursor: o.Cursor},
		order.Len(), tail.Steps, tail.Dropped, tail.Repeated}, nil
}

// fingerprint identifies the data that is shared out, wherever it is stored.
func (s *Sharing) fingerprint(all *shard.Dataset) (string, error) {
	if s.set == nil {
		return all.Fingerprint(s.blocks), nil
	}
	files := make([]shard.File, len(s.files))
	for i, f := range s.files {
		files[i] = shard.File{Name: path.Base(f.Name), Records: f.Records}
	}
	named, err := shard.NewDataset(files)
	if err != nil {
		return "", err
	}
	return named.Fingerprint(s.blocks), nil
}

// fits refuses a state of another dataset, or of another order.
func (s *Sharing) fits(all *shard.Dataset) error {
	if s.o.State == nil {
		return nil
	}
	sum, err := s.fingerprint(all)
	if err != nil {
		return err
	}
	if err := s.o.State.Check(sum, s.o.Shuffle, all.Len()); err != nil {
		return fmt.Errorf("%s: %w", s.o.StateTitle, err)
	}
	return nil
}

// Records yields the records of the trainer, at most limit of them if that is not negative, and
// how the trainers end. In an order, cursor is the position of all trainers after so many records;
// else it is nil.
func (s *Sharing) Records(ctx context.Context, limit int64) (_ iter.Seq2[recordfile.Record, error], cursor func() int64, err error) {
	if s.o.Policy == ByOrder {
		return s.ordered(ctx, limit)
	}
	parts, tail, err := s.Parts()
	if err != nil {
		return nil, nil, err
	}
	s.tellTail(parts, tail)
	p := parts[s.o.Trainer.ID]
	once := s.filesOf(ctx, p)
	if p.Spans != nil {
		once = s.metered(s.spansOf(ctx, p))
	}
	steps := int64(-1)
	if s.o.Equal != shard.Exact {
		steps = p.Steps
	}
	if limit >= 0 && (steps < 0 || limit < steps) {
		steps = limit
	}
	return taking(once, steps, s.o.Equal == shard.Pad), nil, nil
}

// First yields the first n records, all if n is negative.
func First(records iter.Seq2[recordfile.Record, error], n int64) iter.Seq2[recordfile.Record, error] {
	return taking(records, n, false)
}

// taking yields the first steps of the records, all if steps is negative. If there are fewer, it
// starts over with the first one if again is set.
func taking(once iter.Seq2[recordfile.Record, error], steps int64, again bool) iter.Seq2[recordfile.Record, error] {
	if steps < 0 {
		return once
	}
	return func(yield func(recordfile.Record, error) bool) {
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

func (s *Sharing) filesOf(ctx context.Context, p Part) iter.Seq2[recordfile.Record, error] {
	files := make([]recordfile.File, len(p.Files))
	for i, f := range p.Files {
		files[i] = s.source[f.Name]
	}
	s.startMeter(p.Bytes, len(files))
	return s.reading.Records(ctx, files)
}

// spansOf yields the records of spans.
func (s *Sharing) spansOf(ctx context.Context, p Part) iter.Seq2[recordfile.Record, error] {
	return func(yield func(recordfile.Record, error) bool) {
		for _, span := range p.Spans {
			if !s.span(ctx, span, yield) {
				return
			}
		}
	}
}

// span yields one span; false if the caller wants no more.
func (s *Sharing) span(ctx context.Context, span shard.Span, yield func(recordfile.Record, error) bool) bool {
	records, err := recordfile.OpenRecords(ctx, s.source[span.File], recordio.OpenOptions{})
	if err != nil {
		yield(recordfile.Record{}, err)
		return false
	}
	defer records.Close()
	n := span.First
	for rec, err := range records.Range(span.First, span.First+span.Records) {
		name := recordfile.RecordName(span.File, n)
		if !yield(recordfile.Record{Name: name, Data: rec}, recordfile.RecordError(err)) || err != nil {
			return false
		}
		n++
	}
	return true
}
