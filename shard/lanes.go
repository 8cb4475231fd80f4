package shard

import "fmt"

// Lanes lets trainers that take turns read different parts of an order: it cuts the order into
// lanes of equal length, and takes one record of each in turn. While the number of trainers divides
// that of lanes, each trainer stays in lanes of its own, so of a Block order it reads whole blocks
// that no other trainer reads. With any other number all records still come exactly once, but more
// blocks are read more than once.
type Lanes struct {
	order Order
	lanes int64
}

// NewLanes cuts o into the given number of lanes. The error is ErrOption.
func NewLanes(o Order, lanes int) (*Lanes, error) {
	if lanes < 1 {
		return nil, fmt.Errorf("%w: %d lanes: at least 1", ErrOption, lanes)
	}
	return &Lanes{order: o, lanes: int64(lanes)}, nil
}

// Len returns the number of records.
func (l *Lanes) Len() int64 { return l.order.Len() }

// At returns the record at position.
func (l *Lanes) At(position int64) int64 {
	if outside(l, position) {
		return -1
	}
	lane, step := position%l.lanes, position/l.lanes
	return l.order.At(cut(l.Len(), lane, l.lanes) + step)
}

// cut returns the start of part i of n when total items are cut into parts whose lengths differ by
// at most one, the longer ones first.
func cut(total, i, n int64) int64 { return total/n*i + min(i, total%n) }
