package datanode

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

const (
	chunk      = 512
	packetSize = 4 * chunk
)

// fakeNode is a DataNode with one block.
type fakeNode struct {
	data []byte

	mu       sync.Mutex
	requests int
	flip     int  // the offset of a byte that is damaged; -1 is none
	once     bool // it is damaged only on its way, in the first answer that has it
	cut      int  // the number of bytes after which it closes the connection; -1 is never
	silent   bool // it accepts, and says nothing
	refuse   hdfsproto.Status
	conns    int
}

func newFakeNode(data []byte) *fakeNode { return &fakeNode{data: data, flip: -1, cut: -1} }

// cluster are fake DataNodes with a file of one block, and a client of them.
type cluster struct {
	nodes   []*fakeNode
	names   []string
	damages []Damage
	client  *Client
}

func newCluster(t *testing.T, o Options, nodes ...*fakeNode) *cluster {
	t.Helper()
	c := &cluster{nodes: nodes}
	byName := map[string]*fakeNode{}
	for i, n := range nodes {
		name := net.JoinHostPort("127.0.0.1", string(rune('1'+i)))
		c.names = append(c.names, name)
		byName[name] = n
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	o.Dial = func(_ context.Context, address string) (net.Conn, error) {
		node := byName[address]
		if node == nil {
			return nil, errors.New("no such node")
		}
		ours, theirs, err := connected()
		if err != nil {
			return nil, err
		}
		node.mu.Lock()
		node.conns++
		node.mu.Unlock()
		go node.serve(theirs)
		return ours, nil
	}
	c.client = NewClient(o)
	t.Cleanup(c.client.Close)
	return c
}

// connected returns both ends of a connection.
func connected() (ours, theirs net.Conn, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if ours, err = net.Dial("tcp", l.Addr().String()); err != nil {
		return nil, nil, err
	}
	theirs, err = l.Accept()
	return ours, theirs, err
}

func (c *cluster) block() *hdfsproto.ExtendedBlock {
	return &hdfsproto.ExtendedBlock{PoolId: proto.String("pool"), BlockId: proto.Uint64(77), GenerationStamp: proto.Uint64(1), NumBytes: proto.Uint64(uint64(len(c.nodes[0].data)))}
}

// Block implements File.
func (c *cluster) Block(context.Context, int64, bool) (*hdfsproto.LocatedBlock, error) {
	b := &hdfsproto.LocatedBlock{Block: c.block(), Offset: proto.Uint64(0), Corrupt: proto.Bool(false), Token: noToken()}
	for i := range c.nodes {
		b.Locations = append(b.Locations, &hdfsproto.DatanodeInfo{Id: &hdfsproto.DatanodeID{
			IpAddr: proto.String("127.0.0.1"), HostName: proto.String("dn"), Uuid: proto.String(""),
			TransferPort: proto.Uint32(uint32(i + 1)), InfoPort: proto.Uint32(0), IpcPort: proto.Uint32(0),
		}})
	}
	return b, nil
}

// Policy implements File.
func (c *cluster) Policy() *hdfsproto.ErasureCodingPolicy { return nil }

func (c *cluster) Address(node *hdfsproto.DatanodeID) string { return Address(node, false) }

func (c *cluster) Damaged(d Damage, _ *hdfsproto.LocatedBlock) { c.damages = append(c.damages, d) }

func noToken() *hdfsproto.Token {
	return &hdfsproto.Token{Identifier: []byte{}, Password: []byte{}, Kind: proto.String(""), Service: proto.String("")}
}

// serve answers requests until the connection ends.
func (n *fakeNode) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		var op [3]byte
		if _, err := io.ReadFull(in, op[:]); err != nil || op != [3]byte{0, version, opReadBlock} {
			return
		}
		var req hdfsproto.OpReadBlock
		if readMessage(in, &req) != nil {
			return
		}
		n.mu.Lock()
		n.requests++
		silent, refuse := n.silent, n.refuse
		answer := n.answer(int(req.GetOffset()), int(req.GetLength()))
		if n.cut >= 0 && n.cut < len(answer) {
			answer, silent = answer[:n.cut], false
			_, _ = conn.Write(answer)
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
		if silent {
			_, _ = io.Copy(io.Discard, conn)
			return
		}
		if refuse != 0 {
			p, _ := appendMessage(nil, &hdfsproto.BlockOpResponse{Status: &refuse, Message: proto.String("no")})
			_, _ = conn.Write(p)
			return
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
		var status hdfsproto.ReadStatus
		if readMessage(in, &status) != nil || status.GetStatus() != hdfsproto.Status_CHECKSUM_OK {
			return
		}
	}
}

// answer is the response to a request, and its packets.
func (n *fakeNode) answer(off, length int) []byte {
	begin := off / chunk * chunk
	end := min((off+length+chunk-1)/chunk*chunk, len(n.data))
	p := granted(hdfsproto.ChecksumType_CHECKSUM_CRC32C, chunk, uint64(begin))
	for at := begin; at < end; at += packetSize {
		data := append([]byte(nil), n.data[at:min(at+packetSize, end)]...)
		sums := sumsOf(data)
		if i := n.flip - at; n.flip >= 0 && i >= 0 && i < len(data) {
			data[i] ^= 0x40
			if n.once {
				n.flip = -1
			}
		}
		p = appendPacket(p, int64(at), data, sums, false)
	}
	return appendPacket(p, int64(end), nil, nil, true)
}

func granted(kind hdfsproto.ChecksumType, size uint32, begin uint64) []byte {
	p, err := appendMessage(nil, &hdfsproto.BlockOpResponse{
		Status: hdfsproto.Status_SUCCESS.Enum(),
		ReadChecksum: &hdfsproto.ReadChecksumInfo{
			Checksum:    &hdfsproto.Checksum{Type: kind.Enum(), BytesPerChecksum: &size},
			ChunkOffset: &begin,
		},
	})
	if err != nil {
		panic(err)
	}
	return p
}

func sumsOf(data []byte) (sums []byte) {
	for at := 0; at < len(data); at += chunk {
		sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(data[at:min(at+chunk, len(data))], castagnoli))
	}
	return sums
}

func appendPacket(p []byte, off int64, data, sums []byte, last bool) []byte {
	head, err := proto.Marshal(&hdfsproto.PacketHeader{Offset: &off, Sequence: proto.Int64(0), Last: &last, Length: proto.Int32(int32(len(data)))})
	if err != nil {
		panic(err)
	}
	p = binary.BigEndian.AppendUint32(p, uint32(4+len(sums)+len(data)))
	p = binary.BigEndian.AppendUint16(p, uint16(len(head)))
	return append(append(append(p, head...), sums...), data...)
}
