package datanode

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

// fakePipeline is DataNodes with one block, and its NameNode. The node that is asked answers for those after it.
type fakePipeline struct {
	t *testing.T

	mu         sync.Mutex
	data       []byte   // of the replicas
	synced     bool     // the last packet asked for it
	generation uint64   // the last one that was given out
	replaced   []uint64 // generations that the NameNode was told of
	built      []hdfsproto.Stage
	nodes      int   // of the last pipeline
	spare      int   // DataNodes that the NameNode may add
	copied     int   // transfers
	copy       int64 // bytes of the last copy
	volatile   bool  // the copy was not written to the disk
	down       int   // the port of a DataNode that refuses connections

	fault func(stage hdfsproto.Stage, packet int) fault // of the pipelines, -1 is the request
	probe func()                                        // called instead of an answer to a probe
}

// fault is what a pipeline does instead of acknowledging a packet.
type fault struct {
	what string
	node int
}

func fakeInfo(port int) *hdfsproto.DatanodeInfo {
	return &hdfsproto.DatanodeInfo{Id: &hdfsproto.DatanodeID{
		IpAddr: proto.String("127.0.0.1"), HostName: proto.String("dn"), Uuid: proto.String(strconv.Itoa(port)),
		TransferPort: proto.Uint32(uint32(port)), InfoPort: proto.Uint32(0), IpcPort: proto.Uint32(0),
	}}
}

// located is the block on n DataNodes.
func (p *fakePipeline) located(first, n int) *hdfsproto.LocatedBlock {
	b := &hdfsproto.LocatedBlock{Offset: proto.Uint64(0), Corrupt: proto.Bool(false), Token: noToken(), Block: &hdfsproto.ExtendedBlock{
		PoolId: proto.String("pool"), BlockId: proto.Uint64(77), GenerationStamp: proto.Uint64(p.generation), NumBytes: proto.Uint64(uint64(len(p.data))),
	}}
	for i := range n {
		b.Locations = append(b.Locations, fakeInfo(first+i))
	}
	return b
}

// Renew implements NameNode.
func (p *fakePipeline) Renew(context.Context, *hdfsproto.ExtendedBlock) (*hdfsproto.LocatedBlock, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.generation++
	return p.located(0, 0), nil
}

// Replace implements NameNode.
func (p *fakePipeline) Replace(_ context.Context, block, fresh *hdfsproto.ExtendedBlock, nodes []*hdfsproto.DatanodeInfo, _ []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if fresh.GetGenerationStamp() != p.generation || block.GetGenerationStamp() >= fresh.GetGenerationStamp() || len(nodes) != p.nodes {
		p.t.Errorf("generation %d after %d on %d DataNodes, want %d on %d", fresh.GetGenerationStamp(), block.GetGenerationStamp(), len(nodes), p.generation, p.nodes)
	}
	p.replaced = append(p.replaced, fresh.GetGenerationStamp())
	return nil
}

// Another implements NameNode.
func (p *fakePipeline) Another(_ context.Context, _ *hdfsproto.ExtendedBlock, nodes []*hdfsproto.DatanodeInfo, _ []string, excluded []*hdfsproto.DatanodeInfo) (*hdfsproto.LocatedBlock, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spare == 0 {
		return nil, errors.New("there is no other")
	}
	p.spare--
	b := p.located(0, 0)
	b.Locations = append(slices.Clone(nodes), fakeInfo(50+p.spare))
	return b, nil
}

// Address implements NameNode.
func (p *fakePipeline) Address(node *hdfsproto.DatanodeID) string { return Address(node, false) }

// client returns a client of the DataNodes.
func (p *fakePipeline) client(timeout time.Duration) *Client {
	c := NewClient(Options{Timeout: timeout, Dial: func(_ context.Context, address string) (net.Conn, error) {
		p.mu.Lock()
		down := Address(fakeInfo(p.down).GetId(), false)
		p.mu.Unlock()
		if address == down {
			return nil, syscall.ECONNREFUSED
		}
		ours, theirs, err := connected()
		if err == nil {
			go p.serve(theirs)
		}
		return ours, err
	}})
	p.t.Cleanup(c.Close)
	return c
}

