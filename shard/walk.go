package shard

import "fmt"

// Walk returns the records of one trainer in an epoch, step by step. In each step the trainers
// together take the next Trainer.Count positions of the order, trainer 0 the first of them. So
// their common state is one number, the cursor: how many positions have been taken. Any number of
// trainers can resume from it.
//
// A Walk is for one goroutine.
type Walk struct {
	order   Order
	trainer Trainer
	cursor  int64
	left    int64 // remaining steps of this trainer
	end     int64 // the cursor after the last step of all trainers
}

// NewWalk starts at cursor, 0 <= cursor <= o.Len(). The error is ErrTrainer, ErrCursor or
// ErrOption.
func NewWalk(o Order, cursor int64, t Trainer, e Equal) (*Walk, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if cursor < 0 || cursor > o.Len() {
		return nil, beyond(cursor, o.Len())
	}
	if e > Pad {
		return nil, fmt.Errorf("%w: unknown way %d to make trainers equal", ErrOption, e)
	}
	tail := TailOf(o.Len()-cursor, t, e)
	return &Walk{order: o, trainer: t, cursor: cursor, left: tail.Steps, end: o.Len() - tail.Dropped}, nil
}

// Next returns the trainer's record of the next step, and false at the end of its epoch. With Exact
// some trainers may then still take a last record; Cursor already includes it.
func (w *Walk) Next() (record int64, ok bool) {
	if w.left == 0 {
		w.cursor = w.end
		return -1, false
	}
	record = w.order.At(w.position())
	w.left--
	w.cursor += min(int64(w.trainer.Count), w.order.Len()-w.cursor)
	return record, true
}

// position returns the trainer's position in the step at the cursor. Positions beyond the end,
// which only Pad uses, wrap around to the beginning.
func (w *Walk) position() int64 {
	id, rest := int64(w.trainer.ID), w.order.Len()-w.cursor
	if id < rest {
		return w.cursor + id
	}
	return (id - rest) % w.order.Len()
}

// Cursor returns how many positions of the epoch have been taken once each trainer has done as many
// steps as this one. Save it to resume with any number of trainers. After Next has returned false
// it is the end of the epoch, the same for every trainer.
func (w *Walk) Cursor() int64 { return w.cursor }

// TailOf describes the end of an epoch for an unchanged number of trainers: the number of steps of
// trainer t, which must be valid, and how many records are dropped or repeated in total.
func TailOf(records int64, t Trainer, e Equal) Tail {
	n := int64(t.Count)
	rest := records % n
	switch {
	case e == Drop:
		return Tail{Steps: records / n, Dropped: rest}
	case e == Pad && rest > 0:
		return Tail{Steps: records/n + 1, Repeated: n - rest}
	}
	return Tail{Steps: share(records, t)}
}

// share returns how many of total items trainer t gets if they are dealt out: the first total mod n
// trainers get one more.
func share(total int64, t Trainer) int64 {
	n := total / int64(t.Count)
	if int64(t.ID) < total%int64(t.Count) {
		n++
	}
	return n
}
