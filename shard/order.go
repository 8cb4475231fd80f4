package shard

// Order is the sequence in which an epoch visits all records of a dataset. It does not depend on
// the number of trainers. Orders are safe for concurrent use.
type Order interface {
	// Len returns the number of records.
	Len() int64
	// At returns the record at a position, 0 <= position < Len(); -1 for any other. Each record is
	// at exactly one position.
	At(position int64) int64
}

// Sequential is the unshuffled order of that many records.
type Sequential int64

// Len returns the number of records.
func (s Sequential) Len() int64 { return max(int64(s), 0) }

// At returns position.
func (s Sequential) At(position int64) int64 {
	if outside(s, position) {
		return -1
	}
	return position
}

// Global is a random order of all records, by seed and epoch, in constant time and memory: any
// record may come anywhere.
type Global struct{ p permutation }

// NewGlobal returns the order of the given number of records; negative numbers count as 0.
func NewGlobal(records int64, seed, epoch uint64) *Global {
	return &Global{permute(max(records, 0), derive(globalTag, seed, epoch))}
}

// Len returns the number of records.
func (g *Global) Len() int64 { return g.p.n }

// At returns the record at position.
func (g *Global) At(position int64) int64 {
	if outside(g, position) {
		return -1
	}
	return g.p.at(position)
}

func outside(o Order, position int64) bool { return position < 0 || position >= o.Len() }

// Tags separate the keys of different uses.
const (
	globalTag = iota + 1
	blocksTag
	windowTag
)

var (
	_ Order = Sequential(0)
	_ Order = (*Global)(nil)
	_ Order = (*Block)(nil)
	_ Order = (*Lanes)(nil)
)
