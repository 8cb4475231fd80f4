package rpc

import (
	"slices"
	"sync"
	"time"
)

// Servers orders the NameNodes of a name service: those that failed recently come last, in the order of
// their failures. Clients of all users share it.
type Servers struct {
	mu     sync.Mutex
	all    []string
	failed map[string]time.Time
}

// NewServers returns the servers with these addresses.
func NewServers(addresses []string) *Servers {
	return &Servers{all: append([]string(nil), addresses...), failed: map[string]time.Time{}}
}

// forgive is how long a failure counts.
const forgive = time.Minute

// Order returns the addresses, the best first.
func (s *Servers) Order() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var good, bad []string
	for _, a := range s.all {
		if at, ok := s.failed[a]; ok && time.Since(at) < forgive {
			bad = append(bad, a)
		} else {
			good = append(good, a)
		}
	}
	slices.SortStableFunc(bad, func(a, b string) int { return s.failed[a].Compare(s.failed[b]) })
	return append(good, bad...)
}

// NoteFailed notes that a server has failed now.
func (s *Servers) NoteFailed(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed[address] = time.Now()
}

// FailedSince reports whether a server failed after t. Connections made before then hang as well.
func (s *Servers) FailedSince(address string, t time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.failed[address]
	return ok && at.After(t)
}
