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

// trap waits for a request.
type trap struct {
	words  []string      // that the request contains
	answer bool          // let the request through, and hold its answer
	at     string        // the connection of the request
	came   chan struct{} // closed when the request or, with answer, something after it came
	opened chan struct{} // closed when connections may be cut
	once   sync.Once
}

// relay returns a relay to the address; its connections pass the gate.
func (g *gate) relay(t *testing.T, address string) *relay.Relay {
	t.Helper()
	return relay.New(t, func() string { return address }, func(conn int, p []byte) bool {
		return g.pass(fmt.Sprint(address, "#", conn), p)
	})
}

// set waits for the next request that contains all of the words.
func (g *gate) set(answer bool, words ...string) *trap {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trap = &trap{words: words, answer: answer, came: make(chan struct{}), opened: make(chan struct{})}
	return g.trap
}

// pass holds a trapped request until the trap is opened, and then cuts the connection.
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
