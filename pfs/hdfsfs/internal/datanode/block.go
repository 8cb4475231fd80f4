package datanode

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

// NameNode makes the calls about a block that is being written.
type NameNode interface {
	// Renew returns the block with the next generation and a new token.
	Renew(ctx context.Context, block *hdfsproto.ExtendedBlock) (*hdfsproto.LocatedBlock, error)

	// Replace replaces the block by fresh, which these DataNodes write.
	Replace(ctx context.Context, block, fresh *hdfsproto.ExtendedBlock, nodes []*hdfsproto.DatanodeInfo, storages []string) error

	// Another returns the block with one more DataNode, which is not among the excluded ones.
	Another(ctx context.Context, block *hdfsproto.ExtendedBlock, nodes []*hdfsproto.DatanodeInfo, storages []string, excluded []*hdfsproto.DatanodeInfo) (*hdfsproto.LocatedBlock, error)

	// Address returns the address of a DataNode.
	Address(node *hdfsproto.DatanodeID) string
}

const (
	// packetBytes is the number of bytes of a packet. It is large because every packet costs a DataNode the same work.
	packetBytes = 256 << 10
	// maxWindow bounds the unacknowledged bytes of one block, and allWindow those of all blocks of a Client. Each block may have at
	// least minWindow. The bytes are kept, so that they can be sent through another pipeline.
	maxWindow = 4 << 20
	allWindow = 32 << 20
	minWindow = 2 * packetBytes
	// heartbeat is the pause after which a heartbeat is sent to an idle pipeline. DataNodes give a pipeline up after a minute.
	heartbeat = 20 * time.Second
)

// outPacket is a packet that is not acknowledged yet.
type outPacket struct {
	sequence int64
	offset   int64 // in the block
	head     []byte
	data     []byte
	last     bool
	sync     bool // the DataNodes write the block to their disks before they acknowledge it
}

var packets = sync.Pool{New: func() any { return new([packetBytes]byte) }}

// BlockOptions are the options of a block. All blocks that are written to a file have the same.
type BlockOptions struct {
	Size     int64 // of a whole block, in bytes
	Replicas int   // that the block is to have
	Durable  bool  // Close returns when it is on the disks of the DataNodes

	unit bool // of a block group: it is not repaired, and its checksums are not kept
}

// Block is a block that is being written. One goroutine at a time uses it. Its bytes are kept until all DataNodes of the
// pipeline have acknowledged them, and are sent again through a repaired pipeline.
type Block struct {
	client   *Client
	nameNode NameNode
	opts     BlockOptions
	sums     *Sums
	summed   int // of sums.Whole that are in packets
	appended bool

	life context.Context
	end  context.CancelFunc
	done chan struct{} // closed when run has ended
	wake chan struct{} // has room for one: the sender has something to do

	// Of run, and of Create and Append before it.
	line     *pipeline
	agreed   *pipeline                 // as the NameNode knows it, without DataNodes that have been silent since
	revived  bool                      // the pipeline was that one again, without progress since
	failed   []*hdfsproto.DatanodeInfo // of this block
	repairs  int                       // one after the other
	repaired int64                     // what was acknowledged at the first of them

	filling  *outPacket
	again    []byte // of the last chunk, if it is not whole: the next packet begins with them, because its checksums are of whole chunks
	length   int64  // of the block, with filling
	sequence int64

	mu     sync.Mutex
	moved  *sync.Cond
	queue  []*outPacket // in their order
	sent   int          // of queue, through the present pipeline
	busy   int64        // the sequence of the packet that is sent last
	window int          // bytes in queue
	acked  int64        // the end of what is acknowledged
	synced bool         // Sync has put a packet in queue
	copied bool         // a DataNode got a copy of the block since the last Sync
	ended  bool
	err    error // once it has ended
}

// Create begins to write the new block that the NameNode has named. An error of the DataNodes is a *PipelineError.
func (c *Client) Create(n NameNode, located *hdfsproto.LocatedBlock, o BlockOptions, sums *Sums) (*Block, error) {
	b := c.newBlock(n, located, o, sums)
	c.note(located.GetLocations(), false)
	cn, failure := b.build(hdfsproto.Stage_PIPELINE_SETUP_CREATE, 0)
	if failure != nil {
		b.end()
		c.noteDead(failure.Bad)
		return nil, failure
	}
	b.start(cn)
	return b, nil
}

