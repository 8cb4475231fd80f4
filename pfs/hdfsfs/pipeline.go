package hdfsfs

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
)

// pipelines are those of the attempts to store one part: a row of DataNodes that pass a
// block on, as the NameNode has chosen them. It goes on to choose one that has died until
// it has missed it for minutes, and the library cannot tell it otherwise. So what is
// wrong with a DataNode is remembered here from attempt to attempt, and a pipeline that
// has one of these is refused while another choice may have none, and otherwise built
// without them: the NameNode then makes the replicas that the block lacks.
type pipelines struct {
	nodes *dataNodes
	want  int // replicas

	mu     sync.Mutex
	bad    map[string]bool // addresses of DataNodes that failed here
	silent map[string]bool // of those that gave no sign of life elsewhere, a while ago
	tried  []string        // the DataNodes of the last one
	whole  bool            // none is built without the bad ones
	hung   int             // attempts without an answer, it is not known from which DataNode
}

func newPipelines(n *dataNodes, want int) *pipelines {
	return &pipelines{nodes: n, want: want, bad: map[string]bool{}, silent: n.silentNow()}
}

// maxWhole is the number of attempts that wait for a choice without bad DataNodes. The
// last of them are made only if there seem to be enough others.
const maxWhole = 4

// next prepares the attempt number i, from 0 on.
func (w *pipelines) next(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tried = nil
	w.whole = i < maxWhole/2 || i < maxWhole && w.nodes.alive(w.bad) >= w.want
	if i == maxWhole {
		w.silent = nil // they may be back
	}
}

// ask is the number of replicas to ask for. A DataNode that takes connections and nothing
// else cannot be told from the others: a shorter pipeline may leave it out.
func (w *pipelines) ask() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(min(2, w.want), w.want-w.hung)
}

// built is called when the first pipeline of an attempt is there: for the next block of
// it, fewer DataNodes are better than to lose the ones before.
func (w *pipelines) built() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole = false
}

// blame notes that a DataNode cannot be part of a pipeline.
func (w *pipelines) blame(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bad[address] = true
}

// least is the number of DataNodes that a block has to be given to: two, or all that are
// alive if that is one.
func (w *pipelines) least() int {
	return min(2, w.want, max(1, w.nodes.alive(w.bad)))
}

// choose drops bad DataNodes from q, whose first one is at the address first. It tells
// whether that one is to be dropped too.
func (w *pipelines) choose(first string, q *writeRequest) (without bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tried = append([]string{first}, q.addresses()...)
	w.nodes.see(w.tried)
	var dropped []string
	for _, address := range w.tried {
		if w.bad[address] || w.silent[address] {
			dropped = append(dropped, address)
		}
	}
	without = slices.Contains(dropped, first)
	q.drop(dropped)
	have := len(w.tried) - len(dropped)
	if len(dropped) > 0 && w.whole || have < w.least() {
		return without, &fewNodes{have: have, asked: w.want, dropped: dropped}
	}
	return without, nil
}

// avoids reports whether a DataNode is not to be part of a pipeline.
func (w *pipelines) avoids(address string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bad[address] || w.silent[address]
}

// probe looks for the DataNodes that swallow what they are sent, after an attempt that
// had no answer in time.
func (w *pipelines) probe(s *session) {
	w.mu.Lock()
	tried, before := w.tried, len(w.bad)
	w.mu.Unlock()
	var wg sync.WaitGroup
	for _, address := range tried {
		wg.Go(func() {
			conn, err := s.dialer().Dial("tcp", address)
			if err == nil {
				conn.Close()
				return
			}
			w.blame(address)
			w.nodes.noteSilent(address)
		})
	}
	wg.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(tried) > 0 && len(w.bad) == before {
		w.hung++
	}
}

// fewNodes says that a block would be given to too few DataNodes.
type fewNodes struct {
	have, asked int
	dropped     []string
}

func (e *fewNodes) Error() string {
	if len(e.dropped) == 0 {
		return fmt.Sprintf("the NameNode offers %d DataNodes for a block that is to have %d replicas", e.have, e.asked)
	}
	return fmt.Sprintf("the NameNode offers %d DataNodes for a block, of which these cannot be reached: %s", e.have+len(e.dropped), strings.Join(e.dropped, ", "))
}

// errAvoided says why a DataNode is not asked.
var errAvoided = errors.New("it could not be reached a moment ago")

// nodeError is a failure of one DataNode.
type nodeError struct {
	address string
	err     error
}

func (e *nodeError) Error() string {
	// The address is said once.
	var op *net.OpError
	if errors.As(e.err, &op) {
		return fmt.Sprintf("DataNode %s: %s: %v", e.address, op.Op, op.Err)
	}
	return fmt.Sprintf("DataNode %s: %v", e.address, e.err)
}

func (e *nodeError) Unwrap() error { return e.err }
