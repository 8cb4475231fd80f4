// Package keylock locks keys, such as names in directories: changes of one key are serialized, and
// changes of other keys do not wait.
package keylock

import (
	"slices"
	"sync"
)

// Set is a set of locked keys. The zero value is ready to use. Its memory is proportional to the
// keys that are held or waited for. It is safe for concurrent use.
type Set[K comparable] struct {
	mu   sync.Mutex
	held map[K]*lock
}

// lock is one key with its holder and waiters.
type lock struct {
	sync.Mutex
	users int // guarded by Set.mu
}

// Lock waits until all of keys are free and locks them. It sorts keys by compare, which must be the
// same for all calls, so that several keys are always locked in one order.
func (s *Set[K]) Lock(compare func(a, b K) int, keys ...K) (unlock func()) {
	slices.SortFunc(keys, compare)
	keys = slices.Compact(keys)
	for _, k := range keys {
		s.enter(k).Lock()
	}
	return func() {
		for _, k := range keys {
			s.leave(k)
		}
	}
}

func (s *Set[K]) enter(key K) *lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.held[key]
	if l == nil {
		if s.held == nil {
			s.held = map[K]*lock{}
		}
		l = &lock{}
		s.held[key] = l
	}
	l.users++
	return l
}

func (s *Set[K]) leave(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.held[key]
	l.Unlock()
	if l.users--; l.users == 0 {
		delete(s.held, key)
	}
}
