package shard

import "fmt"

// Equal says what becomes of records that cannot be shared out evenly. Trainers that
// step together, as in synchronous training, wait for ever for one that has no
// record left.
type Equal uint8

// The ways.
const (
	Exact Equal = iota // every record once; some trainers may have one more
	Drop               // the same number for each; what is left over is not used
	Pad                // the same number for each; what is lacking is repeated from the beginning
)

// ParseEqual reads "exact", "drop" or "pad"; the error is ErrOption.
func ParseEqual(text string) (Equal, error) {
	for e := Exact; e <= Pad; e++ {
		if text == e.String() {
			return e, nil
		}
	}
	return 0, fmt.Errorf("%w %q: exact, drop or pad", ErrOption, text)
}

// String returns the word that ParseEqual reads.
func (e Equal) String() string {
	switch e {
	case Drop:
		return "drop"
	case Pad:
		return "pad"
	}
	return "exact"
}

// Tail is how an epoch ends.
type Tail struct {
	Steps    int64 `json:"steps"`    // that are taken
	Dropped  int64 `json:"dropped"`  // records that nobody gets, with Drop
	Repeated int64 `json:"repeated"` // records that are given once more, with Pad
}

// StepsOf returns how many steps trainers take whose own files hold that many
// records each: with Drop as many as the least has; with Pad and Exact as many as
// the most has, which with Pad the others reach by reading theirs again from the
// beginning. Dropped and Repeated count for all trainers. It is ErrIdle to Pad a
// trainer that has no record.
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

// bounds returns the least and the greatest of ns; 0, 0 if there is none.
func bounds(ns []int64) (least, most int64) {
	for i, n := range ns {
		if i == 0 || n < least {
			least = n
		}
		most = max(most, n)
	}
	return least, most
}
