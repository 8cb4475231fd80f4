package shard

import "fmt"

// Equal determines what happens to records that cannot be divided evenly. Trainers that step
// together, as in synchronous training, wait for ever for one that has run out of records.
type Equal uint8

// The values.
const (
	Exact Equal = iota // every record once; some trainers may get one more
	Drop               // the same number for each; surplus records are not used
	Pad                // the same number for each; missing records are repeated from the beginning
)

// ParseEqual parses "exact", "drop" or "pad"; the error is ErrOption.
func ParseEqual(text string) (Equal, error) {
	for e := Exact; e <= Pad; e++ {
		if text == e.String() {
			return e, nil
		}
	}
	return 0, fmt.Errorf("%w %q: exact, drop or pad", ErrOption, text)
}

// String returns the word that ParseEqual accepts.
func (e Equal) String() string {
	switch e {
	case Drop:
		return "drop"
	case Pad:
		return "pad"
	}
	return "exact"
}

// Tail describes the end of an epoch.
type Tail struct {
	Steps    int64 `json:"steps"`    // number of steps
	Dropped  int64 `json:"dropped"`  // records that no trainer gets, with Drop
	Repeated int64 `json:"repeated"` // records that are used again, with Pad
}

// StepsOf returns how many steps trainers take whose files hold the given numbers of records: with
// Drop the smallest number; with Pad and Exact the largest, which with Pad the others reach by
// reading theirs again from the beginning. Dropped and Repeated are totals of all trainers. Pad
// returns ErrIdle for a trainer without records.
func StepsOf(records []int64, e Equal) (Tail, error) {
	least, most := bounds(records)
	switch e {
	case Drop:
		tail := Tail{Steps: least}
		for _, n := range records {
			tail.Dropped += n - least
		}
		return tail, nil
	case Pad:
		tail := Tail{Steps: most}
		for i, n := range records {
			if n == 0 && most > 0 {
				return Tail{}, fmt.Errorf("%w: trainer %d has no record to repeat", ErrIdle, i)
			}
			tail.Repeated += most - n
		}
		return tail, nil
	}
	return Tail{Steps: most}, nil
}

// bounds returns the minimum and the maximum of ns; 0, 0 if ns is empty.
func bounds(ns []int64) (least, most int64) {
	for i, n := range ns {
		if i == 0 || n < least {
			least = n
		}
		most = max(most, n)
	}
	return least, most
}
