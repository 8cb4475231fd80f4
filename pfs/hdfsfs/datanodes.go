package hdfsfs

import (
	"sync"
	"time"
)

// dataNodes records which DataNodes of the cluster pipelines used in the last minute.
type dataNodes struct {
	mu     sync.Mutex
	seen   map[string]time.Time // when the NameNode chose it, by address
	silent map[string]time.Time // when it gave no sign of life, which took long to find out
}

// remembered is how long something about a DataNode counts.
const remembered = time.Minute

func newDataNodes() *dataNodes {
	return &dataNodes{seen: map[string]time.Time{}, silent: map[string]time.Time{}}
}

// see notes which DataNodes the NameNode has chosen.
func (n *dataNodes) see(addresses []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range addresses {
		n.seen[a] = time.Now()
	}
}

// alive is the number of DataNodes that were chosen lately and are not among the bad.
func (n *dataNodes) alive(bad map[string]bool) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	forget(n.seen)
	count := 0
	for a := range n.seen {
		if !bad[a] {
			count++
		}
	}
	return count
}

// noteSilent notes a DataNode that gives no sign of life.
func (n *dataNodes) noteSilent(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent[address] = time.Now()
}

// silentNow returns the DataNodes that need not be waited for again.
func (n *dataNodes) silentNow() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	forget(n.silent)
	all := map[string]bool{}
	for a := range n.silent {
		all[a] = true
	}
	return all
}

func forget(times map[string]time.Time) {
	for a, at := range times {
		if time.Since(at) > remembered {
			delete(times, a)
		}
	}
}
