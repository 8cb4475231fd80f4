package testbed

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Replicas are processes of pfsd on one store, behind a plain TCP balancer.
type Replicas struct {
	All []*Pfsd

	t      testing.TB
	mu     sync.Mutex
	turn   int
	doomed []int64 // the replica to which the first number of bytes have passed is killed, and so on
	passed map[*Pfsd]int64
}

// StartReplicas starts n pfsd with the same arguments.
func StartReplicas(t testing.TB, program string, n int, args ...string) *Replicas {
	t.Helper()
	r := &Replicas{t: t, passed: map[*Pfsd]int64{}}
	for range n {
		r.All = append(r.All, StartPfsd(t, program, args...))
	}
	return r
}

// Balance returns the address of the balancer for one protocol. Connections go in turn to the replicas that live.
func (r *Replicas) Balance(address func(*Pfsd) string) string {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.serve(c, address)
		}
	})
	r.t.Cleanup(func() { l.Close(); serving.Wait() })
	return l.Addr().String()
}

// serve passes a connection on until one side ends it.
func (r *Replicas) serve(c net.Conn, address func(*Pfsd) string) {
	defer c.Close()
	p := r.next()
	if p == nil {
		return
	}
	s, err := net.Dial("tcp", address(p))
	if err != nil {
		return
	}
	defer s.Close()
	go func() {
		defer c.Close()
		defer s.Close()
		_, _ = io.Copy(c, s)
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := c.Read(buf)
		if n > 0 {
			r.count(p, n)
			_, werr := s.Write(buf[:n])
			if werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// next returns the replica of the next connection; nil if none lives.
func (r *Replicas) next() *Pfsd {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range r.All {
		p := r.All[r.turn%len(r.All)]
		if r.turn++; p.Alive() {
			return p
		}
	}
	return nil
}

func (r *Replicas) count(p *Pfsd, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.passed[p] += int64(n); p.Alive() && len(r.doomed) > 0 && r.passed[p] > r.doomed[0] {
		p.Kill()
		r.doomed = r.doomed[1:]
		clear(r.passed)
	}
}

// KillAfter kills the first replica to which as many bytes pass from now on as the first of n says. Another number kills
// another one, with bytes from then on.
func (r *Replicas) KillAfter(n ...int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doomed = n
	clear(r.passed)
}

// Doomed reports whether a kill of KillAfter is still to come.
func (r *Replicas) Doomed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.doomed) > 0
}

// Killed fails the test unless all kills of KillAfter have come. sent returns how many bytes pass from now on.
func (r *Replicas) Killed() (sent func() int64) {
	r.t.Helper()
	if r.Doomed() {
		r.t.Fatal("no replica was killed: too few bytes have passed")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.passed)
	return func() (sum int64) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, n := range r.passed {
			sum += n
		}
		return sum
	}
}

// Revive starts the replicas that were killed.
func (r *Replicas) Revive() {
	r.t.Helper()
	for _, p := range r.All {
		if !p.Alive() {
			p.Start()
		}
	}
}
