package convert

import (
	"context"
	"fmt"
)

// serve processes tasks until there are no more.
func (r *run) serve(ctx context.Context) {
	enc := r.encoding.New(r.opts.Limits)
	for t := range r.work {
		enc.Reset()
		if t.lines {
			r.parse(ctx, t, enc)
		} else {
			r.decode(ctx, t, enc)
		}
		close(t.out)
	}
}

// parse processes a block of lines.
func (r *run) parse(ctx context.Context, t *task, enc Encoder) {
	records := newBlockRecords(t.block, t.parser)
	for more := true; more; {
		b := r.takeBatch()
		if more = records.some(enc, b); !more {
			r.putBlock(t.block)
			t.block = nil
		}
		if !t.give(ctx, b) {
			return
		}
	}
}

// decode processes an input of any other format.
func (r *run) decode(ctx context.Context, t *task, enc Encoder) {
	if err := r.decodeInput(ctx, t, enc); err != nil {
		t.give(ctx, &batch{err: err})
	}
}

func (r *run) decodeInput(ctx context.Context, t *task, enc Encoder) (err error) {
	if t.open == nil {
		if t.open, err = open(ctx, t.source); err != nil {
			return err
		}
	}
	defer func() {
		if cerr := t.closeInput(); err == nil {
			err = cerr
		}
	}()
	if r.guessed {
		if t.open.saysNothing() {
			return nil
		}
		if err := r.agrees(t.open); err != nil {
			return err
		}
	}
	d, err := r.format.open(t.open.Input, r.opts)
	if err != nil {
		return err
	}
	var columns []Column
	told := &notes{}
	if n, ok := d.(noting); ok {
		told = n.notes()
	}
	known, ok := d.(described)
	if ok {
		columns = known.columns()
	}
	if to, is := enc.(noter); is && (!ok || r.encoding.Name == rawName) { // otherwise the types are in the columns
		to.noteTo(told)
		defer to.noteTo(nil)
	}
	for row, more := int64(0), true; more; {
		b := r.takeBatch()
		b.columns, columns = columns, nil
		more = decodeSome(d, &row, enc, b)
		b.notes = told.take()
		if l, is := d.(learning); is && !more {
			b.columns = l.learned()
		}
		if !t.give(ctx, b) {
			return nil
		}
	}
	return nil
}

// give passes b to delivery; false if ctx ended first.
func (t *task) give(ctx context.Context, b *batch) bool {
	select {
	case <-ctx.Done():
		return false
	case t.out <- b:
		return true
	}
}

// takeBatch returns an empty batch.
func (r *run) takeBatch() *batch {
	select {
	case b := <-r.batches:
		b.reset()
		return b
	default:
		return &batch{}
	}
}

// putBatch keeps a delivered batch for reuse.
func (r *run) putBatch(b *batch) {
	select {
	case r.batches <- b:
	default:
	}
}

// deliver passes the batches of all tasks to emit, in order, until one fails.
func (r *run) deliver(ctx context.Context) error {
	var at place
	for {
		var t *task
		select {
		case <-ctx.Done():
			return ctx.Err()
		case t = <-r.queue:
		}
		if t == nil {
			r.stats.Lines = at.line
			return nil
		}
		at.enter(t)
		if t.err != nil {
			return at.failed(t.err)
		}
		if err := r.deliverTask(ctx, t, &at); err != nil {
			return err
		}
	}
}

func (r *run) deliverTask(ctx context.Context, t *task, at *place) error {
	for {
		var b *batch
		select {
		case <-ctx.Done():
			return ctx.Err()
		case b = <-t.out:
		}
		// A worker that saw the end of ctx stops halfway, so check this first.
		if ctx.Err() != nil || b == nil {
			return ctx.Err()
		}
		if err := r.deliverBatch(b, at); err != nil {
			return err
		}
		at.line += b.lines
		at.offset += b.bytes
		r.putBatch(b)
	}
}

func (r *run) deliverBatch(b *batch, at *place) error {
	if err := r.describe(b.columns); err != nil {
		return at.failed(err)
	}
	r.stats.note(at.name, b.notes)
	r.stats.Partial += b.partial
	start, bad := 0, b.bad
	for i, end := range b.ends {
		for ; len(bad) > 0 && bad[0].after == i; bad = bad[1:] {
			if err := r.opts.Bad.bad(at.of(bad[0]), &r.stats); err != nil {
				return err
			}
		}
		if err := r.emit(b.payloads[start:end]); err != nil {
			return err
		}
		r.stats.Records++
		r.stats.Payload += int64(end - start)
		start = end
	}
	for _, x := range bad {
		if err := r.opts.Bad.bad(at.of(x), &r.stats); err != nil {
			return err
		}
	}
	if b.err != nil {
		return at.failed(b.err)
	}
	return nil
}

// describe records the columns of an input, if it has some.
func (r *run) describe(columns []Column) error {
	if columns == nil || r.stats.Columns == nil {
		r.stats.Columns = append(r.stats.Columns, columns...)
		if columns != nil && r.stats.Columns == nil {
			r.stats.Columns = columns // none in common, see learning
		}
		return nil
	}
	err := sameColumns(r.stats.Columns, columns)
	if err != nil && r.format.Name == pickleFormat.Name {
		r.stats.Columns, err = []Column{}, nil
	}
	return err
}

// place is the position of delivery in the current input.
type place struct {
	name   string
	lines  bool
	line   int64 // lines before the block
	offset int64 // bytes before it
}

// enter moves to t, which may begin an input.
func (p *place) enter(t *task) {
	if name := t.source.title(); !t.lines || t.first || name != p.name {
		*p = place{name: name, lines: t.lines, line: t.headLines, offset: t.headBytes}
	}
}

// of adds the position to a bad record.
func (p *place) of(b badRecord) badRecord {
	b.err.Input = p.name
	if p.lines {
		b.err.Line += p.line
		b.err.Offset += p.offset
	}
	return b
}

// failed adds the position to an error that ends an input.
func (p *place) failed(err error) error {
	if p.name == "" {
		return err
	}
	if p.lines && p.line > 0 {
		return fmt.Errorf("%s, line %d: %w", p.name, p.line+1, err)
	}
	return fmt.Errorf("%s: %w", p.name, err)
}
