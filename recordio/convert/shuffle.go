package convert

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Spill is storage for one shuffle, such as a temporary file. It is written sequentially, then
// read, then closed, which should remove it.
type Spill interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// DefaultShuffleMemory is the default memory of a Shuffler.
const DefaultShuffleMemory = 64 << 20

// Shuffler puts records into a random order that depends only on the seed and on their number, not
// on the memory or on how they were made. Record i gets the key key(seed, i), and the order is that
// of the keys. Records that do not fit into memory are spilled as sorted runs, which Each merges.
//
// It is used by one goroutine: Add for every record, Each once, then always Close.
type Shuffler struct {
	seed   uint64
	memory int
	create func() (Spill, error)

	count   uint64
	records []shuffled
	chunks  [][]byte // the payloads of records; the last chunk has free space
	used    int      // bytes of chunks and records

	spill Spill // nil while everything fits into memory
	out   *bufio.Writer
	size  int64 // bytes written to spill
	runs  []shuffleRun
}

// shuffled is one record in memory.
type shuffled struct {
	key     uint64
	payload []byte
}

// shuffleRun is a part of spill, sorted by key.
type shuffleRun struct{ start, end int64 }

// NewShuffler returns a Shuffler that uses about memory bytes (0 for DefaultShuffleMemory), and
// calls create, at most once, when that is not enough. A merge needs at least 4 KiB for each run:
// 64 MiB shuffle 1 TiB.
func NewShuffler(seed uint64, memory int, create func() (Spill, error)) *Shuffler {
	if memory <= 0 {
		memory = DefaultShuffleMemory
	}
	return &Shuffler{seed: mix(seed), memory: memory, create: create}
}

// mix is the last step of SplitMix64: a bijection in which every bit depends on every bit.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// key returns a random number for record i, different for all records.
func (s *Shuffler) key(i uint64) uint64 { return mix(s.seed + i*0x9e3779b97f4a7c15) }

// Add adds a copy of the next record.
func (s *Shuffler) Add(payload []byte) error {
	const perRecord = 32
	if s.used > 0 && s.used+len(payload)+perRecord > s.memory {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.records = append(s.records, shuffled{s.key(s.count), s.keep(payload)})
	s.used += perRecord
	s.count++
	return nil
}

// chunkSize is how much memory for payloads is allocated at a time, or less if it is a large part
// of all memory.
const chunkSize = 256 << 10

// keep returns a copy of payload.
func (s *Shuffler) keep(payload []byte) []byte {
	last := len(s.chunks) - 1
	if last < 0 || cap(s.chunks[last])-len(s.chunks[last]) < len(payload) {
		s.chunks = append(s.chunks, make([]byte, 0, max(min(chunkSize, s.memory/16), len(payload))))
		last++
		s.used += cap(s.chunks[last])
	}
	chunk := s.chunks[last]
	start := len(chunk)
	s.chunks[last] = append(chunk, payload...)
	return s.chunks[last][start:]
}

func (s *Shuffler) sort() {
	slices.SortFunc(s.records, func(a, b shuffled) int { return cmp.Compare(a.key, b.key) })
}

// flush writes the records in memory as a run: for each record its key, length and payload.
func (s *Shuffler) flush() error {
	if err := s.openSpill(); err != nil {
		return err
	}
	s.sort()
	start := s.size
	for _, r := range s.records {
		var head [runHead]byte
		binary.LittleEndian.PutUint64(head[:], r.key)
		binary.LittleEndian.PutUint32(head[8:], uint32(len(r.payload)))
		s.out.Write(head[:])
		s.out.Write(r.payload)
		s.size += runHead + int64(len(r.payload))
	}
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("shuffle: write to the temporary file: %w", err)
	}
	s.runs = append(s.runs, shuffleRun{start, s.size})
	clear(s.records)
	s.records, s.chunks, s.used = s.records[:0], nil, 0
	return nil
}

// runHead is the size of the key and length of a record in a run.
const runHead = 12

func (s *Shuffler) openSpill() error {
	if s.spill != nil {
		return nil
	}
	spill, err := s.create()
	if err != nil {
		return fmt.Errorf("shuffle: make a temporary file: %w", err)
	}
	s.spill, s.out = spill, bufio.NewWriterSize(spill, chunkSize)
	return nil
}

// Each passes every record to emit, in random order; a payload is valid during the call. It stops
// at the first error, and returns it.
func (s *Shuffler) Each(emit func(payload []byte) error) error {
	if s.spill == nil {
		s.sort()
		for _, r := range s.records {
			if err := emit(r.payload); err != nil {
				return err
			}
		}
		return nil
	}
	if len(s.records) > 0 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	return s.merge(emit)
}

// Close closes the Spill, if there is one.
func (s *Shuffler) Close() error {
	s.records, s.chunks = nil, nil
	if s.spill == nil {
		return nil
	}
	spill := s.spill
	s.spill = nil
	return spill.Close()
}
