package dataset

import (
	"context"
	"fmt"
	"slices"

	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/shard"
)

// print tells what the trainer, or all of them, get.
func (s *sharing) print(ctx context.Context) error {
	if s.o.policy == ByOrder {
		return s.printOrder()
	}
	parts, tail, err := s.parts()
	if err != nil {
		return err
	}
	s.tellTail(recordsOfAll(parts), tail)
	if !s.o.all {
		parts = parts[s.o.who.ID : s.o.who.ID+1]
	}
	for _, p := range parts {
		if err := s.printPart(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *sharing) printPart(p part) error {
	if s.o.json {
		return s.a.JSON(p)
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
	return nil
}

// orderJSON is what --policy order says without --read.
type orderJSON struct {
	shard.State
	Records  int64 `json:"records"`
	Steps    int64 `json:"steps"`    // of trainer 0, from the cursor on
	Dropped  int64 `json:"dropped"`  // records that nobody gets
	Repeated int64 `json:"repeated"` // records that are given once more
}

func (s *sharing) printOrder() error {
	all, order, err := s.order()
	if err != nil {
		return err
	}
	o := s.o
	sum, err := s.fingerprint(all)
	if err != nil {
		return err
	}
	if _, err := shard.NewWalk(order, o.cursor, o.who, o.equally); err != nil {
		return err
	}
	tail := shard.TailOf(order.Len()-o.cursor, shard.Trainer{Count: o.who.Count}, o.equally)
	j := orderJSON{shard.State{Dataset: sum, Shuffle: o.shuffling.String(), Seed: o.seed, Epoch: o.epoch, Cursor: o.cursor},
		order.Len(), tail.Steps, tail.Dropped, tail.Repeated}
	if o.json {
		return s.a.JSON(j)
	}
	s.a.Printf("%d records from cursor %d on in %d steps, %d dropped, %d repeated\n", order.Len(), o.cursor, tail.Steps, tail.Dropped, tail.Repeated)
	return nil
}

// order is the order of all records that --shuffle chooses.
func (s *sharing) order() (*shard.Dataset, shard.Order, error) {
	all, err := shard.NewDataset(s.files)
	if err != nil {
		return nil, nil, err
	}
	if err := s.fits(all); err != nil {
		return nil, nil, err
	}
	order, err := s.o.shuffling.Order(all.Len(), s.blocks, s.o.seed, s.o.epoch)
	return all, order, err
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

// writeLists writes the names of the trainer's files, and with --json tells of the lists.
func (s *sharing) writeLists(ctx context.Context) error {
	parts, _, err := s.parts()
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
		if err := s.a.JSON(listJSON{app.InDir(s.o.lists, l.name), len(l.files)}); err != nil {
			return err
		}
	}
	return nil
}

// fileList is a list of files, and its name.
type fileList struct {
	name  string
	files []string
}

// testNames are the files for tests of this trainer. Unlike files to train on they
// may be fewer than the trainers.
func (s *sharing) testNames(ctx context.Context) ([]string, error) {
	_, files, err := datasetOrFiles(ctx, s.a, s.o.test)
	if err != nil {
		return nil, err
	}
	if err := checkNames(files); err != nil {
		return nil, err
	}
	var all, mine []string
	for _, f := range files {
		all = append(all, f.Text)
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
