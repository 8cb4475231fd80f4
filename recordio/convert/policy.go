package convert

import "fmt"

// Policy determines what happens to a bad record.
type Policy uint8

// The policies.
const (
	// Fail ends the conversion.
	Fail Policy = iota
	// Skip omits the record and counts it.
	Skip
	// Collect omits it and passes it to BadPolicy.Collect.
	Collect
)

// DefaultMaxBad is the default of BadPolicy.Max.
const DefaultMaxBad = 1000

// BadPolicy determines what happens to bad records, and how many are too many.
type BadPolicy struct {
	Policy Policy
	// Max is how many bad records may be omitted before the conversion fails, since a wrong option
	// makes every record bad. 0 is DefaultMaxBad; negative is no limit.
	Max int64
	// Collect receives each bad record, in order, under the policy Collect. record is its bytes in
	// the input, nil for formats that are not lines; it is valid during the call. An error ends the
	// conversion.
	Collect func(bad *RecordError, record []byte) error
}

// keptBad is how many bad records Stats hold.
const keptBad = 10

// bad applies the policy to one bad record: nil means to continue without it.
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