func (p *fakePipeline) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	var op [3]byte
	if _, err := io.ReadFull(in, op[:]); err != nil {
		return
	}
	switch op[2] {
	case opReadBlock: // a probe
		if p.probe != nil {
			p.probe()
			return
		}
		answer(conn, &hdfsproto.BlockOpResponse{Status: hdfsproto.Status_ERROR.Enum()})
	case opTransferBlock:
		p.mu.Lock()
		p.copied++
		p.copy, p.volatile = int64(len(p.data)), true
		p.mu.Unlock()
		answer(conn, &hdfsproto.BlockOpResponse{Status: hdfsproto.Status_SUCCESS.Enum()})
	case opWriteBlock:
		var req hdfsproto.OpWriteBlock
		if readMessage(in, &req) == nil {
			p.write(conn, in, &req)
		}
	}
}

func answer(conn net.Conn, m proto.Message) {
	b, err := appendMessage(nil, m)
	if err == nil {
		_, _ = conn.Write(b)
	}
}

// write serves a request to write.
func (p *fakePipeline) write(conn net.Conn, in *bufio.Reader, req *hdfsproto.OpWriteBlock) {
	stage := req.GetStage()
	p.mu.Lock()
	p.built, p.nodes = append(p.built, stage), int(req.GetPipelineSize())
	n := p.nodes
	p.synced = false
	switch stage {
	case hdfsproto.Stage_PIPELINE_SETUP_STREAMING_RECOVERY, hdfsproto.Stage_PIPELINE_CLOSE_RECOVERY, hdfsproto.Stage_PIPELINE_SETUP_APPEND_RECOVERY:
		whole := stage == hdfsproto.Stage_PIPELINE_SETUP_APPEND_RECOVERY
		if req.GetMinReceived() > uint64(len(p.data)) || whole && req.GetMinReceived() < uint64(len(p.data)) || req.GetMaxReceived() < req.GetMinReceived() || req.GetGenerationStamp() != p.generation {
			p.t.Errorf("a pipeline of %d to %d bytes and generation %d, there are %d and %d", req.GetMinReceived(), req.GetMaxReceived(), req.GetGenerationStamp(), len(p.data), p.generation)
		}
		p.data = p.data[:req.GetMinReceived()]
	}
	p.mu.Unlock()
	if f := p.fault(stage, -1); f.what != "" {
		bad := req.GetTargets()[f.node-1].GetId()
		answer(conn, &hdfsproto.BlockOpResponse{Status: hdfsproto.Status_ERROR.Enum(), FirstBadLink: proto.String(bad.GetIpAddr() + ":" + strconv.Itoa(int(bad.GetTransferPort())))})
		return
	}
	answer(conn, &hdfsproto.BlockOpResponse{Status: hdfsproto.Status_SUCCESS.Enum()})
	for i := 0; stage != hdfsproto.Stage_PIPELINE_CLOSE_RECOVERY; i++ {
		h, err := p.packet(in)
		if err != nil {
			return
		}
		f := p.fault(stage, i)
		replies := make([]hdfsproto.Status, n)
		sequence := h.GetSequence()
		switch f.what {
		case "error":
			replies[f.node] = hdfsproto.Status_ERROR
		case "restart":
			replies[f.node], sequence = hdfsproto.Status_OOB_RESTART, messageSequence
		case "lie":
			sequence++
		case "short":
			replies = replies[1:]
		case "end":
			return
		case "silence":
			_, _ = io.Copy(io.Discard, in)
			return
		}
		p.mu.Lock()
		p.synced = h.GetSync()
		if n := int64(h.GetLength()); p.synced && (n == 0 || h.GetOffset()+n > p.copy) {
			p.volatile = false // as DataNodes do it
		}
		p.mu.Unlock()
		answer(conn, &hdfsproto.PipelineAck{Sequence: &sequence, Replies: replies})
		if f.what != "" {
			_, _ = io.Copy(io.Discard, in)
			return
		}
	}
}

