package datanode

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/klauspost/reedsolomon"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

// TestRebuild restores units from the parity that RSRawEncoder of Hadoop 3.4.2 computed.
func TestRebuild(t *testing.T) {
	for _, c := range []struct {
		data   int
		parity []string
	}{
		{3, []string{"db285f394ed15533", "9ae3a49c2dabeed6"}},
		{6, []string{"127eb5a56ffa1909", "45836063ba079660", "495c1c224a9e6913"}},
		{10, []string{"d65309429c5a9f8f", "680ee8ea7da17ed4", "6c4254e9c748c7e9", "df758583160066ff"}},
	} {
		l := layout{codec: "rs", data: c.data, parity: len(c.parity)}
		var all [][]byte
		for i := range c.data {
			unit := make([]byte, 8)
			for j := range unit {
				unit[j] = byte(i*31 + j*7 + 1)
			}
			all = append(all, unit)
		}
		for _, text := range c.parity {
			unit, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, unit)
		}
		for wanted := range c.data {
			for other := range all { // as many as there is parity are missing
				units := make([][]byte, len(all))
				copy(units, all)
				units[wanted] = nil
				for i := range len(c.parity) - 1 {
					units[(other+i)%len(all)] = nil
				}
				for i, have := 0, 0; i < len(units); i++ {
					if units[i] == nil {
						continue
					}
					if have++; have > c.data {
						units[i] = nil
					}
				}
				got, err := l.rebuild(units, wanted)
				if err != nil || !bytes.Equal(got, all[wanted]) {
					t.Fatalf("%d+%d: unit %d is % x, %v", c.data, len(c.parity), wanted, got, err)
				}
			}
		}
	}
	if _, err := (layout{codec: "rs-legacy"}).rebuild(nil, 0); err == nil {
		t.Error("an unknown code is used")
	}
}

// stripedCluster is a cluster with an erasure-coded file of one group.
type stripedCluster struct {
	*cluster
	policy *hdfsproto.ErasureCodingPolicy
	length int
}

func (c *stripedCluster) Policy() *hdfsproto.ErasureCodingPolicy { return c.policy }

func (c *stripedCluster) Block(ctx context.Context, off int64, fresh bool) (*hdfsproto.LocatedBlock, error) {
	b, err := c.cluster.Block(ctx, off, fresh)
	b.Block.NumBytes = proto.Uint64(uint64(c.length))
	for i := range b.Locations {
		b.Indices = append(b.Indices, byte(i))
		b.Tokens = append(b.Tokens, noToken())
	}
	return b, err
}

// newStriped distributes data over DataNodes.
func newStriped(t *testing.T, data []byte, codec string, units, parity int, cell int) *stripedCluster {
	t.Helper()
	policy := &hdfsproto.ErasureCodingPolicy{
		Id: proto.Uint32(1), CellSize: proto.Uint32(uint32(cell)),
		Schema: &hdfsproto.ErasureCodingSchema{Codec: &codec, DataUnits: proto.Uint32(uint32(units)), ParityUnits: proto.Uint32(uint32(parity))},
	}
	l := layout{codec, units, parity, int64(cell), int64(len(data))}
	shards := make([][]byte, units+parity)
	longest := l.unitLength(units)
	for u := range shards {
		shards[u] = make([]byte, longest)
		if u < units {
			at := 0
			l.scatter(u, 0, l.unitLength(u), func(off, n int64) { at += copy(shards[u][at:], data[off:off+n]) })
		}
	}
	if codec == "xor" {
		for _, s := range shards[:units] {
			for i := range s {
				shards[units][i] ^= s[i]
			}
		}
	} else {
		code, err := reedsolomon.New(units, parity, reedsolomon.WithCauchyMatrix())
		if err != nil {
			t.Fatal(err)
		}
		if err := code.Encode(shards); err != nil {
			t.Fatal(err)
		}
	}
	var nodes []*fakeNode
	for u, s := range shards {
		nodes = append(nodes, newFakeNode(s[:l.unitLength(u)]))
	}
	return &stripedCluster{newCluster(t, Options{Timeout: 200 * time.Millisecond, Hedge: true}, nodes...), policy, len(data)}
}

// TestStriped reads files of several lengths, with all units and with as few as are needed.
func TestStriped(t *testing.T) {
	const cell = 2 * chunk
	for _, length := range []int{1, cell - 1, cell, cell + 1, 3 * cell, 6*cell + 100, 20*cell + 7} {
		for _, code := range []struct {
			codec        string
			data, parity int
		}{{"xor", 2, 1}, {"rs", 3, 2}} {
			for faults := range 4 {
				data := pattern(length)
				c := newStriped(t, data, code.codec, code.data, code.parity, cell)
				for i := range code.parity {
					n := c.nodes[i]
					switch faults {
					case 1:
						n.refuse = hdfsproto.Status_ERROR
					case 2:
						n.flip = min(cell+100, len(n.data)-1)
					case 3:
						n.cut = 700
					}
				}
				for _, size := range []int{100, cell, 7 * cell, length} {
					r := c.client.NewReader(c)
					got, err := readAll(t, r, length, size)
					r.Close()
					if err != nil || !bytes.Equal(got, data) {
						t.Fatalf("%s, %d bytes in pieces of %d, fault %d: %d bytes, %v", code.codec, length, size, faults, len(got), err)
					}
				}
			}
		}
	}
}

// TestStripedAtRandom jumps about in a file one of whose units is damaged in many places.
func TestStripedAtRandom(t *testing.T) {
	data := pattern(100 * chunk * 6)
	c := newStriped(t, data, "rs", 3, 2, 2*chunk)
	c.nodes[1].flip = 5000
	r := c.client.NewReader(c)
	defer r.Close()
	seed := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		at := seed.IntN(len(data))
		p := make([]byte, min(len(data)-at, 1+seed.IntN(20_000)))
		if _, err := r.ReadAt(t.Context(), p, int64(at)); err != nil || !bytes.Equal(p, data[at:at+len(p)]) {
			t.Fatalf("%d bytes at %d: %v", len(p), at, err)
		}
	}
}

// TestStripedTooManyLost returns no wrong bytes.
func TestStripedTooManyLost(t *testing.T) {
	data := pattern(50_000)
	c := newStriped(t, data, "rs", 3, 2, 2*chunk)
	c.nodes[0].flip, c.nodes[1].cut, c.nodes[4].refuse = 0, 10, hdfsproto.Status_ERROR
	r := c.client.NewReader(c)
	defer r.Close()
	got, err := readAll(t, r, len(data), len(data))
	var none *ReplicasError
	if !errors.As(err, &none) || len(none.Damaged) == 0 || len(got) > 0 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
