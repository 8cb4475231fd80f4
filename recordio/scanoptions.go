package recordio

import (
	"errors"
	"fmt"
)

// DefaultMaxChunkBytes bounds a chunk where the options do not: eight times what
// the reference writes.
const DefaultMaxChunkBytes = 256 << 20

// ScanOptions are the choices of a Scanner. The zero value stops at damage.
type ScanOptions struct {
	Path          string       // for messages only
	Offset        int64        // where the first byte of the reader stands in the file, for messages
	Parallelism   int          // goroutines that decompress, besides one that reads; below 2: the caller's does both
	Policy        Policy       // what to do with damage
	OnDamage      func(Damage) // called for each damaged place, in order, in the caller's goroutine; may be nil
	MaxChunkBytes int64        // most bytes of a chunk, stored or decompressed; 0: DefaultMaxChunkBytes
}

// check fills in what is not set and returns what is wrong with o.
func (o *ScanOptions) check() *Error {
	if o.MaxChunkBytes == 0 {
		o.MaxChunkBytes = DefaultMaxChunkBytes
	}
	switch {
	case o.MaxChunkBytes < 0 || o.MaxChunkBytes > maxPayload:
		return plain(o.Path, Invalid, fmt.Errorf("MaxChunkBytes of %d; the most is %d", o.MaxChunkBytes, int64(maxPayload)))
	case o.Policy > Salvage:
		return plain(o.Path, Invalid, errors.New("unknown policy"))
	}
	return nil
}
