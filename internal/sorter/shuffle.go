package sorter

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// defaultMemory is the default memory of a Shuffler.
const defaultMemory = 64 << 20

// Shuffler puts records into a random order that depends only on the seed and on their number, not
// on the memory or on how they were made: record i gets the key mix(mix(seed) + i*golden), and the
// order is that of the keys. Records that do not fit into memory go to a temporary file.
//
// It is used by one goroutine: Add for every record, Each once, then always Close.
type Shuffler struct {
	*Sorter[shuffled]
	key   func(i uint64) uint64 // of record i, different for all
	count uint64
	chunk []byte // space for payloads
}

// shuffled is a record, in memory or in a run.
type shuffled struct {
	key     uint64
	size    int
	payload []byte
	rest    io.Reader // of the payload, if it is in a run
}

// NewShuffler returns a Shuffler that uses about memory bytes, 64 MiB for 0. A merge needs at least
// 4 KiB for each run: 64 MiB shuffle 1 TiB in one pass.
func NewShuffler(seed uint64, memory int) *Shuffler {
	if memory <= 0 {
		memory = defaultMemory
	}
	seed = mix(seed)
	return newShuffler("shuffle", memory, func(i uint64) uint64 { return mix(seed + i*0x9e3779b97f4a7c15) })
}

// NewQueue returns a Shuffler that keeps the order of the records. It uses about memory bytes.
func NewQueue(memory int) *Shuffler {
	s := newShuffler("records", memory, func(i uint64) uint64 { return i })
	s.sorted = true
	return s
}

func newShuffler(title string, memory int, key func(i uint64) uint64) *Shuffler {
	const perRecord = 48
	s := &Shuffler{key: key}
	s.Sorter = newSorter(memory, max(64, memory/leastBuffer), memory, codec[shuffled]{
		title:   title,
		compare: func(a, b shuffled) int { return cmp.Compare(a.key, b.key) },
		size:    func(r shuffled) int { return perRecord + r.size },
		write:   writeShuffled,
		read:    readShuffled,
	})
	return s
}

// mix is the last step of SplitMix64: a bijection in which every bit depends on every bit.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// runHead is the size of the key and length of a record in a run; the payload follows.
const runHead = 12

func writeShuffled(w *bufio.Writer) func(shuffled) error {
	return func(r shuffled) error {
		head := binary.LittleEndian.AppendUint64(w.AvailableBuffer(), r.key)
		_, err := w.Write(binary.LittleEndian.AppendUint32(head, uint32(r.size)))
		switch {
		case err != nil:
		case r.rest != nil:
			_, err = io.CopyN(w, r.rest, int64(r.size))
		default:
			_, err = w.Write(r.payload)
		}
		return err
	}
}

// readShuffled does not read the payload; the caller does.
func readShuffled(b *bufio.Reader) func(*shuffled) error {
	return func(r *shuffled) error {
		head, err := b.Peek(runHead)
		if err != nil {
			return err
		}
		*r = shuffled{key: binary.LittleEndian.Uint64(head), size: int(binary.LittleEndian.Uint32(head[8:])), rest: b}
		_, err = b.Discard(runHead)
		return err
	}
}

// Add adds a copy of the next record.
func (s *Shuffler) Add(payload []byte) error {
	const chunkSize = 256 << 10
	if cap(s.chunk)-len(s.chunk) < len(payload) {
		s.chunk = make([]byte, 0, max(min(chunkSize, s.most/16), len(payload)))
	}
	start := len(s.chunk)
	s.chunk = append(s.chunk, payload...)
	err := s.Sorter.Add(shuffled{key: s.key(s.count), size: len(payload), payload: s.chunk[start:]})
	s.count++
	return err
}

// Each passes every record to emit, in the new order; a payload is valid during the call. It stops
// at the first error, and returns it.
func (s *Shuffler) Each(emit func(payload []byte) error) error {
	s.chunk = nil
	var buf []byte
	return s.Sorter.Each(func(r shuffled) error {
		if r.rest != nil {
			buf = slices.Grow(buf[:0], r.size)[:r.size]
			if _, err := io.ReadFull(r.rest, buf); err != nil {
				return fmt.Errorf("%s: read from the temporary file: %w", s.title, err)
			}
			r.payload = buf
		}
		return emit(r.payload)
	})
}
