// Package sorter sorts any number of directory entries in bounded memory.
package sorter

import (
	"bufio"
	"container/heap"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
)

// Sorter sorts any number of entries in bounded memory: sorted runs go to
// temporary files and are merged.
type Sorter struct {
	compare func(a, b pfs.Info) int
	most    int // entries in memory
	width   int // runs merged at once

	buf  []pfs.Info
	dir  string // of the runs; "" while there are none
	runs []string
	made int
}

// New returns a sorter that keeps about 10 MB in memory.
func New(compare func(a, b pfs.Info) int) *Sorter {
	return &Sorter{compare: compare, most: 1 << 15, width: 64}
}

// Add takes one entry.
func (s *Sorter) Add(e pfs.Info) error {
	s.buf = append(s.buf, e)
	if len(s.buf) < s.most {
		return nil
	}
	return s.spill()
}

// Each calls fn for all entries in order.
func (s *Sorter) Each(fn func(pfs.Info) error) error {
	if len(s.runs) == 0 {
		slices.SortFunc(s.buf, s.compare)
		for _, e := range s.buf {
			if err := fn(e); err != nil {
				return err
			}
		}
		return nil
	}
	if len(s.buf) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	for len(s.runs) > s.width {
		if err := s.join(); err != nil {
			return err
		}
	}
	return s.merge(s.runs, fn)
}

// Close removes the temporary files.
func (s *Sorter) Close() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// spill writes what is in memory as a run.
func (s *Sorter) spill() error {
	slices.SortFunc(s.buf, s.compare)
	err := s.write(func(put func(pfs.Info) error) error {
		for _, e := range s.buf {
			if err := put(e); err != nil {
				return err
			}
		}
		return nil
	})
	s.buf = s.buf[:0]
	return err
}

// join makes one run of the oldest ones.
func (s *Sorter) join() error {
	old := s.runs[:s.width]
	s.runs = slices.Clone(s.runs[s.width:])
	err := s.write(func(put func(pfs.Info) error) error { return s.merge(old, put) })
	for _, name := range old {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// write adds a run of what fill puts.
func (s *Sorter) write(fill func(put func(pfs.Info) error) error) (err error) {
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "paddlectl-sort-"); err != nil {
			return err
		}
	}
	s.made++
	f, err := os.Create(filepath.Join(s.dir, strconv.Itoa(s.made)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 64<<10)
	enc := gob.NewEncoder(w)
	if err := fill(func(e pfs.Info) error { return enc.Encode(e) }); err != nil {
		return err
	}
	s.runs = append(s.runs, f.Name())
	return w.Flush()
}

// merge calls fn for the entries of the runs in order.
func (s *Sorter) merge(runs []string, fn func(pfs.Info) error) error {
	h := &runHeap{compare: s.compare}
	defer func() {
		for _, r := range h.runs {
			r.file.Close()
		}
	}()
	for _, name := range runs {
		r, err := openRun(name)
		if err != nil {
			return err
		}
		h.runs = append(h.runs, r)
	}
	heap.Init(h)
	for len(h.runs) > 0 {
		r := h.runs[0]
		if err := fn(r.head); err != nil {
			return err
		}
		switch err := r.advance(); err {
		case nil:
			heap.Fix(h, 0)
		case io.EOF:
			heap.Pop(h).(*sortedRun).file.Close()
		default:
			return err
		}
	}
	return nil
}

// sortedRun is a run being read. It has at least one entry.
type sortedRun struct {
	file *os.File
	dec  *gob.Decoder
	head pfs.Info
}

func openRun(name string) (*sortedRun, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r := &sortedRun{file: f, dec: gob.NewDecoder(bufio.NewReaderSize(f, 16<<10))}
	if err := r.advance(); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

func (r *sortedRun) advance() error {
	r.head = pfs.Info{} // gob leaves out zero fields
	return r.dec.Decode(&r.head)
}

// runHeap has the run with the smallest head at the top.
type runHeap struct {
	runs    []*sortedRun
	compare func(a, b pfs.Info) int
}

func (h *runHeap) Len() int           { return len(h.runs) }
func (h *runHeap) Less(i, j int) bool { return h.compare(h.runs[i].head, h.runs[j].head) < 0 }
func (h *runHeap) Swap(i, j int)      { h.runs[i], h.runs[j] = h.runs[j], h.runs[i] }
func (h *runHeap) Push(x any)         { h.runs = append(h.runs, x.(*sortedRun)) }
func (h *runHeap) Pop() any {
	last := h.runs[len(h.runs)-1]
	h.runs = h.runs[:len(h.runs)-1]
	return last
}