// Append begins to write at the end of a block. odd has the bytes of the last chunk, if it is not full.
func (c *Client) Append(n NameNode, located *hdfsproto.LocatedBlock, o BlockOptions, sums *Sums, odd []byte) (*Block, error) {
	b := c.newBlock(n, located, o, sums)
	sums.Add(odd)
	b.appended, b.again = true, odd
	b.length = int64(located.GetBlock().GetNumBytes())
	b.acked = b.length
	cn, err := b.repair(nil)
	if err != nil {
		b.end()
		return nil, err
	}
	b.start(cn)
	return b, nil
}

func (c *Client) newBlock(n NameNode, located *hdfsproto.LocatedBlock, o BlockOptions, sums *Sums) *Block {
	b := &Block{client: c, nameNode: n, opts: o, sums: sums, summed: len(sums.Whole), line: newPipeline(located),
		done: make(chan struct{}), wake: make(chan struct{}, 1)}
	b.agreed = b.line.clone()
	b.moved = sync.NewCond(&b.mu)
	b.life, b.end = context.WithCancel(context.Background())
	return b
}

func (b *Block) start(cn *conn) {
	b.client.writers.Add(1)
	go func() {
		err := pfs.Guard("datanode.Block", "", func() error { return b.run(cn) })
		b.client.writers.Add(-1)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ended, b.err = true, err
		for _, p := range b.queue {
			b.recycle(p)
		}
		b.queue = nil
		b.moved.Broadcast()
		close(b.done)
	}()
}

// run writes through one pipeline after the other, until all DataNodes of one have the block.
func (b *Block) run(cn *conn) error {
	for cn != nil {
		failure := b.stream(cn)
		if failure == nil {
			return nil
		}
		if b.opts.unit {
			b.client.noteDead(failure.Bad)
			return failure
		}
		var err error
		if cn, err = b.repair(failure); err != nil {
			return err
		}
	}
	return nil
}

