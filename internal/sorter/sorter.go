// Package sorter sorts and shuffles any number of items in bounded memory.
package sorter

import (
	"bufio"
	"container/heap"
	"encoding/gob"
	"fmt"
	"io"
	"slices"

	"github.com/paddlecloud/pfs/internal/tempfile"
)

// Sorter sorts any number of items in bounded memory: sorted runs go to a temporary file and are
// merged. It is for one goroutine.
type Sorter[T any] struct {
	codec[T]
	most   int  // memory for items, as size counts it
	width  int  // runs merged at once
	buffer int  // memory for merging, in bytes
	sorted bool // items are added in order, and are one run

	buf    []T
	used   int
	file   *file // nil while everything fits into memory
	out    *bufio.Writer
	runs   []run
	create func() (storage, error)
}

// codec defines the order of items, and their form in a file.
type codec[T any] struct {
	title   string // in messages
	compare func(a, b T) int
	size    func(T) int
	write   func(w *bufio.Writer) func(T) error
	read    func(r *bufio.Reader) func(*T) error // io.EOF after the last item
}

// run is a sorted part of the file.
type run struct{ start, end int64 }

// New returns a sorter that keeps 32,768 items in memory. They are stored by package gob.
func New[T any](compare func(a, b T) int) *Sorter[T] {
	return newSorter(1<<15, 64, 1<<20, codec[T]{
		title:   "sort",
		compare: compare,
		size:    func(T) int { return 1 },
		write: func(w *bufio.Writer) func(T) error {
			enc := gob.NewEncoder(w)
			return func(item T) error { return enc.Encode(item) }
		},
		read: func(r *bufio.Reader) func(*T) error {
			dec := gob.NewDecoder(r)
			return func(item *T) error {
				*item = *new(T) // gob omits zero fields
				return dec.Decode(item)
			}
		},
	})
}

func newSorter[T any](most, width, buffer int, c codec[T]) *Sorter[T] {
	return &Sorter[T]{codec: c, most: most, width: width, buffer: buffer, create: func() (storage, error) { return tempfile.New() }}
}

// Add takes one item.
func (s *Sorter[T]) Add(item T) error {
	size := s.size(item)
	if len(s.buf) > 0 && s.used+size > s.most {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.buf, s.used = append(s.buf, item), s.used+size
	return nil
}

// Each calls fn for all items in order, until it returns an error.
func (s *Sorter[T]) Each(fn func(T) error) error {
	if s.file == nil {
		slices.SortFunc(s.buf, s.compare)
		for _, item := range s.buf {
			if err := fn(item); err != nil {
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
		oldest := s.runs[:s.width]
		s.runs = slices.Clone(s.runs[s.width:])
		if err := s.add(func(put func(T) error) error { return s.merge(oldest, put) }); err != nil {
			return err
		}
	}
	return s.merge(s.runs, fn)
}

// Close removes the temporary file.
func (s *Sorter[T]) Close() error {
	s.buf = nil
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	return file.Close()
}

// spill writes the items in memory as a run.
func (s *Sorter[T]) spill() error {
	slices.SortFunc(s.buf, s.compare)
	err := s.add(func(put func(T) error) error {
		for _, item := range s.buf {
			if err := put(item); err != nil {
				return err
			}
		}
		return nil
	})
	clear(s.buf)
	s.buf, s.used = s.buf[:0], 0
	return err
}

// add writes a run of the items that fill puts.
func (s *Sorter[T]) add(fill func(put func(T) error) error) error {
	if s.file == nil {
		temp, err := s.create()
		if err != nil {
			return fmt.Errorf("%s: make a temporary file: %w", s.title, err)
		}
		s.file = &file{storage: temp, title: s.title}
		s.out = bufio.NewWriterSize(s.file, mostBuffer)
	}
	start := s.file.end
	if err := fill(s.write(s.out)); err != nil {
		return err
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	if s.sorted && len(s.runs) > 0 {
		start = s.runs[0].start
		s.runs = s.runs[:0]
	}
	s.runs = append(s.runs, run{start, s.file.end})
	return nil
}

// merge calls fn for the items of runs in order.
func (s *Sorter[T]) merge(runs []run, fn func(T) error) error {
	heads := &heads[T]{compare: s.compare}
	for _, r := range runs {
		part := io.NewSectionReader(s.file, r.start, r.end-r.start)
		buffer := min(max(s.buffer/len(runs), leastBuffer), mostBuffer)
		h := &head[T]{part: part, read: s.read(bufio.NewReaderSize(part, buffer))}
		if err := h.next(); err != nil {
			return s.unread(err)
		}
		heads.list = append(heads.list, h)
	}
	heap.Init(heads)
	for len(heads.list) > 0 {
		if err := fn(heads.list[0].item); err != nil {
			return err
		}
		switch err := heads.list[0].next(); err {
		case nil:
			heap.Fix(heads, 0)
		case io.EOF:
			heap.Pop(heads)
		default:
			return s.unread(err)
		}
	}
	return nil
}

// The limits of the memory for one run.
const leastBuffer, mostBuffer = 4 << 10, 256 << 10

func (s *Sorter[T]) unread(err error) error {
	return fmt.Errorf("%s: read from the temporary file: %w", s.title, err)
}

// storage is a temporary file.
type storage interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// file is the temporary file of a sorter.
type file struct {
	storage
	title string
	end   int64 // bytes written
}

func (f *file) Write(p []byte) (int, error) {
	n, err := f.storage.Write(p)
	f.end += int64(n)
	if err != nil {
		err = fmt.Errorf("%s: write to the temporary file: %w", f.title, err)
	}
	return n, err
}

// head is a run that is being read, with its next item.
type head[T any] struct {
	part *io.SectionReader
	read func(*T) error
	item T
}

// next reads the next item. It returns io.EOF only at the end of the run.
func (h *head[T]) next() error {
	err := h.read(&h.item)
	if at, _ := h.part.Seek(0, io.SeekCurrent); err == io.EOF && at < h.part.Size() {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// heads has the run with the smallest next item at the top.
type heads[T any] struct {
	list    []*head[T]
	compare func(a, b T) int
}

func (h *heads[T]) Len() int           { return len(h.list) }
func (h *heads[T]) Less(i, j int) bool { return h.compare(h.list[i].item, h.list[j].item) < 0 }
func (h *heads[T]) Swap(i, j int)      { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *heads[T]) Push(x any)         { h.list = append(h.list, x.(*head[T])) }
func (h *heads[T]) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}
