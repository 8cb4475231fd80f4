package shard

import "fmt"

// State is what is needed to resume in the middle of an epoch. It belongs to the job, not to a
// trainer: there is one for any number of trainers.
type State struct {
	Dataset string `json:"dataset"` // Dataset.Fingerprint
	Shuffle string `json:"shuffle"` // Shuffle.String
	Seed    uint64 `json:"seed"`
	Epoch   uint64 `json:"epoch"`
	Cursor  int64  `json:"cursor"`
}

// Check returns ErrCursor unless s belongs to this dataset, this order and this number of records:
// otherwise resuming would repeat some records and lose others.
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
	return fmt.Errorf("%w: it is at %d, but there are %d records", ErrCursor, cursor, records)
}
