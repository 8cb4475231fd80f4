// Package keylock locks values, such as names in directories: the changes of one come one
// after the other, and those of others do not wait for it.
package keylock

import (
	"slices"
	"sync"
)

// Set is the values that are locked. The zero value is ready. It takes memory for those
// that somebody has or waits for, and may be used by any number of goroutines.
type Set[K comparable] struct {
	mu   sync.Mutex
	held map[K]*lock
}

// lock is one value with those that have it or wait for it.
type lock struct {
	sync.Mutex
	users int // guarded by Set.mu
}

// Lock waits until all of keys are free and takes them. It sorts keys by compare, which
// must be the same for all calls: whoever takes several takes them in one order.
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
