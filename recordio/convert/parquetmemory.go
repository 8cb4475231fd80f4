package convert

import "github.com/apache/arrow-go/v18/arrow/memory"

// boundedMemory is an allocator that panics with a fault if a file needs more than the limit,
// because allocators cannot return errors. See guard.
type boundedMemory struct {
	memory.Allocator
	used, limit int64
}

var _ memory.Allocator = (*boundedMemory)(nil)

func newBoundedMemory(limit int64) *boundedMemory {
	return &boundedMemory{Allocator: memory.NewGoAllocator(), limit: limit}
}

func (m *boundedMemory) take(n int) {
	if m.used += int64(n); m.used > m.limit {
		panic(&fault{ErrLimit, "its pages take too much memory: larger than the limit for a record, or too many columns with large ones"})
	}
}

// Allocate implements memory.Allocator.
func (m *boundedMemory) Allocate(n int) []byte {
	m.take(n)
	return m.Allocator.Allocate(n)
}

// Reallocate implements memory.Allocator.
func (m *boundedMemory) Reallocate(n int, b []byte) []byte {
	m.take(n - cap(b))
	return m.Allocator.Reallocate(n, b)
}

// Free implements memory.Allocator.
func (m *boundedMemory) Free(b []byte) {
	m.used -= int64(cap(b))
	m.Allocator.Free(b)
}
