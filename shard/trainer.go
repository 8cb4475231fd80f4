package shard

import "fmt"

// Trainer is one of Count trainers that share a dataset, numbered from 0.
type Trainer struct {
	ID    int `json:"id"`
	Count int `json:"count"`
}

// Check returns ErrTrainer unless 0 <= ID < Count.
func (t Trainer) Check() error {
	if t.Count < 1 {
		return fmt.Errorf("%w: %d trainers: there is at least 1", ErrTrainer, t.Count)
	}
	if t.ID < 0 || t.ID >= t.Count {
		return fmt.Errorf("%w: id %d of %d trainers: ids run from 0 to %d", ErrTrainer, t.ID, t.Count, t.Count-1)
	}
	return nil
}

// String returns a text such as "trainer 1 of 4", counted from 0.
func (t Trainer) String() string { return fmt.Sprintf("trainer %d of %d", t.ID, t.Count) }
