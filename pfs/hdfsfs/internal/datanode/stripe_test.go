package datanode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

// stripedNodes are the DataNodes of a block group, one for each unit, and their NameNode.
type stripedNodes struct {
	units      []*fakePipeline
	generation uint64
	left       []int // the units of which the NameNode was told
}

func (n *stripedNodes) located() *hdfsproto.LocatedBlock {
	b := &hdfsproto.LocatedBlock{Offset: proto.Uint64(0), Corrupt: proto.Bool(false), Token: noToken(), Block: &hdfsproto.ExtendedBlock{
		PoolId: proto.String("pool"), BlockId: proto.Uint64(1 << 20), GenerationStamp: &n.generation, NumBytes: proto.Uint64(0),
	}}
	for i := range n.units {
		b.Locations = append(b.Locations, fakeInfo(1+i))
		b.Indices = append(b.Indices, byte(i))
	}
	return b
}

// Renew implements NameNode.
func (n *stripedNodes) Renew(context.Context, *hdfsproto.ExtendedBlock) (*hdfsproto.LocatedBlock, error) {
	n.generation++
	for _, u := range n.units {
		u.mu.Lock()
		u.generation = n.generation
		u.mu.Unlock()
	}
	return proto.CloneOf(n.located()), nil
}

// Replace implements NameNode.
func (n *stripedNodes) Replace(_ context.Context, _, _ *hdfsproto.ExtendedBlock, nodes []*hdfsproto.DatanodeInfo, _ []string) error {
	n.left = nil
	for i, node := range nodes {
		switch node.GetId().GetUuid() {
		case strconv.Itoa(1 + i):
			n.left = append(n.left, i)
		case "null":
		default:
			return fmt.Errorf("unit %d is on %v", i, node)
		}
	}
	return nil
}

// Another implements NameNode.
func (n *stripedNodes) Another(context.Context, *hdfsproto.ExtendedBlock, []*hdfsproto.DatanodeInfo, []string, []*hdfsproto.DatanodeInfo) (*hdfsproto.LocatedBlock, error) {
	return nil, errors.New("a block group gets no other DataNode")
}

// Address implements NameNode.
func (n *stripedNodes) Address(node *hdfsproto.DatanodeID) string { return Address(node, false) }

// TestStripedBlock writes block groups of many lengths, while the DataNodes of units fail, and restores the lost units from those that
// are left.
func TestStripedBlock(t *testing.T) {
	const cell = 1024
	for _, l := range []layout{{codec: "xor", data: 2, parity: 1, cell: cell}, {codec: "rs", data: 3, parity: 2, cell: cell}, {codec: "rs", data: 6, parity: 3, cell: cell}} {
		policy := &hdfsproto.ErasureCodingPolicy{Id: proto.Uint32(100), CellSize: proto.Uint32(cell), Schema: &hdfsproto.ErasureCodingSchema{
			Codec: &l.codec, DataUnits: proto.Uint32(uint32(l.data)), ParityUnits: proto.Uint32(uint32(l.parity)),
		}}
		stripe := l.data * cell
		for _, length := range []int{1, cell - 1, cell, cell + 1, stripe - 1, stripe, stripe + 1, 3*stripe + cell + 77, 300*stripe + 5} {
			for lost := range l.parity + 2 {
				t.Run(fmt.Sprintf("%s-%d-%d of %d without %d", l.codec, l.data, l.parity, length, lost), func(t *testing.T) {
					l := l
					l.length = int64(length)
					l.want(t, policy, lost)
				})
			}
		}
	}
}

// want writes a block group whose last units but one are lost, and compares it with what is stored.
func (l layout) want(t *testing.T, policy *hdfsproto.ErasureCodingPolicy, lost int) {
	n := &stripedNodes{}
	for i := range l.data + l.parity {
		fails := i >= l.data+l.parity-1-lost && i < l.data+l.parity-1
		n.units = append(n.units, &fakePipeline{t: t, fault: func(_ hdfsproto.Stage, packet int) fault {
			if fails && packet == i%2 {
				return fault{"end", 0}
			}
			return fault{}
		}})
	}
	c := NewClient(Options{Timeout: 30 * time.Second, Dial: func(_ context.Context, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		i, err := strconv.Atoi(port)
		if err != nil {
			return nil, err
		}
		ours, theirs, err := connected()
		if err == nil {
			go n.units[i-1].serve(theirs)
		}
		return ours, err
	}})
	defer c.Close()
	data, sums := pattern(int(l.length)), new(Sums)
	s, err := c.CreateStriped(n, policy, proto.CloneOf(n.located()), BlockOptions{Size: 1 << 30}, sums)
	if err != nil {
		t.Fatal(err)
	}
	for rest := data; err == nil && len(rest) > 0; rest = rest[min(1_777, len(rest)):] {
		err = s.Write(rest[:min(1_777, len(rest))])
	}
	var done *hdfsproto.ExtendedBlock
	if err == nil {
		done, err = s.Close()
	}
	var gone []int // units with bytes that were lost
	for i := range n.units {
		if i >= l.data+l.parity-1-lost && i < l.data+l.parity-1 && l.unitLength(i) > 0 {
			gone = append(gone, i)
		}
	}
	if len(gone) > l.parity {
		var failure *LostError
		if s.Abort(); !errors.As(err, &failure) {
			t.Errorf("the error is %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if done.GetNumBytes() != uint64(l.length) || done.GetGenerationStamp() != n.generation || (n.generation > 0) != (len(gone) > 0) {
		t.Errorf("the block group is %v after generation %d", done, n.generation)
	}
	for _, i := range gone {
		if slices.Contains(n.left, i) {
			t.Errorf("the NameNode has the lost unit %d of %v", i, n.left)
		}
	}
	longest := l.unitLength(l.data) // of a unit of parity
	for wanted := range l.data {
		units, have := make([][]byte, len(n.units)), 0
		for i, u := range n.units {
			if i == wanted || slices.Contains(gone, i) || have == l.data {
				continue
			}
			units[i], have = append(slices.Clone(u.data), make([]byte, longest-int64(len(u.data)))...), have+1
		}
		got := n.units[wanted].data
		if slices.Contains(gone, wanted) {
			if got, err = l.rebuild(units, wanted); err != nil {
				t.Fatal(err)
			}
		} else if len(gone) < l.parity {
			if again, err := l.rebuild(units, wanted); err != nil || !bytes.Equal(again[:len(got)], got) {
				t.Errorf("unit %d is not what the others say: %v", wanted, err)
			}
		}
		l.scatter(wanted, 0, l.unitLength(wanted), func(off, k int64) {
			at := l.unitOffset(wanted, off)
			if !bytes.Equal(data[off:off+k], got[at:at+k]) {
				t.Errorf("unit %d differs at byte %d of the group", wanted, off)
			}
		})
	}
}