// Write appends p. It waits while too many bytes are unacknowledged.
func (b *Block) Write(p []byte) error {
	for len(p) > 0 {
		if err := b.begin(); err != nil {
			return err
		}
		n := min(len(p), packetBytes-len(b.filling.data))
		b.sums.Add(p[:n])
		b.filling.data = append(b.filling.data, p[:n]...)
		b.length += int64(n)
		p = p[n:]
		if len(b.filling.data) == packetBytes {
			if err := b.cut(); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin begins a packet, unless one is being filled.
func (b *Block) begin() error {
	if b.filling != nil || b.life.Err() != nil {
		return b.life.Err()
	}
	data := append(packets.Get().(*[packetBytes]byte)[:0], b.again...)
	b.filling = &outPacket{sequence: b.sequence, offset: b.length - int64(len(data)), data: data}
	b.sequence++
	return nil
}

// Sync returns when all written bytes are on the disks of the DataNodes.
func (b *Block) Sync() error {
	if err := b.begin(); err != nil {
		return err
	}
	b.filling.sync = true
	err := b.cut()
	for err == nil {
		var copied bool
		if copied, err = b.settle(); !copied {
			break
		}
		// A DataNode ignores a packet whose bytes it got with its copy, but always syncs with an empty one.
		err = b.enqueueEmpty(&outPacket{sync: true})
	}
	return err
}

// settle waits until all packets are acknowledged, and reports whether a DataNode got a copy of the block since it was last called.
func (b *Block) settle() (copied bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.ended && len(b.queue) > 0 {
		b.moved.Wait()
	}
	if b.ended {
		return false, b.failure()
	}
	copied, b.copied = b.copied, false
	return copied, nil
}

// Length returns the length of the block, including unacknowledged bytes.
func (b *Block) Length() int64 { return b.length }

// cut hands the current packet to the sender.
func (b *Block) cut() error {
	p := b.filling
	if p == nil {
		return nil
	}
	b.filling = nil
	b.again = slices.Clone(p.data[len(p.data)-int(b.length%Chunk):])
	if err := p.encode(b.sums.From(b.summed)); err != nil {
		return err
	}
	if b.summed = len(b.sums.Whole); b.opts.unit {
		b.sums.Whole, b.summed = b.sums.Whole[:0], 0
	}
	return b.enqueue(p)
}

// enqueueEmpty hands a packet without bytes to the sender.
func (b *Block) enqueueEmpty(p *outPacket) error {
	p.sequence, p.offset = b.sequence, b.length
	b.sequence++
	if err := p.encode(nil); err != nil {
		return err
	}
	return b.enqueue(p)
}

func (b *Block) enqueue(p *outPacket) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.ended && b.window > 0 && b.window+len(p.data) > b.client.window() {
		b.moved.Wait()
	}
	if b.ended {
		b.recycle(p)
		return b.failure()
	}
	b.synced = b.synced || p.sync && !p.last
	b.queue = append(b.queue, p)
	b.window += len(p.data)
	b.stir()
	return nil
}

// failure returns why the block has ended.
func (b *Block) failure() error {
	if b.err == nil {
		return errMalformed // there is nothing after the last packet
	}
	return b.err
}

// window is the number of unacknowledged bytes that each block may have.
func (c *Client) window() int {
	return max(minWindow, min(maxWindow, allWindow/max(1, int(c.writers.Load()))))
}

// stir wakes the sender.
func (b *Block) stir() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Close ends the block. When all DataNodes of the pipeline have it, Close returns its final ID, generation and length.
func (b *Block) Close() (*hdfsproto.ExtendedBlock, error) {
	defer b.end()
	err := b.cut()
	if err == nil {
		err = b.enqueueEmpty(&outPacket{last: true, sync: b.opts.Durable})
	}
	if err != nil {
		b.Abort()
		return nil, err
	}
	<-b.done
	if b.err != nil {
		return nil, b.err
	}
	return b.line.sized(b.length), nil
}

// Abort ends the block as it is.
func (b *Block) Abort() {
	b.end()
	<-b.done
	if b.filling != nil {
		b.recycle(b.filling)
		b.filling = nil
	}
}

// encode returns the part of the packet before the data.
func (p *outPacket) encode(sums []uint32) error {
	h := &hdfsproto.PacketHeader{Offset: &p.offset, Sequence: &p.sequence, Last: &p.last, Length: proto.Int32(int32(len(p.data)))}
	if p.sync {
		h.Sync = &p.sync
	}
	header, err := proto.Marshal(h)
	if err != nil {
		return err
	}
	p.head = make([]byte, 0, lengths+len(header)+len(sums)*sumSize)
	p.head = binary.BigEndian.AppendUint32(p.head, uint32(4+len(sums)*sumSize+len(p.data)))
	p.head = binary.BigEndian.AppendUint16(p.head, uint16(len(header)))
	p.head = append(p.head, header...)
	for _, s := range sums {
		p.head = binary.BigEndian.AppendUint32(p.head, s)
	}
	return nil
}

// recycle keeps the buffer of a packet for others, unless it may still be read.
func (b *Block) recycle(p *outPacket) {
	if cap(p.data) == packetBytes && p.sequence != b.busy {
		packets.Put((*[packetBytes]byte)(p.data[:packetBytes]))
	}
}

// take returns the next packet to send, or nil if there is none now. The last packet waits until the others are
// acknowledged: then a pipeline that fails needs only to be closed again.
func (b *Block) take() *outPacket {
	if b.sent == len(b.queue) || b.queue[b.sent].last && b.sent > 0 {
		return nil
	}
	p := b.queue[b.sent]
	b.sent++
	b.busy = p.sequence
	return p
}

// acknowledge removes a packet from the queue, and reports whether it was the last one.
func (b *Block) acknowledge(sequence int64) (last bool, err error) {
	if b.sent == 0 || b.queue[0].sequence != sequence {
		return false, errMalformed // it was not sent, or it is not its turn
	}
	p := b.queue[0]
	b.queue = slices.Delete(b.queue, 0, 1)
	b.sent--
	b.window -= len(p.data)
	b.acked = p.offset + int64(len(p.data))
	b.recycle(p)
	b.moved.Broadcast()
	b.stir()
	return p.last, nil
}

// closing reports whether only the end of the block is left to be acknowledged.
func (b *Block) closing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) == 1 && b.queue[0].last && b.sent > 0
}
