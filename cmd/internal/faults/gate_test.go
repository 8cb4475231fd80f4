package faults

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/paddlecloud/pfs/internal/relay"
)

// gate stands between the service and a NameNode, and stops at one request.
type gate struct {
	mu   sync.Mutex
	trap *trap
}

// trap is a request that is waited for.
type trap struct {
	words  []string      // that are all in it
	answer bool          // it is let through, and the answer is not
	at     string        // the connection on which it came
	came   chan struct{} // closed when it came or, with answer, something behind it
	opened chan struct{} // closed when connections may be cut
	once   sync.Once
}

// relay returns a relay to the address whose connections pass the gate.
func (g *gate) relay(t *testing.T, address string) *relay.Relay {
	t.Helper()
	return relay.New(t, func() string { return address }, func(conn int, p []byte) bool {
		return g.pass(fmt.Sprint(address, "#", conn), p)
	})
}

// set waits for the next request with all of the words.
func (g *gate) set(answer bool, words ...string) *trap {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trap = &trap{words: words, answer: answer, came: make(chan struct{}), opened: make(chan struct{})}
	return g.trap
}

// pass holds what is in the trap until that is opened, and then cuts the connection.
func (g *gate) pass(conn string, p []byte) bool {
	g.mu.Lock()
	tr := g.trap
	if tr == nil {
		g.mu.Unlock()
		return true
	}
	first := tr.at == "" && tr.matches(p)
	if first {
		tr.at = conn
	}
	held := tr.at == conn && !(first && tr.answer)
	g.mu.Unlock()
	if !held {
		return true
	}
	tr.once.Do(func() { close(tr.came) })
	<-tr.opened
	return false
}

func (tr *trap) matches(p []byte) bool {
	for _, w := range tr.words {
		if !bytes.Contains(p, []byte(w)) {
			return false
		}
	}
	return true
}
