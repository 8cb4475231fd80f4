package shard

import "fmt"

// State is all that is needed to go on in the middle of an epoch. It belongs to the
// job, not to a trainer: there is one, whatever the number of trainers, before and
// after.
type State struct {
	Dataset string `json:"dataset"` // Dataset.Fingerprint
	Shuffle string `json:"shuffle"` // Shuffle.String
	Seed    uint64 `json:"seed"`
	Epoch   uint64 `json:"epoch"`
	Cursor  int64  `json:"cursor"`
}

// Check returns ErrCursor unless s was kept for this dataset, in this order, of so
// many records: going on from it would repeat some records and lose others.
func (s State) Check(fingerprint string, shuffle Shuffle, records int64) error {
	if s.Dataset != fingerprint {
		return fmt.Errorf("%w: it is of the dataset %s and this one is %s: files were added, removed or written anew; begin a new epoch", ErrCursor, s.Dataset, fingerprint)
	}
	if s.Shuffle != shuffle.String() {
		return fmt.Errorf("%w: it is of the order %q and this one is %q: ask for the first, or begin a new epoch", ErrCursor, s.Shuffle, shuffle)
	}
	if s.Cursor < 0 || s.Cursor > records {
		return beyond(s.Cursor, records)
	}
	return nil
}

func beyond(cursor, records int64) error {
	return fmt.Errorf("%w: it stands at %d and there are %d records", ErrCursor, cursor, records)
}