// packet receives a packet and stores it.
func (p *fakePipeline) packet(in *bufio.Reader) (*hdfsproto.PacketHeader, error) {
	var start [lengths]byte
	if _, err := io.ReadFull(in, start[:]); err != nil {
		return nil, err
	}
	head := make([]byte, binary.BigEndian.Uint16(start[4:]))
	body := make([]byte, binary.BigEndian.Uint32(start[:])-4)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(in, body); err != nil {
		return nil, err
	}
	h := new(hdfsproto.PacketHeader)
	if err := proto.Unmarshal(head, h); err != nil {
		return nil, err
	}
	sums, data := body[:len(body)-int(h.GetLength())], body[len(body)-int(h.GetLength()):]
	p.mu.Lock()
	defer p.mu.Unlock()
	if (checksums{castagnoli, Chunk}).verify(sums, data) >= 0 || h.GetOffset() > int64(len(p.data)) || h.GetOffset()%Chunk != 0 && len(data) > 0 {
		p.t.Errorf("a packet of %d bytes at %d, there are %d bytes, or its checksums are wrong", len(data), h.GetOffset(), len(p.data))
	}
	p.data = append(p.data[:h.GetOffset()], data...)
	return h, nil
}

// TestBlockRepaired writes a block through pipelines that fail at each packet in each way.
func TestBlockRepaired(t *testing.T) {
	const packets = 5
	data := pattern((packets-1)*packetBytes + 700)
	for _, f := range []fault{{}, {"error", 0}, {"error", 2}, {"restart", 1}, {"lie", 0}, {"short", 0}, {"end", 0}, {"silence", 0}} {
		for at := range packets + 1 {
			if f.what == "silence" && at != 2 {
				continue // it takes time
			}
			t.Run(f.what+" "+strconv.Itoa(f.node)+" at "+strconv.Itoa(at), func(t *testing.T) {
				p := &fakePipeline{t: t, spare: 1}
				var once sync.Once
				p.fault = func(_ hdfsproto.Stage, packet int) (now fault) {
					if packet == at {
						once.Do(func() { now = f })
					}
					return now
				}
				limit := 30 * time.Second
				if f.what == "silence" {
					limit = time.Second
				}
				p.want(limit, data, f.what != "", hdfsproto.Stage_PIPELINE_SETUP_CREATE)
			})
		}
	}
}

// want writes data and compares it with what was stored.
func (p *fakePipeline) want(limit time.Duration, data []byte, repaired bool, first hdfsproto.Stage) {
	p.t.Helper()
	b, err := p.client(limit).Create(p, p.located(1, 3), BlockOptions{Size: 1 << 30, Replicas: 3}, new(Sums))
	if err != nil {
		p.t.Fatal(err)
	}
	for rest := data; len(rest) > 0; rest = rest[min(100_000, len(rest)):] {
		if err := b.Write(rest[:min(100_000, len(rest))]); err != nil {
			p.t.Fatal(err)
		}
	}
	done, err := b.Close()
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !bytes.Equal(p.data, data) || done.GetNumBytes() != uint64(len(data)) || done.GetGenerationStamp() != p.generation {
		p.t.Errorf("%d bytes were stored of %d, generation %d of %d", len(p.data), len(data), done.GetGenerationStamp(), p.generation)
	}
	if p.built[0] != first || repaired != (len(p.built) > 1) || len(p.replaced) != len(p.built)-1 {
		p.t.Errorf("pipelines %v, of which the NameNode knows %v", p.built, p.replaced)
	}
}

// TestBlockLost loses one DataNode after the other. The last but one is replaced, and then no one is left.
func TestBlockLost(t *testing.T) {
	p := &fakePipeline{t: t, spare: 1}
	p.fault = func(_ hdfsproto.Stage, packet int) fault {
		if packet == 0 {
			return fault{"end", 0}
		}
		return fault{}
	}
	b, err := p.client(30*time.Second).Create(p, p.located(1, 3), BlockOptions{Size: 1 << 30, Replicas: 3}, new(Sums))
	if err != nil {
		t.Fatal(err)
	}
	if err = b.Write(pattern(1000)); err == nil {
		_, err = b.Close()
	}
	var lost *LostError
	if !errors.As(err, &lost) {
		t.Errorf("the error is %v", err)
	}
	if p.copied != 1 {
		t.Errorf("%d DataNodes were added", p.copied)
	}
}

