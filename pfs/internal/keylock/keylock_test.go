package keylock

import (
	"strings"
	"sync"
	"testing"
)

// Goroutines that lock two of three names in any order, one of them twice, exclude each other and
// all finish; then nothing is kept.
func TestLock(t *testing.T) {
	var s Set[string]
	var wg sync.WaitGroup
	counts := map[string]*int{"a": new(int), "b": new(int), "c": new(int)}
	pairs := [][]string{{"a", "b"}, {"b", "a"}, {"c", "b"}, {"a", "c"}, {"c", "c"}}
	const rounds = 1000
	for _, pair := range pairs {
		wg.Go(func() {
			for range rounds {
				unlock := s.Lock(strings.Compare, pair[0], pair[1])
				*counts[pair[0]]++
				*counts[pair[1]]++
				unlock()
			}
		})
	}
	wg.Wait()
	for name, want := range map[string]int{"a": 3 * rounds, "b": 3 * rounds, "c": 4 * rounds} {
		if got := *counts[name]; got != want {
			t.Errorf("%s was counted %d times, want %d", name, got, want)
		}
	}
	if len(s.held) != 0 {
		t.Errorf("%d names are kept", len(s.held))
	}
}

// Other names do not wait: if they did, this would never end.
func TestLockOthers(t *testing.T) {
	var s Set[string]
	defer s.Lock(strings.Compare, "a")()
	s.Lock(strings.Compare, "b", "c")()
}
