package csi

import (
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// locks is a set of the volumes with an operation in progress.
type locks struct {
	mu   sync.Mutex
	held map[string]bool
}

// lock answers Aborted, as the interface wants it, if the volume has an operation in progress: the kubelet asks again.
func (l *locks) lock(id string) (unlock func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[id] {
		return nil, status.Errorf(codes.Aborted, "volume %s has an operation in progress", id)
	}
	if l.held == nil {
		l.held = map[string]bool{}
	}
	l.held[id] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.held, id)
	}, nil
}
