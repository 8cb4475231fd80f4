package sorter

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// memorySpill is storage in memory with a limit.
type memorySpill struct {
	bytes.Buffer
	room   int
	closed int
}

var errFull = errors.New("disk full")

func (m *memorySpill) Write(p []byte) (int, error) {
	if m.Len()+len(p) > m.room {
		return 0, errFull
	}
	return m.Buffer.Write(p)
}

func (m *memorySpill) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m.Bytes()).ReadAt(p, off)
}

func (m *memorySpill) Close() error { m.closed++; return nil }

// shuffled runs n records through a Shuffler.
func shuffledOf(t *testing.T, n int, seed uint64, memory int) (got []string, spill *memorySpill) {
	t.Helper()
	spill = &memorySpill{room: 1 << 30}
	created := 0
	s := NewShuffler(seed, memory)
	s.create = func() (storage, error) { created++; return spill, nil }
	for i := range n {
		payload := fmt.Appendf(nil, "%d%s", i, bytes.Repeat([]byte("."), i%50))
		if err := s.Add(payload); err != nil {
			t.Fatal(err)
		}
		clear(payload) // Add has kept a copy
	}
	if err := s.Each(func(p []byte) error { got = append(got, string(p)); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil || spill.closed != created || created > 1 {
		t.Errorf("%d created, %d closed, %v", created, spill.closed, err)
	}
	return got, spill
}

// The order depends on the seed only, and every record comes once.
func TestShuffle(t *testing.T) {
	const n = 5000
	want, spill := shuffledOf(t, n, 1, 0)
	if spill.Len() != 0 {
		t.Errorf("spilled %d bytes of little", spill.Len())
	}
	for _, memory := range []int{1, 10 << 10, 100 << 10} {
		got, spill := shuffledOf(t, n, 1, memory)
		if !slices.Equal(got, want) {
			t.Errorf("with %d bytes of memory the order is another", memory)
		}
		if spill.Len() == 0 {
			t.Errorf("with %d bytes of memory nothing was spilled", memory)
		}
	}
	if got, _ := shuffledOf(t, n, 2, 0); slices.Equal(got, want) {
		t.Error("another seed gives the same order")
	}
	sorted := slices.Sorted(slices.Values(want))
	if len(sorted) != n || len(slices.Compact(sorted)) != n {
		t.Errorf("%d records, want %d different ones", len(want), n)
	}
	if slices.IsSorted(want) {
		t.Error("nothing was shuffled")
	}
}

// In a shuffle of 0..n-1 every half of the output holds about half of every half of the input.
func TestShuffleSpread(t *testing.T) {
	const n = 10000
	s := NewShuffler(7, 0)
	for i := range n {
		if err := s.Add([]byte{byte(i * 2 / n)}); err != nil {
			t.Fatal(err)
		}
	}
	at, second := 0, 0
	if err := s.Each(func(p []byte) error {
		if at++; at <= n/2 {
			second += int(p[0])
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if second < n/4-200 || second > n/4+200 { // four standard deviations
		t.Errorf("the first half has %d records of the second, want about %d", second, n/4)
	}
}

func TestShuffleErrors(t *testing.T) {
	add := func(s *Shuffler) error {
		for range 100000 {
			if err := s.Add(make([]byte, 100)); err != nil {
				return err
			}
		}
		return s.Each(func([]byte) error { return nil })
	}
	spill := &memorySpill{room: 1 << 20}
	s := NewShuffler(1, 1<<20)
	s.create = func() (storage, error) { return spill, nil }
	if err := add(s); !errors.Is(err, errFull) || err.Error() != "shuffle: write to the temporary file: disk full" {
		t.Errorf("full: got %v", err)
	}
	if err := s.Close(); err != nil || spill.closed != 1 {
		t.Errorf("closed %d times, %v", spill.closed, err)
	}
	s = NewShuffler(1, 1<<20)
	s.create = func() (storage, error) { return nil, errFull }
	if err := add(s); !errors.Is(err, errFull) {
		t.Errorf("create: got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}

	spill = &memorySpill{room: 1 << 30}
	s = NewShuffler(1, 1)
	s.create = func() (storage, error) { return spill, nil }
	for range 10 {
		if err := s.Add([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	spill.Truncate(20)
	if err := s.Each(func([]byte) error { return nil }); err == nil || !strings.HasPrefix(err.Error(), "shuffle: read from the temporary file: ") {
		t.Errorf("truncated: got %v", err)
	}
}

func TestQueueKeepsTheOrder(t *testing.T) {
	spill := &memorySpill{room: 1 << 30}
	s := NewQueue(1000)
	s.create = func() (storage, error) { return spill, nil }
	for i := range 500 {
		if err := s.Add(fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	err := s.Each(func(p []byte) error {
		if string(p) != fmt.Sprint(n) {
			t.Errorf("record %d is %s", n, p)
		}
		n++
		return nil
	})
	if err != nil || n != 500 || spill.Len() == 0 || s.Close() != nil {
		t.Errorf("%d records, %d bytes of them in the file, %v", n, spill.Len(), err)
	}
}
