package datanode

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
)

// readAll reads a file in pieces of n bytes with r.
func readAll(t *testing.T, r *Reader, size, n int) ([]byte, error) {
	t.Helper()
	var all []byte
	for len(all) < size {
		p := make([]byte, min(n, size-len(all)))
		k, err := r.ReadAt(t.Context(), p, int64(len(all)))
		all = append(all, p[:k]...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// TestReaderFaults reads from three replicas, two of which are at fault.
func TestReaderFaults(t *testing.T) {
	data := pattern(20*packetSize + 33)
	for name, fault := range map[string]func(n *fakeNode, i int){
		"damaged":  func(n *fakeNode, i int) { n.flip = 5*packetSize + 10*i },
		"cut":      func(n *fakeNode, i int) { n.cut = 7*packetSize + 100*i },
		"no token": func(n *fakeNode, _ int) { n.refuse = hdfsproto.Status_ERROR_ACCESS_TOKEN },
		"silent":   func(n *fakeNode, _ int) { n.silent = true },
	} {
		t.Run(name, func(t *testing.T) {
			nodes := []*fakeNode{newFakeNode(data), newFakeNode(data), newFakeNode(data)}
			fault(nodes[0], 0)
			fault(nodes[1], 1)
			if name == "damaged" {
				nodes[2].flip = 9 * packetSize // the others are good there
			}
			c := newCluster(t, Options{Timeout: 200 * time.Millisecond}, nodes...)
			for _, size := range []int{100, packetSize, 10 * packetSize, len(data)} {
				r := c.client.NewReader(c)
				got, err := readAll(t, r, len(data), size)
				r.Close()
				if err != nil || !bytes.Equal(got, data) {
					t.Fatalf("pieces of %d: %d bytes, %v", size, len(got), err)
				}
			}
			if name == "damaged" && (len(c.damages) == 0 || c.damages[0].Block != 77 || c.damages[0].Offset/chunk != 5*packetSize/chunk) {
				t.Errorf("the damages are %+v", c.damages)
			}
			nodes[0].mu.Lock()
			defer nodes[0].mu.Unlock()
			if name == "silent" && nodes[0].requests > 1 {
				t.Errorf("the silent DataNode was asked %d times", nodes[0].requests)
			}
		})
	}
}

// TestReports tells of damage only where a second read of the replica finds it, and another replica has good bytes or there is
// none.
func TestReports(t *testing.T) {
	data := pattern(4 * packetSize)
	const at = 2*packetSize + 10
	spoiled := func(once bool) *fakeNode {
		n := newFakeNode(data)
		n.flip, n.once = at, once
		return n
	}
	for name, test := range map[string]struct {
		nodes   []*fakeNode
		good    bool // the bytes are read
		reports int
	}{
		"on the way":          {[]*fakeNode{spoiled(true), newFakeNode(data)}, true, 0},
		"on the way, alone":   {[]*fakeNode{spoiled(true)}, true, 0},
		"one":                 {[]*fakeNode{spoiled(false), newFakeNode(data)}, true, 1},
		"one, and on the way": {[]*fakeNode{spoiled(false), spoiled(true)}, true, 1},
		"all, as a host sees": {[]*fakeNode{spoiled(false), spoiled(false)}, false, 0},
		"the only one":        {[]*fakeNode{spoiled(false)}, false, 1},
	} {
		c := newCluster(t, Options{}, test.nodes...)
		r := c.client.NewReader(c)
		got, err := readAll(t, r, len(data), 100)
		if !bytes.HasPrefix(data, got) || (err == nil) != test.good {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		_, _ = r.ReadAt(t.Context(), make([]byte, 10), 3*packetSize) // good bytes elsewhere do not count
		r.Close()
		if len(c.damages) != test.reports || test.reports > 0 && c.damages[0].Offset != at/chunk*chunk {
			t.Errorf("%s: the reports are %+v, want %d", name, c.damages, test.reports)
		}
	}
}

// TestReaderNoReplica checks the error when all replicas are at fault.
func TestReaderNoReplica(t *testing.T) {
	data := pattern(4 * packetSize)
	nodes := []*fakeNode{newFakeNode(data), newFakeNode(data)}
	nodes[0].flip, nodes[1].cut = 2*packetSize, 10
	c := newCluster(t, Options{}, nodes...)
	r := c.client.NewReader(c)
	defer r.Close()
	got, err := readAll(t, r, len(data), len(data))
	var none *ReplicasError
	if !errors.As(err, &none) || len(none.Damaged) != 1 || len(none.Lost) != 1 || none.Lost[0] != c.names[1] {
		t.Errorf("error %v", err)
	}
	if !bytes.HasPrefix(data, got) {
		t.Error("wrong bytes")
	}
}

// TestReaderAtRandom jumps about, with and without hedging.
func TestReaderAtRandom(t *testing.T) {
	data := pattern(200 * packetSize)
	for _, hedge := range []bool{false, true} {
		c := newCluster(t, Options{Hedge: hedge}, newFakeNode(data), newFakeNode(data))
		r := c.client.NewReader(c)
		at, seed := 0, rand.New(rand.NewPCG(1, 2))
		for range 300 {
			if seed.IntN(3) == 0 {
				at = seed.IntN(len(data))
			} else {
				at = min(len(data)-1, at+seed.IntN(70_000))
			}
			p := make([]byte, min(len(data)-at, 1+seed.IntN(50_000)))
			n, err := r.ReadAt(t.Context(), p, int64(at))
			if err != nil || n != len(p) || !bytes.Equal(p, data[at:at+n]) {
				t.Fatalf("%d bytes at %d: %d, %v", len(p), at, n, err)
			}
			at = min(at+n, len(data)-1)
		}
		r.Close()
	}
}

// TestSequentialReads are one request after the first.
func TestSequentialReads(t *testing.T) {
	node := newFakeNode(pattern(100 * packetSize))
	c := newCluster(t, Options{}, node)
	r := c.client.NewReader(c)
	defer r.Close()
	if got, err := readAll(t, r, len(node.data), packetSize); err != nil || !bytes.Equal(got, node.data) {
		t.Fatal(err)
	}
	if node.requests != 2 || node.conns != 1 {
		t.Errorf("%d requests over %d connections", node.requests, node.conns)
	}
}

// TestHedge reads although the first DataNode is silent, long before its time is over.
func TestHedge(t *testing.T) {
	data := pattern(packetSize)
	nodes := []*fakeNode{newFakeNode(data), newFakeNode(data)}
	nodes[0].silent = true
	c := newCluster(t, Options{Hedge: true, Timeout: time.Hour}, nodes...)
	for range 100 {
		r := c.client.NewReader(c)
		got, err := readAll(t, r, len(data), len(data))
		r.Close()
		if err != nil || !bytes.Equal(got, data) {
			t.Fatal(err)
		}
	}
	nodes[0].mu.Lock()
	defer nodes[0].mu.Unlock()
	if nodes[0].requests > 10 {
		t.Errorf("the silent DataNode was asked %d times", nodes[0].requests)
	}
}

// TestHedgesAreFew checks that reads which all are slow are not all repeated.
func TestHedgesAreFew(t *testing.T) {
	var h hedges
	allowed := 0
	for i := range 1000 {
		h.wait(1)
		if h.allow(i%2 == 0) {
			allowed++
		}
	}
	if allowed > maxCredits+1000*earned+1 || allowed < maxCredits {
		t.Errorf("%d of 1000 reads were repeated", allowed)
	}
}

// TestFailuresAge forgets after a minute that a DataNode failed, in a read or in a pipeline.
func TestFailuresAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClient(Options{})
		node := fakeInfo(1)
		c.suspect("127.0.0.1:1")
		c.noteDead([]*hdfsproto.DatanodeInfo{node})
		time.Sleep(suspicion - time.Second)
		c.note([]*hdfsproto.DatanodeInfo{node}, false) // the NameNode still names it
		if !c.suspected("127.0.0.1:1") || len(c.Dead()) != 1 {
			t.Error("a failure is forgotten too early")
		}
		time.Sleep(2 * time.Second)
		if c.suspected("127.0.0.1:1") || len(c.Dead()) != 0 || c.Alive(nil) != 1 {
			t.Error("a failure is not forgotten")
		}
	})
}

// TestSlowBeforeSilent asks those that were only slow before one that never answers.
func TestSlowBeforeSilent(t *testing.T) {
	data := pattern(packetSize)
	nodes := []*fakeNode{newFakeNode(data), newFakeNode(data), newFakeNode(data)}
	nodes[0].silent = true
	c := newCluster(t, Options{Timeout: time.Hour}, nodes...)
	r := c.client.NewReader(c)
	defer r.Close()
	for _, fast := range []int{1, 2} {
		c.client.trust(c.names[fast])
		for _, name := range c.names {
			c.client.suspect(name)
		}
		block, err := c.Block(t.Context(), 0, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.order(block); got[0] != c.names[fast] {
			t.Errorf("the order is %v, want %s first", got, c.names[fast])
		}
		if got, err := readAll(t, r, len(data), len(data)); err != nil || !bytes.Equal(got, data) {
			t.Fatal(err)
		}
	}
}

// TestReadCanceled ends a read of a silent DataNode with its context.
func TestReadCanceled(t *testing.T) {
	node := newFakeNode(pattern(packetSize))
	node.silent = true
	for _, hedge := range []bool{false, true} {
		c := newCluster(t, Options{Hedge: hedge, Timeout: time.Hour}, node)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		r := c.client.NewReader(c)
		_, err := r.ReadAt(ctx, make([]byte, 10), 0)
		cancel()
		r.Close()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	}
}
