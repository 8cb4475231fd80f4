package hdfsfs

import (
	"slices"
	"sync"
	"time"
)

// nameNodes orders the NameNodes: those that failed recently come last, in the order of their
// failures.
type nameNodes struct {
	mu     sync.Mutex
	all    []string
	failed map[string]time.Time
}

func newNameNodes(addresses []string) *nameNodes {
	return &nameNodes{all: append([]string(nil), addresses...), failed: map[string]time.Time{}}
}

// forgive is how long a failure counts.
const forgive = time.Minute

// order returns the addresses, the best first.
func (n *nameNodes) order() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var good, bad []string
	for _, a := range n.all {
		if at, ok := n.failed[a]; ok && time.Since(at) < forgive {
			bad = append(bad, a)
		} else {
			good = append(good, a)
		}
	}
	slices.SortStableFunc(bad, func(a, b string) int { return n.failed[a].Compare(n.failed[b]) })
	return append(good, bad...)
}

// noteFailed notes that one has failed now.
func (n *nameNodes) noteFailed(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failed[address] = time.Now()
}

// failedSince reports whether a NameNode failed after t. Connections made before then hang as well.
func (n *nameNodes) failedSince(address string, t time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, ok := n.failed[address]
	return ok && at.After(t)
}
