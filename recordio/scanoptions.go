package recordio

import (
	"errors"
	"fmt"
)

// DefaultMaxChunkBytes bounds the size of a chunk by default: eight times the chunk size of the
// reference implementation.
const DefaultMaxChunkBytes = 256 << 20

// ScanOptions configure a Scanner. The zero value stops at damage.
type ScanOptions struct {
	Path          string       // for messages only
	Offset        int64        // position of the reader's first byte in the file, for messages
	Parallelism   int          // number of goroutines that decompress while another one reads; below 2: none, the caller's goroutine does both
	Policy        Policy       // what to do with damage
	OnDamage      func(Damage) // called for each damage, in order, in the caller's goroutine; may be nil
	MaxChunkBytes int64        // maximum size of a chunk, stored or decompressed; 0: DefaultMaxChunkBytes
}

// check sets defaults and returns an error if o is invalid.
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