// TestBlockRevived loses all DataNodes of a pipeline. Those that were left out before are asked again, because they may still have what
// is acknowledged, but not if they are silent.
func TestBlockRevived(t *testing.T) {
	const packets = 3
	data := pattern(packets * packetBytes)
	for _, test := range []struct {
		what          string
		nodes, builds int
		lost          bool
	}{
		{"end", 2, 3, false}, // the other one is down then
		{"end", 1, 2, false},
		{"error", 1, 2, false},
		{"silence", 1, 1, true},
	} {
		p := &fakePipeline{t: t}
		p.fault = func(stage hdfsproto.Stage, packet int) fault {
			p.mu.Lock()
			defer p.mu.Unlock()
			switch {
			case stage == hdfsproto.Stage_PIPELINE_SETUP_CREATE && packet == 1:
				p.down = 2
				return fault{test.what, 0}
			case stage == hdfsproto.Stage_PIPELINE_SETUP_STREAMING_RECOVERY && packet < 0 && p.nodes == 2:
				return fault{"refused", 1}
			}
			return fault{}
		}
		limit := 30 * time.Second
		if test.lost {
			limit, p.probe = time.Second, func() {}
		}
		b, err := p.client(limit).Create(p, p.located(1, test.nodes), BlockOptions{Size: 1 << 30, Replicas: test.nodes}, new(Sums))
		if err != nil {
			t.Fatal(err)
		}
		if err = b.Write(data); err == nil {
			_, err = b.Close()
		}
		var lost *LostError
		if errors.As(err, &lost) != test.lost || !test.lost && (err != nil || !bytes.Equal(p.data, data)) || len(p.built) != test.builds {
			t.Errorf("%s of %d DataNodes: %d bytes are stored of %d, pipelines %v, %v", test.what, test.nodes, len(p.data), len(data), p.built, err)
		}
	}
}

// TestBlockSourceDown loses the DataNode that is to copy the block to another one: the next one does it, and the new one is not blamed.
func TestBlockSourceDown(t *testing.T) {
	p := &fakePipeline{t: t, spare: 2}
	p.fault = func(stage hdfsproto.Stage, packet int) fault {
		if stage == hdfsproto.Stage_PIPELINE_SETUP_CREATE && packet == 0 {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.down = 1
			return fault{"error", 2}
		}
		return fault{}
	}
	c := p.client(30 * time.Second)
	b, err := c.Create(p, p.located(1, 3), BlockOptions{Size: 1 << 30, Replicas: 4}, new(Sums))
	if err != nil {
		t.Fatal(err)
	}
	if err = b.Write(pattern(1000)); err == nil {
		_, err = b.Close()
	}
	var dead []string
	for _, node := range c.Dead() {
		dead = append(dead, node.GetId().GetUuid())
	}
	slices.Sort(dead)
	if err != nil || p.copied != 1 || p.nodes != 2 || !slices.Equal(dead, []string{"1", "3"}) {
		t.Errorf("%d copies, %d DataNodes at the end, dead are %v, %v", p.copied, p.nodes, dead, err)
	}
}

// TestBlockFirstLink names a DataNode that cannot be reached by the one before it, with an address of IPv6.
func TestBlockFirstLink(t *testing.T) {
	p := &fakePipeline{t: t, fault: func(_ hdfsproto.Stage, packet int) fault {
		if packet < 0 {
			return fault{"refused", 2}
		}
		return fault{}
	}}
	located := p.located(1, 3)
	for _, node := range located.Locations {
		node.Id.IpAddr = proto.String("fd00::1")
	}
	_, err := p.client(30*time.Second).Create(p, located, BlockOptions{Size: 1 << 30, Replicas: 3}, new(Sums))
	var failure *PipelineError
	if !errors.As(err, &failure) || len(failure.Bad) != 1 || failure.Bad[0].GetId().GetUuid() != "3" {
		t.Errorf("the error is %v", err)
	}
}

// TestBlockAppended appends to a block that ends in the middle of a chunk, which is sent again with the bytes that complete it.
func TestBlockAppended(t *testing.T) {
	data := pattern(3 * packetBytes)
	for _, n := range []int{0, 1, Chunk - 1, Chunk, 1000} {
		p := &fakePipeline{t: t, data: slices.Clone(data[:n]), fault: func(hdfsproto.Stage, int) fault { return fault{} }}
		sums := new(Sums)
		b, err := p.client(30*time.Second).Append(p, p.located(1, 3), BlockOptions{Size: 1 << 30, Replicas: 3, Durable: n > 1}, sums, data[n-n%Chunk:n])
		if err != nil {
			t.Fatal(err)
		}
		if err = b.Write(data[n:]); err == nil {
			_, err = b.Close()
		}
		if err != nil || !bytes.Equal(p.data, data) || p.built[0] != hdfsproto.Stage_PIPELINE_SETUP_APPEND || len(p.replaced) != 1 || p.synced != (n > 1) {
			t.Errorf("after %d bytes: %d are stored, %v, pipelines %v, synced %v", n, len(p.data), err, p.built, p.synced)
		}
	}
}

