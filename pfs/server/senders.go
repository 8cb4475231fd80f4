package server

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/internal/lru"
	"github.com/paddlecloud/pfs/pfs"
)

// senders orders the changes of programs that replace a process that has died, such as mounts. A change of
// the dead process may still be in progress, or on its way. The next process waits for those in progress, and
// later ones are refused: else one could undo a change of the next process.
type senders struct {
	mu  sync.Mutex
	all *lru.Cache[senderKey, *process]
}

// mostSenders bounds the programs that are remembered.
const mostSenders = 10_000

// senderKey names a program of a user.
type senderKey struct{ user, id string }

// process is one process of a program. senders.mu guards its numbers.
type process struct {
	number  uint64
	running int           // changes
	over    bool          // there is a newer process
	idle    chan struct{} // closed when it is over and no change is running
	before  *process      // nil if its changes have ended
}

func newSenders() *senders {
	return &senders{all: lru.New[senderKey](mostSenders, lru.One[*process])}
}

// enter waits until the changes of earlier processes have ended. sender is the header of a request, which
// may be empty. The caller calls leave after the change.
func (s *senders) enter(ctx context.Context, user, sender string) (leave func(), err error) {
	id, text, _ := strings.Cut(sender, "/")
	number, failed := strconv.ParseUint(text, 10, 64)
	if failed != nil || !pfs.ValidID(id) {
		return func() {}, nil
	}
	key := senderKey{user, id}
	s.mu.Lock()
	p, ok := s.all.Get(key)
	if !ok || p.number < number {
		p = &process{number: number, idle: make(chan struct{}), before: p}
		if p.before != nil {
			p.before.over = true
			p.before.check()
		}
		s.all.Add(key, p)
	}
	if p.number > number {
		s.mu.Unlock()
		return nil, refusedSender()
	}
	p.running++
	var before []*process
	for b := p.before; b != nil; b = b.before {
		before = append(before, b)
	}
	s.mu.Unlock()
	leave = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		p.running--
		p.check()
	}
	for _, b := range before {
		select {
		case <-b.idle:
		case <-ctx.Done():
			leave()
			return nil, pfs.CheckContext(ctx, "server.senders", "")
		}
	}
	s.mu.Lock()
	p.before = nil
	over := p.over
	s.mu.Unlock()
	if over {
		leave()
		return nil, refusedSender()
	}
	return leave, nil
}

func refusedSender() error {
	return pfs.Errorf("server.senders", "", pfs.Canceled, "another process has taken over from the one that sent this request")
}

// check closes idle. senders.mu is held.
func (p *process) check() {
	if p.over && p.running == 0 {
		close(p.idle)
	}
}
