package dataset

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/shard"
)

// sharing is one run of dataset shard.
type sharing struct {
	a      *app.App
	o      *shardOptions
	set    *dataset // nil if files, or several datasets, were named
	files  []shard.File
	source map[string]datafile.File // of files, by name
	blocks []int64                  // records of every chunk, where the order needs them
	damage *datafile.Reading        // of whole files
}

// openSharing finds what is to be shared out, and checks that it is a whole set.
func openSharing(ctx context.Context, a *app.App, o *shardOptions, operands []string) (*sharing, error) {
	set, files, err := datasetOrDamaged(ctx, a, operands, o.damage.Policy)
	if err != nil {
		return nil, err
	}
	if o.read && o.as != "recordio" && o.payload == "" {
		if o.payload, err = datafile.PayloadOf(files); err != nil {
			return nil, err
		}
	}
	s := &sharing{a: a, o: o, set: set, source: map[string]datafile.File{}, damage: &datafile.Reading{App: a, O: &o.damage}}
	if set == nil {
		if err := checkNames(files); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		file, err := s.describe(ctx, f)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, file)
		s.source[f.Text] = f
	}
	return s, s.findBlocks(ctx)
}

// checkNames checks files that were named themselves, those of one directory together.
func checkNames(files []datafile.File) error {
	named := map[transfer.End]string{}
	for _, f := range files {
		if f.Stdin {
			return cliargs.Usagef("\"-\" cannot be shared out: files are needed")
		}
		if first, twice := named[f.End]; twice {
			return cliargs.Usagef("%s and %s are the same file: each is shared out once, so that the trainers together read its records once", first, f.Text)
		}
		named[f.End] = f.Text
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

// describe says how much is in f.
func (s *sharing) describe(ctx context.Context, f datafile.File) (shard.File, error) {
	if f.Stated != nil {
		return shard.File{Name: f.Text, Records: f.Stated.Records, Bytes: f.Stated.Bytes}, nil
	}
	if !s.needsRecords() {
		_, info, err := app.Followed(ctx, f.End, true)
		return shard.File{Name: f.Text, Bytes: info.Size}, err
	}
	records, err := datafile.OpenRecordFile(ctx, s.a, f, &datafile.ReadOptions{})
	if err != nil {
		return shard.File{}, err
	}
	return shard.File{Name: f.Text, Records: records.Len(), Bytes: records.In.Size}, records.Close()
}

// needsRecords reports whether what is asked for depends on the numbers of records.
func (s *sharing) needsRecords() bool {
	o := s.o
	return o.policy == ByRange || o.policy == ByOrder || o.policy == ByLPT && o.balance == shard.ByRecords || o.equally != shard.Exact
}

// findBlocks finds the chunks of all files if the order depends on them.
func (s *sharing) findBlocks(ctx context.Context) error {
	if s.o.policy != ByOrder || !s.o.shuffling.NeedsBlocks() {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(s.files), func(a, b shard.File) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range sorted {
		records, err := datafile.OpenRecordFile(ctx, s.a, s.source[f.Name], &datafile.ReadOptions{})
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
func (s *sharing) assign() (shard.Assignment, error) {
	a, err := s.assigned()
	if errors.Is(err, shard.ErrIdle) {
		err = app.WithHint(err, "--policy range shares out records instead of files; dataset convert --format recordio --num-shards makes more files")
	}
	return a, err
}

func (s *sharing) assigned() (shard.Assignment, error) {
	switch s.o.policy {
	case ByLPT:
		return shard.LPT(s.files, s.o.who.Count, s.o.balance)
	case ByRendezvous:
		return shard.Rendezvous(s.files, s.o.who.Count)
	}
	return shard.Mod(s.files, s.o.who.Count)
}

// part is what one trainer gets: whole files, or rows of records.
type part struct {
	Trainer shard.Trainer `json:"trainer"`
	Files   []shard.File  `json:"files,omitempty"`
	Spans   []shard.Span  `json:"spans,omitempty"`
	Records int64         `json:"records"`         // 0 if it was not needed
	Bytes   int64         `json:"bytes,omitempty"` // of whole files
	Steps   int64         `json:"steps"`           // records that it reads, by --equal; likewise

	Dropped  int64 `json:"dropped"`  // records of its own that it does not read, by --equal drop
	Repeated int64 `json:"repeated"` // records that it reads once more, by --equal pad
}

// parts are what the trainers get, all of them, and how they end.
func (s *sharing) parts() ([]part, shard.Tail, error) {
	share := s.wholes
	if s.o.policy == ByRange {
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
	tail, err := shard.StepsOf(records, s.o.equally)
	if err != nil {
		return nil, shard.Tail{}, err
	}
	for i := range parts {
		p := &parts[i]
		if p.Steps = p.Records; s.o.equally != shard.Exact {
			p.Steps = tail.Steps
		}
		p.Dropped, p.Repeated = max(0, p.Records-p.Steps), max(0, p.Steps-p.Records)
	}
	return parts, tail, nil
}

// tellTail says how many records --equal drops or repeats.
func (s *sharing) tellTail(records int64, tail shard.Tail) {
	switch s.o.equally {
	case shard.Drop:
		s.a.Message("%s for each trainer: %d of %d dropped", app.Count(tail.Steps, "record", "records"), tail.Dropped, records)
	case shard.Pad:
		s.a.Message("%s for each trainer: %d of %d repeated", app.Count(tail.Steps, "record", "records"), tail.Repeated, records)
	}
}

// recordsOfAll is how many records all trainers have together.
func recordsOfAll(parts []part) (n int64) {
	for _, p := range parts {
		n += p.Records
	}
	return n
}

// wholes gives whole files. Memory is taken for the trainers once there are known to be
// as many files.
func (s *sharing) wholes() ([]part, error) {
	a, err := s.assign()
	if err != nil {
		return nil, err
	}
	records, bytes := a.Records(), a.Bytes()
	parts := make([]part, len(a))
	for i := range parts {
		parts[i] = part{Trainer: shard.Trainer{ID: i, Count: len(parts)}, Files: a[i], Records: records[i], Bytes: bytes[i]}
	}
	return parts, nil
}

// ranges gives rows of records.
func (s *sharing) ranges() ([]part, error) {
	all, err := shard.NewDataset(s.files)
	if err != nil {
		return nil, err
	}
	var parts []part
	for i := range s.o.who.Count {
		p := part{Trainer: shard.Trainer{ID: i, Count: s.o.who.Count}}
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