// TestBlockSyncedAfterRepair loses each packet of a durable block once, or its acknowledgement: the last packet of the last pipeline asks
// the DataNodes to write the block to their disks.
func TestBlockSyncedAfterRepair(t *testing.T) {
	const packets = 3
	data := pattern(packets * packetBytes)
	for at := range packets + 1 {
		for _, what := range []string{"end", "error"} {
			p := &fakePipeline{t: t, spare: 1}
			var once sync.Once
			p.fault = func(_ hdfsproto.Stage, packet int) (now fault) {
				if packet == at {
					once.Do(func() { now = fault{what, 1} })
				}
				return now
			}
			b, err := p.client(30*time.Second).Create(p, p.located(1, 3), BlockOptions{Size: 1 << 30, Replicas: 3, Durable: true}, new(Sums))
			if err != nil {
				t.Fatal(err)
			}
			if err = b.Write(data); err == nil {
				_, err = b.Close()
			}
			p.mu.Lock()
			if err != nil || !p.synced || !bytes.Equal(p.data, data) || len(p.built) != 2 || len(p.replaced) != 1 {
				t.Errorf("%s at packet %d: synced %v, %d bytes, pipelines %v, %v", what, at, p.synced, len(p.data), p.built, err)
			}
			p.mu.Unlock()
		}
	}
}

// TestBlockSync syncs in the middle of chunks, at their ends, and where nothing was written since, and loses each packet once, or its
// acknowledgement.
func TestBlockSync(t *testing.T) {
	data := pattern(packetBytes + 2000)
	ends := []int{1, 1, 500, Chunk, Chunk, 2*Chunk + 7, packetBytes - 1, packetBytes + 3, len(data)}
	for at := range len(ends) + 2 {
		for _, what := range []string{"end", "error"} {
			p := &fakePipeline{t: t, spare: 1}
			var once sync.Once
			left := at
			p.fault = func(_ hdfsproto.Stage, packet int) (now fault) {
				p.mu.Lock()
				defer p.mu.Unlock()
				if left--; packet >= 0 && left < 0 {
					once.Do(func() { now = fault{what, 1} })
				}
				return now
			}
			b, err := p.client(30*time.Second).Create(p, p.located(1, 3), BlockOptions{Size: 1 << 30, Replicas: 3}, new(Sums))
			if err != nil {
				t.Fatal(err)
			}
			begin := 0
			for _, end := range ends {
				if err = b.Write(data[begin:end]); err == nil {
					err = b.Sync()
				}
				p.mu.Lock()
				if err != nil || !p.synced || !bytes.Equal(p.data, data[:end]) || b.acked != int64(end) {
					t.Fatalf("%s at packet %d: synced %v, %d bytes of %d, %v", what, at, p.synced, len(p.data), end, err)
				}
				p.mu.Unlock()
				begin = end
			}
			done, err := b.Close()
			if err != nil || done.GetNumBytes() != uint64(len(data)) || !bytes.Equal(p.data, data) || len(p.built) != 2 {
				t.Errorf("%s at packet %d: %d bytes are stored of %d, pipelines %v, %v", what, at, len(p.data), len(data), p.built, err)
			}
			if hash := b.Hash(b.sums.All()); hash != hashOf(data) {
				t.Errorf("%s at packet %d: the checksum is %x", what, at, hash)
			}
		}
	}
}

