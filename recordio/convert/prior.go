package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// Prior is what the first inputs determine about all others: the format, and the columns of a table.
// With it, several processes can each read a part of the inputs. It is for one goroutine.
type Prior struct{ found run }

// Prepare reads the beginning of as many sources as it needs.
func Prepare(ctx context.Context, sources iter.Seq2[Source, error], opts Options) (*Prior, error) {
	r, err := newRun(opts, nil)
	if err != nil {
		return nil, err
	}
	for s, err := range sources {
		if err != nil {
			return nil, err
		}
		done, err := r.prepare(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.title(), err)
		}
		if done {
			break
		}
	}
	if r.format == nil {
		r.format = &textFormat
	}
	if r.format.lines != nil && r.lines == nil {
		r.lines = r.format.lines(r.opts)
	}
	return &Prior{found: *r}, nil
}

// prepare reads the beginning of s. It returns false if another source must be read, too.
func (r *run) prepare(ctx context.Context, s Source) (done bool, err error) {
	if r.format != nil && r.format.lines == nil {
		return true, nil
	}
	var o *opened
	if r.format == nil || r.guessed {
		o, err = r.find(ctx, s)
	} else {
		o, err = r.openText(ctx, s)
	}
	if err != nil || o == nil {
		return false, err
	}
	defer func() {
		if cerr := o.close(); err == nil {
			err = cerr
		}
	}()
	if r.format.lines == nil {
		return true, nil
	}
	if r.lines == nil {
		r.lines = r.format.lines(r.opts)
	}
	t, isTable := r.lines.(*table)
	if !isTable {
		return true, nil
	}
	if _, err := r.skipLines(o); err != nil {
		return false, err
	}
	block, err := (&blockReader{r: o.Reader, format: r.lines, limit: r.opts.Limits.Record, size: blockSize}).next(nil)
	if err == nil {
		err = r.begin(&task{block: block})
	}
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return t.columns != nil, err
}

// Cuts reports whether the parts of s can be read by themselves: a Parquet file, or an input of lines, in UTF-8 and not
// compressed. Where a part begins is assumed to be after a newline; Stats.Start and Stats.End tell
// whether that is so. If a part does not begin where the part before it has ended, as with a newline
// in quotes, it must be read again, from there.
func (p *Prior) Cuts(ctx context.Context, s Source) (bool, error) {
	if p.found.format != &parquetFormat && (p.found.format.lines == nil || p.found.charset != nil) {
		return false, nil
	}
	o, err := open(ctx, s)
	if err != nil {
		return false, fmt.Errorf("%s: %w", s.title(), err)
	}
	return o.ReaderAt != nil && o.Size > 0, o.close()
}

// Run is Run for a part of the sources. Merge puts the results together.
func (p *Prior) Run(ctx context.Context, sources iter.Seq2[Source, error], emit func(payload []byte) error) (Stats, error) {
	r, err := newRun(p.found.opts, emit)
	if err != nil {
		return Stats{}, err
	}
	r.format, r.guessed, r.first, r.lines = p.found.format, p.found.guessed, p.found.first, p.found.lines
	return r.run(ctx, sources)
}

// Merge returns the result of a run whose parts, in their order, had these results. Errors are those
// that Run has for all parts together.
func (p *Prior) Merge(parts []Stats) (Stats, error) {
	r := run{format: p.found.format, opts: p.found.opts}
	s := &r.stats
	s.Format = r.format.Name
	for _, part := range parts {
		if _, ok := p.found.lines.(*table); ok {
			s.Columns = part.Columns
		} else if err := r.describe(slices.Clone(part.Columns)); err != nil {
			return Stats{}, err
		}
		s.Inputs += part.Inputs
		s.Records += part.Records
		s.Payload += part.Payload
		s.Partial += part.Partial
		s.Bad += part.Bad
		s.Unnoted += part.Unnoted
		for _, n := range part.Notes {
			i := slices.IndexFunc(s.Notes, func(o Note) bool { return o.Text == n.Text })
			switch {
			case i >= 0:
				s.Notes[i].Inputs += n.Inputs
			case len(s.Notes) < MaxNotes:
				s.Notes = append(s.Notes, n)
			default:
				s.Unnoted += n.Inputs
			}
		}
		s.FirstBad = append(s.FirstBad, part.FirstBad[:min(len(part.FirstBad), keptBad-len(s.FirstBad))]...)
		if most := r.opts.Bad.most(); most >= 0 && s.Bad > most {
			return Stats{}, fmt.Errorf("%w: at most %d may be left out, and there are %d or more", ErrTooMany, most, s.Bad)
		}
	}
	s.finish(r.opts.Encoding)
	return *s, nil
}
