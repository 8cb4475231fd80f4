package dataset

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/zeebo/xxh3"
)

// unit is a part of the inputs that one process reads: some files, or a part of one.
type unit struct {
	sources []convert.Source
	cut     bool // it begins in the middle of the file that the unit before it has begun
}

// maxUnitFiles bounds the memory for a unit of small files.
const maxUnitFiles = 4096

// units yields the units in the order of the inputs. It is the same in all processes.
func (p *parts) units(ctx context.Context) iter.Seq2[int, unit] {
	return func(yield func(int, unit) bool) {
		n, open, bytes := 0, unit{}, int64(0)
		give := func(u unit) bool {
			n++
			return yield(n-1, u)
		}
		flush := func() bool {
			u := open
			open, bytes = unit{}, 0
			return len(u.sources) == 0 || give(u)
		}
		for s, err := range p.c.in.sources(p.c.o.mayBeMNIST()) {
			if err != nil {
				p.err = err
				return
			}
			cuts := false
			if s.Bytes > p.plan.Unit {
				if cuts, p.err = p.cuts(ctx, s); p.err != nil {
					return
				}
			}
			if !cuts {
				open.sources = append(open.sources, s)
				if bytes += s.Bytes; (bytes >= p.plan.Unit || len(open.sources) == maxUnitFiles) && !flush() {
					return
				}
				continue
			}
			if !flush() {
				return
			}
			for from := int64(0); from < s.Bytes; from += p.plan.Unit {
				part := s
				part.From, part.To = from, from+p.plan.Unit
				if part.To >= s.Bytes {
					part.To = 0
				}
				if !give(unit{[]convert.Source{part}, from > 0}) {
					return
				}
			}
		}
		flush()
	}
}

// cuts is Prior.Cuts, asked once for each source.
func (p *parts) cuts(ctx context.Context, s convert.Source) (bool, error) {
	known, ok := p.cut[s.Title]
	var err error
	if !ok {
		known, err = p.prior.Cuts(ctx, s)
		p.cut[s.Title] = known
	}
	return known, err
}

// unitResult is the result of reading unit N, in the file unit-N.
type unitResult struct {
	Stats   convert.Stats `json:"stats"`
	Empty   int64         `json:"empty"`
	Failure *recorded     `json:"failure"` // null, too: wait reads into the same result again
}

// recorded is an error that another process reports.
type recorded struct {
	Text string               `json:"text"`
	Kind pfs.Kind             `json:"kind"`
	Bad  *convert.RecordError `json:"bad,omitempty"` // instead of Text: a bad record, whose line counts from the start of the unit
}

// failureOf describes an error of the inputs; nil for one that may not occur again.
func failureOf(ctx context.Context, err error) *recorded {
	err = explain(err)
	kind := pfs.KindOf(err)
	if ctx.Err() != nil || kind.Temporary() || kind == pfs.Canceled || kind == pfs.Unauthenticated {
		return nil
	}
	f := &recorded{Text: err.Error(), Kind: kind}
	f.Bad, _ = err.(*convert.RecordError)
	return f
}

// error returns the error. lines is the number of lines before the unit.
func (f *recorded) error(lines int64) error {
	err := errors.New(f.Text)
	if f.Bad != nil {
		err = later(f.Bad, lines)
	}
	return recordfile.WithKind(err, f.Kind)
}

// later returns a bad record of a unit that has lines before it.
func later(bad *convert.RecordError, lines int64) *convert.RecordError {
	e := *bad
	if e.Line > 0 {
		e.Line += lines
	}
	return &e
}

// read reads the unit u from byte start, if that is not negative.
func (p *parts) read(ctx context.Context, u unit, start int64, emit func([]byte) error) (convert.Stats, error) {
	sources := slices.Clone(u.sources)
	if start >= 0 {
		sources[0].From, sources[0].Exact = start, true
	}
	return p.prior.Run(ctx, func(yield func(convert.Source, error) bool) {
		for _, s := range sources {
			if !yield(s, nil) {
				return
			}
		}
	}, emit)
}

// scan counts the records of a unit, and writes the result.
func (p *parts) scan(ctx context.Context, n int, u unit, start int64) error {
	r := unitResult{}
	var err error
	r.Stats, err = p.read(ctx, u, start, func(payload []byte) error {
		if len(payload) == 0 {
			r.Empty++
		}
		return nil
	})
	if err != nil {
		if r.Failure = failureOf(ctx, err); r.Failure == nil {
			return err
		}
		if start >= 0 { // also if the input could not be opened: merge waits for a result from there
			r.Stats.Start = start
		}
	}
	p.c.o.Tell(fmt.Sprintf("part %d of the inputs: %s", n, count(r.Stats.Records, "record", "records")))
	return p.write(ctx, unitName(n), r)
}

const unitPrefix = "unit-"

func unitName(n int) string { return fmt.Sprintf("%s%06d", unitPrefix, n) }

// sum identifies the inputs by names, sizes and the last time of a change.
func (in *inputs) sum(mnist bool) (string, error) {
	var h xxh3.Hasher
	for s, err := range in.sources(mnist) {
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&h, "%q %q %q %d\n", s.Name, s.Title, s.Label, s.Bytes)
	}
	for _, g := range in.groups {
		fmt.Fprintf(&h, "%q %d\n", g.operand.Title, g.newest.UnixNano())
	}
	sum := h.Sum128().Bytes()
	return hex.EncodeToString(sum[:]), nil
}
