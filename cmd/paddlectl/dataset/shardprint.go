package dataset

import (
	"context"
	"fmt"
	"slices"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/shard"
)

// sharing is one run of dataset shard.
type sharing struct {
	*dataset.Sharing
	a *app.App
	o *shardOptions
}

// read prints the records of the trainer.
func (s *sharing) read(ctx context.Context) error {
	defer s.Close()
	records, cursor, err := s.Records(ctx, s.o.limit)
	if err != nil {
		return err
	}
	if s.o.as == "recordio" {
		// In small chunks, because the reader waits for the first.
		w := recordio.NewWriter(s.a.Out, recordio.WriterOptions{Path: "standard output", ChunkBytes: 1 << 20})
		for rec, rerr := range records {
			if err = rerr; err == nil {
				err = w.Write(rec.Data)
			}
			if err != nil {
				return err
			}
		}
		err = w.Close()
	} else {
		payload := s.o.payload
		if payload == "" {
			if payload, err = s.Payload(); err != nil {
				return err
			}
		}
		err = printDecoded(ctx, s.a, records, payload)
	}
	s.Close()
	if err != nil {
		return err
	}
	if cursor != nil {
		s.a.Message("cursor %d", cursor())
	}
	return datafile.EndLoss(s.a, s.Loss())
}

// tellTail prints how many records --equal drops or repeats.
func (s *sharing) tellTail(records int64, tail shard.Tail) {
	switch s.o.equally {
	case shard.Drop:
		s.a.Message("%s for each trainer: %d of %d dropped", app.Count(tail.Steps, "record", "records"), tail.Dropped, records)
	case shard.Pad:
		s.a.Message("%s for each trainer: %d of %d repeated", app.Count(tail.Steps, "record", "records"), tail.Repeated, records)
	}
}

// print prints the share of the trainer, or of all trainers.
func (s *sharing) print() error {
	if s.o.policy == byOrder {
		return s.printOrder()
	}
	parts, tail, err := s.Parts()
	if err != nil {
		return err
	}
	all := int64(0)
	for _, p := range parts {
		all += p.Records
	}
	s.tellTail(all, tail)
	if !s.o.all {
		parts = parts[s.o.who.ID : s.o.who.ID+1]
	}
	for _, p := range parts {
		s.printPart(p)
	}
	return nil
}

func (s *sharing) printPart(p dataset.Part) {
	if s.o.json {
		s.a.JSON(p) // an error shows when Out is flushed
		return
	}
	before := ""
	if s.o.all {
		before = fmt.Sprintf("%d\t", p.Trainer.ID)
	}
	for _, f := range p.Files {
		s.a.Printf("%s%s\n", before, s.a.Name(f.Name))
	}
	for _, span := range p.Spans {
		s.a.Printf("%s%s\t%d\t%d\n", before, s.a.Name(span.File), span.First, span.Records)
	}
}

func (s *sharing) printOrder() error {
	j, err := s.Position()
	if err == nil {
		s.a.Show(s.o.json, j, "%d records from cursor %d on in %d steps, %d dropped, %d repeated\n", j.Records, j.Cursor, j.Steps, j.Dropped, j.Repeated)
	}
	return err
}

// The files that older training programs read.
const (
	trainList = "train.list"
	testList  = "test.list"
)

// listJSON is how --json shows a list that was written.
type listJSON struct {
	Path  string `json:"path"`
	Files int    `json:"files"`
}

// writeLists writes the names of the trainer's files, and with --json describes the lists.
func (s *sharing) writeLists(ctx context.Context) error {
	parts, _, err := s.Parts()
	if err != nil {
		return err
	}
	dir, err := datafile.OutputDir(ctx, s.a, s.o.lists)
	if err != nil {
		return err
	}
	lists := []fileList{{trainList, shard.Names(parts[s.o.who.ID].Files)}}
	if len(s.o.test) > 0 {
		names, err := s.testNames(ctx)
		if err != nil {
			return err
		}
		lists = append(lists, fileList{testList, names})
	}
	outs := datafile.NewOutputs(ctx, s.a, true, nil)
	defer outs.Abort()
	for _, l := range lists {
		if err := writeList(outs, dir, app.InDir(s.o.lists, l.name), l); err != nil {
			return err
		}
	}
	if err := outs.Publish(); err != nil || !s.o.json {
		return err
	}
	for _, l := range lists {
		s.a.JSON(listJSON{app.InDir(s.o.lists, l.name), len(l.files)}) // an error shows when Out is flushed
	}
	return nil
}

// fileList is a list of files, and its name.
type fileList struct {
	name  string
	files []string
}

// testNames returns the test files of this trainer. Unlike files to train on, they may be fewer
// than the trainers.
func (s *sharing) testNames(ctx context.Context) ([]string, error) {
	inputs, err := datafile.Operands(ctx, s.a, s.o.test)
	if err != nil {
		return nil, err
	}
	_, files, err := dataset.Find(ctx, inputs, recordio.Fail)
	if err != nil {
		return nil, err
	}
	if err := dataset.CheckFiles(files); err != nil {
		return nil, err
	}
	var all, mine []string
	for _, f := range files {
		all = append(all, f.Title)
	}
	slices.Sort(all)
	for i, name := range all {
		if i%s.o.who.Count == s.o.who.ID {
			mine = append(mine, name)
		}
	}
	return mine, nil
}

func writeList(outs *transfer.Outputs, dir transfer.End, text string, l fileList) error {
	dir.Path = dir.Path.Join(l.name)
	out, err := outs.Create(text, dir)
	if err != nil {
		return err
	}
	if err := shard.WriteList(out, l.files); err != nil {
		return err
	}
	return out.Finish()
}
