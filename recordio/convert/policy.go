package convert

import "fmt"

// Policy says what happens at a bad record.
type Policy uint8

// The policies.
const (
	// Fail ends the conversion.
	Fail Policy = iota
	// Skip leaves the record out and counts it.
	Skip
	// Collect leaves it out, too, and hands it over.
	Collect
)

var policyNames = [...]string{"fail", "skip", "collect"}

// ParsePolicy returns the policy of a name: fail, skip, collect.
func ParsePolicy(name string) (Policy, error) {
	for i, known := range policyNames {
		if name == known {
			return Policy(i), nil
		}
	}
	return 0, unknown("policy for bad records", name, policyNames[:])
}

func (p Policy) String() string {
	if int(p) >= len(policyNames) {
		return "unknown"
	}
	return policyNames[p]
}

// DefaultMaxBad is how many bad records are left out where BadPolicy.Max is 0.
const DefaultMaxBad = 1000

// BadPolicy says what happens at bad records, and how many are too many.
type BadPolicy struct {
	Policy Policy
	// Max is how many may be left out before the conversion fails: a wrong option makes
	// every record bad. 0 is DefaultMaxBad; negative is no bound.
	Max int64
	// Collect takes each bad record, in order, for the policy Collect. record is what
	// the input has there, nil for a format that is not of lines; it is valid during the
	// call. An error ends the conversion.
	Collect func(bad *RecordError, record []byte) error
}

// keptBad is how many bad records Stats keep.
const keptBad = 10

// bad carries out the policy for one bad record: nil goes on without it.
func (p *BadPolicy) bad(b badRecord, s *Stats) error {
	if p.Policy == Fail {
		return b.err
	}
	s.Bad++
	if len(s.FirstBad) < keptBad {
		s.FirstBad = append(s.FirstBad, b.err)
	}
	if most := p.most(); most >= 0 && s.Bad > most {
		return fmt.Errorf("%w: at most %d may be left out; the next: %w", ErrTooMany, most, b.err)
	}
	if p.Policy == Collect && p.Collect != nil {
		return p.Collect(b.err, b.raw)
	}
	return nil
}

func (p *BadPolicy) most() int64 {
	if p.Max == 0 {
		return DefaultMaxBad
	}
	return p.Max
}