// TestBlockSlow acknowledges a packet while the DataNode is asked whether it is there, which it does not answer.
func TestBlockSlow(t *testing.T) {
	asked, next := make(chan struct{}), make(chan struct{})
	p := &fakePipeline{t: t}
	p.fault = func(_ hdfsproto.Stage, packet int) fault {
		switch packet {
		case 0:
			<-asked
		case 1:
			close(next)
			time.Sleep(200 * time.Millisecond) // until the answer would be there
		}
		return fault{}
	}
	p.probe = func() {
		close(asked)
		<-next
	}
	b, err := p.client(time.Second).Create(p, p.located(1, 1), BlockOptions{Size: 1 << 30, Replicas: 1}, new(Sums))
	if err != nil {
		t.Fatal(err)
	}
	if err = b.Write(pattern(1000)); err == nil {
		_, err = b.Close()
	}
	if err != nil || len(p.built) != 1 {
		t.Errorf("pipelines %v, %v", p.built, err)
	}
}

// TestBlockCopySynced loses the acknowledgement of a Sync. The DataNode that is added gets a copy with what the packet had, and also
// writes it to its disk.
func TestBlockCopySynced(t *testing.T) {
	p := &fakePipeline{t: t, spare: 1, fault: func(stage hdfsproto.Stage, packet int) fault {
		if stage == hdfsproto.Stage_PIPELINE_SETUP_CREATE && packet == 0 {
			return fault{"end", 0}
		}
		return fault{}
	}}
	b, err := p.client(30*time.Second).Create(p, p.located(1, 3), BlockOptions{Size: 1 << 30, Replicas: 3}, new(Sums))
	if err != nil {
		t.Fatal(err)
	}
	data := pattern(3000)
	for _, part := range [][]byte{data[:1000], data[1000:]} {
		if err = b.Write(part); err == nil {
			err = b.Sync()
		}
		p.mu.Lock()
		if err != nil || p.copied != 1 || !p.synced || p.volatile {
			t.Errorf("%d copies, synced %v, volatile %v, %v", p.copied, p.synced, p.volatile, err)
		}
		p.mu.Unlock()
	}
	if _, err := b.Close(); err != nil || !bytes.Equal(p.data, data) {
		t.Errorf("%d bytes are stored of %d, %v", len(p.data), len(data), err)
	}
}

// TestBlockRefilled loses one DataNode of three. It is replaced if the block was synced before.
func TestBlockRefilled(t *testing.T) {
	for _, synced := range []bool{false, true} {
		p := &fakePipeline{t: t, spare: 1, fault: func(stage hdfsproto.Stage, packet int) fault {
			if stage == hdfsproto.Stage_PIPELINE_SETUP_CREATE && packet == 1 {
				return fault{"error", 1}
			}
			return fault{}
		}}
		b, err := p.client(30*time.Second).Create(p, p.located(1, 3), BlockOptions{Size: 1 << 30, Replicas: 3}, new(Sums))
		if err != nil {
			t.Fatal(err)
		}
		data := pattern(2 * packetBytes)
		if err = b.Write(data[:packetBytes]); err == nil && synced {
			err = b.Sync()
		}
		if err == nil {
			err = b.Write(data[packetBytes:])
		}
		if err == nil {
			_, err = b.Close()
		}
		if err != nil || !bytes.Equal(p.data, data) || (p.copied == 1) != synced || (p.nodes == 3) != synced {
			t.Errorf("synced %v: %d copies, %d DataNodes at the end, %v", synced, p.copied, p.nodes, err)
		}
	}
}

// hashOf is the checksum of a block.
func hashOf(data []byte) [md5.Size]byte { return md5.Sum(sumsOf(data)) }

// TestBlockWindow keeps few bytes of a block whose DataNodes acknowledge nothing.
func TestBlockWindow(t *testing.T) {
	p := &fakePipeline{t: t, fault: func(_ hdfsproto.Stage, packet int) fault {
		if packet >= 0 {
			return fault{"silence", 0}
		}
		return fault{}
	}}
	c := p.client(time.Minute)
	b, err := c.Create(p, p.located(1, 1), BlockOptions{Size: 1 << 30, Replicas: 1}, new(Sums))
	if err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error)
	go func() { wrote <- b.Write(pattern(4 * maxWindow)) }()
	for full := false; !full; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		full = b.window > maxWindow-packetBytes
		b.mu.Unlock()
	}
	b.mu.Lock()
	if b.window > maxWindow {
		t.Errorf("%d bytes are kept", b.window)
	}
	b.mu.Unlock()
	b.end()
	if err := <-wrote; err == nil {
		t.Error("bytes that were not acknowledged count as written")
	}
	b.Abort()
}
