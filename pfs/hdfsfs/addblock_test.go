package hdfsfs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"
)

// fakeCluster is a NameNode and its DataNodes. The field names tells how many DataNodes the NameNode names for each block. Every
// DataNode accepts all blocks, except the one with port 1, which is dead.
type fakeCluster struct {
	t *testing.T

	mu        sync.Mutex
	names     []int // DataNodes of the next blocks; the last one stays
	first     int   // port of the first one
	excluded  []int // DataNodes, in each request for a block
	abandoned int
}

// open returns a file system on the cluster.
func (c *fakeCluster) open() *FS {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(c.t, err)
	c.t.Cleanup(func() { l.Close() })
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			go c.serve(conn)
		}
	}()
	all := newCluster(Options{NameNodes: []string{l.Addr().String()}, Root: "/", User: "user", Timeout: 10 * time.Second})
	all.nodes = datanode.NewClient(datanode.Options{Timeout: 10 * time.Second, Dial: func(_ context.Context, address string) (net.Conn, error) {
		if address == "127.0.0.1:1" {
			return nil, errors.New("it is dead")
		}
		ours, theirs := net.Pipe()
		go accept(theirs)
		return ours, nil
	}})
	all.service = all.newFS(acting{user: "user"}, all.newClient("user"))
	c.t.Cleanup(func() { all.service.Close() })
	return all.service
}

// accept accepts a block on a DataNode.
func accept(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	if _, err := in.Discard(3); err == nil && protodelim.UnmarshalFrom(in, new(hdfsproto.OpWriteBlock)) == nil {
		_, _ = protodelim.MarshalTo(conn, &hdfsproto.BlockOpResponse{Status: hdfsproto.Status_SUCCESS.Enum()})
		_, _ = io.Copy(io.Discard, in)
	}
}

// serve serves a connection to the NameNode.
func (c *fakeCluster) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	next := func() *bytes.Reader {
		var n uint32
		if binary.Read(in, binary.BigEndian, &n) != nil {
			return nil
		}
		frame := make([]byte, n)
		_, _ = io.ReadFull(in, frame)
		return bytes.NewReader(frame)
	}
	send := func(id uint32, m proto.Message) {
		var b bytes.Buffer
		_, err := protodelim.MarshalTo(&b, &hdfsproto.ResponseHeader{CallId: &id, Status: hdfsproto.ResponseHeader_SUCCESS.Enum()})
		must(c.t, err)
		_, err = protodelim.MarshalTo(&b, m)
		must(c.t, err)
		_, _ = conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(b.Len())), b.Bytes()...))
	}
	_, _ = in.Discard(7) // the preamble
	next()
	send(0xffffffdf, &hdfsproto.Sasl{State: hdfsproto.Sasl_SUCCESS.Enum()})
	next()
	for r := next(); r != nil; r = next() {
		header, call := new(hdfsproto.RequestHeader), new(hdfsproto.CallHeader)
		must(c.t, protodelim.UnmarshalFrom(r, header))
		must(c.t, protodelim.UnmarshalFrom(r, call))
		var m proto.Message = new(hdfsproto.AbandonBlockResponse)
		switch call.GetMethod() {
		case "addBlock":
			req := new(hdfsproto.AddBlockRequest)
			must(c.t, protodelim.UnmarshalFrom(r, req))
			m = c.add(req)
		case "abandonBlock":
			c.mu.Lock()
			c.abandoned++
			c.mu.Unlock()
		}
		send(uint32(header.GetCallId()), m)
	}
}

// add names the next block.
func (c *fakeCluster) add(req *hdfsproto.AddBlockRequest) *hdfsproto.AddBlockResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.excluded = append(c.excluded, len(req.Excluded))
	b := &hdfsproto.LocatedBlock{Offset: new(uint64), Corrupt: new(bool), Token: &hdfsproto.Token{Identifier: []byte{}, Password: []byte{}, Kind: new(string), Service: new(string)},
		Block: &hdfsproto.ExtendedBlock{PoolId: proto.String("pool"), BlockId: proto.Uint64(16), GenerationStamp: proto.Uint64(1), NumBytes: new(uint64)}}
	port := c.first
	if len(req.Excluded) > 0 {
		port = 2
	}
	for i := range c.names[0] {
		b.Locations = append(b.Locations, &hdfsproto.DatanodeInfo{Id: &hdfsproto.DatanodeID{
			IpAddr: proto.String("127.0.0.1"), HostName: proto.String("dn"), Uuid: proto.String(strconv.Itoa(port + i)),
			TransferPort: proto.Uint32(uint32(port + i)), InfoPort: new(uint32), IpcPort: new(uint32),
		}})
		b.Indices = append(b.Indices, byte(i))
	}
	if len(c.names) > 1 {
		c.names = c.names[1:]
	}
	return &hdfsproto.AddBlockResponse{Block: b}
}

// TestBusyDataNodes has a NameNode name one DataNode because the others are too busy. It is asked again for a while. If one has failed,
// it may be back, and a block goes to it at once; a block group first waits.
func TestBusyDataNodes(t *testing.T) {
	xor := newCoding(&hdfsproto.ErasureCodingPolicy{Name: proto.String("XOR-2-1-1024k"), CellSize: proto.Uint32(small), Id: proto.Uint32(4),
		Schema: &hdfsproto.ErasureCodingSchema{Codec: proto.String("xor"), DataUnits: proto.Uint32(2), ParityUnits: proto.Uint32(1)}})
	for name, want := range map[string]struct {
		names    []int
		coding   coding
		dead     bool
		excluded []int // in each request
		least    time.Duration
	}{
		"soon free":                 {names: []int{1, 1, 1, 3}, excluded: []int{0, 0, 0, 0}, least: 150 * time.Millisecond},
		"never free":                {names: []int{1}, excluded: make([]int, maxFew+1), least: 1900 * time.Millisecond},
		"one is dead":               {names: []int{1, 3}, dead: true, excluded: []int{1, 0}},
		"one is dead, block group":  {names: []int{1, 1, 3}, coding: xor, dead: true, excluded: []int{1, 1, 1}},
		"it is back, a block group": {names: []int{1, 1, 1, 1, 1, 1, 1, 3}, coding: xor, dead: true, excluded: []int{1, 1, 1, 1, 1, 1, 1, 0}, least: 1900 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &fakeCluster{t: t, names: []int{3}, first: 2}
			if want.dead {
				c.first = 1
			}
			f := c.open()
			before := &attempt{fs: f, path: "/before", block: small, replicas: 3, sums: new(datanode.Sums)}
			must(t, before.nextBlock()) // from now on DataNodes are known, and which of them is dead
			before.now.Abort()
			c.mu.Lock()
			c.names, c.excluded, c.abandoned, c.first = want.names, nil, 0, 2
			c.mu.Unlock()
			a := &attempt{fs: f, path: "/f", block: small * want.coding.spread(), replicas: 3, coding: want.coding, sums: new(datanode.Sums)}
			begin := time.Now()
			must(t, a.nextBlock())
			took := time.Since(begin)
			a.now.Abort()
			c.mu.Lock()
			defer c.mu.Unlock()
			if !slices.Equal(c.excluded, want.excluded) || c.abandoned != len(want.excluded)-1 {
				t.Errorf("the NameNode was asked without %v DataNodes, want %v; %d blocks are abandoned", c.excluded, want.excluded, c.abandoned)
			}
			if took < want.least {
				t.Errorf("it took %v, want %v", took, want.least)
			}
		})
	}
}
