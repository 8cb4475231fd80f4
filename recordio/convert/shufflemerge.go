package convert

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"fmt"
	"io"
)

// merge passes the records of all runs to emit, smallest key first.
func (s *Shuffler) merge(emit func(payload []byte) error) error {
	buffer := min(max(s.memory/len(s.runs), 4<<10), chunkSize)
	heads := make(runHeads, 0, len(s.runs))
	for _, run := range s.runs {
		r := &runReader{left: run.end - run.start,
			r: bufio.NewReaderSize(io.NewSectionReader(s.spill, run.start, run.end-run.start), buffer)}
		if err := r.next(); err != nil {
			return err
		}
		heads = append(heads, r)
	}
	heap.Init(&heads)
	var payload []byte
	for len(heads) > 0 {
		var err error
		if payload, err = heads[0].payload(payload); err == nil {
			err = emit(payload)
		}
		if err != nil {
			return err
		}
		if err := heads.advance(); err != nil {
			return err
		}
	}
	return nil
}

// runReader reads one run; its position is at the payload of a record.
type runReader struct {
	r    *bufio.Reader
	left int64 // bytes of the run not yet read
	key  uint64
	size int
}

// next reads the key and length of a record.
func (r *runReader) next() error {
	var head [runHead]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return spillError(err)
	}
	r.key = binary.LittleEndian.Uint64(head[:])
	r.size = int(binary.LittleEndian.Uint32(head[8:]))
	r.left -= runHead + int64(r.size)
	if r.left < 0 {
		return spillError(ErrChecksum)
	}
	return nil
}

// payload reads the payload into the space of dst.
func (r *runReader) payload(dst []byte) ([]byte, error) {
	if cap(dst) < r.size {
		dst = make([]byte, r.size)
	}
	dst = dst[:r.size]
	if _, err := io.ReadFull(r.r, dst); err != nil {
		return dst, spillError(err)
	}
	return dst, nil
}

func spillError(err error) error {
	return fmt.Errorf("shuffle: read from the temporary file: %w", err)
}

// runHeads is a heap of the runs with records left, by the key of the next record.
type runHeads []*runReader

func (h runHeads) Len() int           { return len(h) }
func (h runHeads) Less(i, j int) bool { return h[i].key < h[j].key }
func (h runHeads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeads) Push(x any)        { *h = append(*h, x.(*runReader)) }

func (h *runHeads) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// advance moves the first run to its next record, or removes it after its last.
func (h *runHeads) advance() error {
	if first := (*h)[0]; first.left > 0 {
		if err := first.next(); err != nil {
			return err
		}
		heap.Fix(h, 0)
		return nil
	}
	heap.Pop(h)
	return nil
}
