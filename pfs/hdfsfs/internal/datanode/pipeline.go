package datanode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

const (
	opWriteBlock    = 80
	opTransferBlock = 86
)

// Sequence numbers of acknowledgements that do not belong to a packet.
const (
	heartbeatSequence = -1
	messageSequence   = -2 // out of band: a DataNode restarts
)

// lastWords is how long to wait for the reason why a DataNode takes no more packets.
const lastWords = time.Second

// pipeline is the row of DataNodes that get a block, each from the one before it.
type pipeline struct {
	nodes    []*hdfsproto.DatanodeInfo
	types    []hdfsproto.StorageType
	storages []string
	block    *hdfsproto.ExtendedBlock
	token    *hdfsproto.Token
}

func newPipeline(b *hdfsproto.LocatedBlock) *pipeline {
	l := &pipeline{nodes: slices.Clone(b.GetLocations()), types: slices.Clone(b.GetStorageTypes()), storages: slices.Clone(b.GetStorageIds()),
		block: b.GetBlock(), token: b.GetToken()}
	for len(l.types) < len(l.nodes) {
		l.types = append(l.types, hdfsproto.StorageType_DISK)
	}
	for len(l.storages) < len(l.nodes) {
		l.storages = append(l.storages, "")
	}
	return l
}

// clone returns a copy of the pipeline.
func (l *pipeline) clone() *pipeline {
	c := *l
	c.nodes, c.types, c.storages = slices.Clone(l.nodes), slices.Clone(l.types), slices.Clone(l.storages)
	return &c
}

// sized returns the block with this length.
func (l *pipeline) sized(n int64) *hdfsproto.ExtendedBlock {
	b := proto.CloneOf(l.block)
	b.NumBytes = proto.Uint64(uint64(n))
	return b
}

// drop leaves DataNodes out.
func (l *pipeline) drop(bad []*hdfsproto.DatanodeInfo) {
	for i := len(l.nodes) - 1; i >= 0; i-- {
		if slices.Contains(bad, l.nodes[i]) {
			l.nodes, l.types, l.storages = slices.Delete(l.nodes, i, i+1), slices.Delete(l.types, i, i+1), slices.Delete(l.storages, i, i+1)
		}
	}
}

// PipelineError is the error of a pipeline.
type PipelineError struct {
	Bad []*hdfsproto.DatanodeInfo // that failed; none if it is not known

	addresses  []string // of Bad
	restarting bool     // Bad is about to be back
	err        error
}

func (e *PipelineError) Error() string {
	var op *net.OpError
	text := e.err.Error()
	if errors.As(e.err, &op) { // it has the address
		text = op.Op + ": " + op.Err.Error()
	}
	if len(e.addresses) == 0 {
		return "the DataNodes: " + text
	}
	return fmt.Sprintf("DataNode %s: %s", strings.Join(e.addresses, ", "), text)
}

func (e *PipelineError) Unwrap() error { return e.err }

// slow reports whether Bad did not answer in time, so that asking it again would probably take as long again.
func (e *PipelineError) slow() bool {
	var timeout net.Error
	return e.err == errSilent || e.err == errStalled || errors.As(e.err, &timeout) && timeout.Timeout()
}

// blame returns a PipelineError that names these DataNodes.
func (b *Block) blame(l *pipeline, err error, nodes ...int) *PipelineError {
	e := &PipelineError{err: err}
	for _, i := range nodes {
		if i < len(l.nodes) {
			node := l.nodes[i]
			e.Bad = append(e.Bad, node)
			e.addresses = append(e.addresses, b.nameNode.Address(node.GetId()))
		}
	}
	return e
}

// errSilent means that a DataNode gives no answer.
var errSilent = errors.New("it gives no answer")

// errStalled means that packets are not acknowledged although all DataNodes answer.
var errStalled = errors.New("packets are not acknowledged in time")

// build asks for a pipeline.
func (b *Block) build(stage hdfsproto.Stage, generation uint64) (*conn, *PipelineError) {
	l := b.line
	if len(l.nodes) == 0 {
		return nil, b.blame(l, errors.New("the NameNode names no DataNode for the block"))
	}
	cn, err := b.client.connectNew(b.life, Replica{Address: b.nameNode.Address(l.nodes[0].GetId()), Block: l.block, Token: l.token})
	if err != nil {
		return nil, b.blame(l, err, 0)
	}
	stop := context.AfterFunc(b.life, func() { cn.Close() })
	defer stop()
	failure := b.request(cn, stage, generation)
	if failure == nil {
		return cn, nil
	}
	cn.Close()
	if errors.Is(failure.err, os.ErrDeadlineExceeded) {
		if silent := b.silent(l); len(silent) > 0 {
			failure = b.blame(l, errSilent, silent...)
		}
	}
	return nil, failure
}

// request sends the request, and receives the response, which comes when all DataNodes are connected.
func (b *Block) request(cn *conn, stage hdfsproto.Stage, generation uint64) *PipelineError {
	l := b.line
	b.mu.Lock()
	acked, sent := b.acked, b.acked
	if n := len(b.queue); n > 0 {
		sent = b.queue[n-1].offset + int64(len(b.queue[n-1].data))
	}
	b.mu.Unlock()
	p, err := appendMessage([]byte{0, version, opWriteBlock}, &hdfsproto.OpWriteBlock{
		Header:             b.header(l.token),
		Targets:            l.nodes[1:],
		Stage:              &stage,
		PipelineSize:       proto.Uint32(uint32(len(l.nodes))),
		MinReceived:        proto.Uint64(uint64(acked)),
		MaxReceived:        proto.Uint64(uint64(sent)),
		GenerationStamp:    &generation,
		Checksum:           &hdfsproto.Checksum{Type: hdfsproto.ChecksumType_CHECKSUM_CRC32C.Enum(), BytesPerChecksum: proto.Uint32(Chunk)},
		StorageType:        &l.types[0],
		TargetStorageTypes: l.types[1:],
		StorageId:          &l.storages[0],
		TargetStorageIds:   l.storages[1:],
	})
	if err != nil {
		return b.blame(l, err)
	}
	if err := cn.SetDeadline(time.Now().Add(b.client.opts.Timeout)); err != nil {
		return b.blame(l, err, 0)
	}
	if _, err := cn.Write(p); err != nil {
		return b.blame(l, err, 0)
	}
	var resp hdfsproto.BlockOpResponse
	if err := readMessage(cn.in, &resp); err != nil {
		return b.blame(l, err, 0)
	}
	if resp.GetStatus() == hdfsproto.Status_SUCCESS {
		if err := cn.SetDeadline(time.Time{}); err != nil {
			return b.blame(l, err, 0)
		}
		return nil
	}
	refused := &RefusedError{resp.GetStatus(), resp.GetMessage()}
	for i, node := range l.nodes {
		if fmt.Sprintf("%s:%d", node.GetId().GetIpAddr(), node.GetId().GetTransferPort()) == resp.GetFirstBadLink() { // also of IPv6
			return b.blame(l, refused, i)
		}
	}
	if resp.GetStatus() == hdfsproto.Status_ERROR_ACCESS_TOKEN {
		return b.blame(l, refused) // another token is needed
	}
	return b.blame(l, refused, 0)
}

// header returns the header of an operation on the block. DataNodes reserve space for a full block.
func (b *Block) header(token *hdfsproto.Token) *hdfsproto.OperationHeader {
	return &hdfsproto.OperationHeader{Base: &hdfsproto.BaseHeader{Block: b.line.sized(b.opts.Size), Token: token}, ClientName: &b.client.name}
}

// silent returns the DataNodes of a pipeline that do not answer a request on another connection.
func (b *Block) silent(l *pipeline) (bad []int) {
	ctx, cancel := context.WithTimeout(b.life, max(b.client.opts.Timeout/2, time.Second))
	defer cancel()
	answers := make([]error, len(l.nodes))
	var all sync.WaitGroup
	for i, node := range l.nodes {
		all.Go(func() {
			// A DataNode refuses to read a block that is being written with this token, and by that it answers.
			s, err := b.client.Open(ctx, Replica{Address: b.nameNode.Address(node.GetId()), Block: l.block, Token: l.token}, 0, 1)
			if err == nil {
				s.Close()
			}
			answers[i] = err
		})
	}
	all.Wait()
	for i, err := range answers {
		var refused *RefusedError
		if err != nil && !errors.As(err, &refused) && !errors.Is(err, errMalformed) {
			bad = append(bad, i)
		}
	}
	return bad
}

// flow is the packets and their acknowledgements on the connection of one pipeline.
type flow struct {
	*Block
	line  *pipeline // as it was at the start
	conn  *conn
	timer *time.Timer // runs while something is not acknowledged

	// Guarded by Block.mu.
	over    bool
	strikes int            // timeouts since the last acknowledgement
	cause   *PipelineError // why this side gave up
}

// stream sends the packets of the queue as they come, and receives the acknowledgements. It returns nil when the last packet is
// acknowledged.
func (b *Block) stream(cn *conn) *PipelineError {
	f := &flow{Block: b, line: b.line.clone(), conn: cn}
	b.mu.Lock()
	b.sent = 0
	f.timer = time.AfterFunc(b.client.opts.Timeout, f.stalled)
	f.timer.Stop()
	b.mu.Unlock()
	stop := context.AfterFunc(b.life, func() { cn.Close() })
	defer stop()
	sender := make(chan error, 1)
	go func() {
		err := pfs.Guard("datanode.Block", "", f.send)
		if err != nil {
			_ = cn.SetReadDeadline(time.Now().Add(lastWords))
		}
		sender <- err
	}()
	failure := f.receive()
	b.mu.Lock()
	f.over = true
	if f.cause != nil && failure != nil {
		failure = f.cause
	}
	b.mu.Unlock()
	f.timer.Stop()
	cn.Close()
	b.stir()
	<-sender
	return failure
}

// send sends packets until the flow is over.
func (f *flow) send() error {
	idle := time.NewTimer(heartbeat)
	defer idle.Stop()
	for {
		f.mu.Lock()
		over, p := f.over, f.take()
		if p != nil && f.sent == 1 {
			f.timer.Reset(f.client.opts.Timeout)
		}
		f.mu.Unlock()
		switch {
		case over:
			return nil
		case p != nil:
			idle.Reset(heartbeat)
		default:
			select {
			case <-f.wake:
				continue
			case <-idle.C:
				p = &outPacket{sequence: heartbeatSequence}
				if err := p.encode(nil); err != nil {
					return err
				}
				idle.Reset(heartbeat)
			}
		}
		pieces := net.Buffers{p.head, p.data}
		if _, err := pieces.WriteTo(f.conn.Conn); err != nil {
			return err
		}
	}
}

// receive receives acknowledgements, up to that of the last packet.
func (f *flow) receive() *PipelineError {
	for {
		var ack hdfsproto.PipelineAck
		if err := readMessage(f.conn.in, &ack); err != nil {
			return f.blame(f.line, err, 0)
		}
		for i, status := range slices.Backward(ack.GetReplies()) {
			if status != hdfsproto.Status_SUCCESS {
				failure := f.blame(f.line, &RefusedError{Status: status}, i)
				failure.restarting = status == hdfsproto.Status_OOB_RESTART
				return failure
			}
		}
		if n := ack.GetSequence(); n == heartbeatSequence || n == messageSequence {
			continue
		}
		if len(ack.GetReplies()) != len(f.line.nodes) {
			return f.blame(f.line, errMalformed, 0) // one that is not named may not have the packet
		}
		f.mu.Lock()
		last, err := f.acknowledge(ack.GetSequence())
		f.strikes = 0
		if f.sent > 0 {
			f.timer.Reset(f.client.opts.Timeout)
		} else {
			f.timer.Stop()
		}
		f.mu.Unlock()
		if err != nil {
			return f.blame(f.line, err, 0)
		}
		if last {
			return nil
		}
	}
}

// maxStrikes is how often all DataNodes may answer while nothing is acknowledged.
const maxStrikes = 2

// stalled is called after each timeout without an acknowledgement. It ends the flow if a DataNode does not answer, or after
// maxStrikes calls, unless a packet is acknowledged meanwhile.
func (f *flow) stalled() {
	f.mu.Lock()
	oldest := f.oldest()
	f.mu.Unlock()
	var cause *PipelineError
	if bad := f.silent(f.line); len(bad) > 0 {
		cause = f.blame(f.line, errSilent, bad...)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if oldest == nil || f.oldest() != oldest {
		return
	}
	if f.strikes++; cause == nil && f.strikes >= maxStrikes {
		cause = f.blame(f.line, errStalled, 0)
	}
	if cause == nil {
		f.timer.Reset(f.client.opts.Timeout)
		return
	}
	f.cause = cause
	f.conn.Close()
}

// oldest returns the first packet that is sent and not acknowledged, nil if there is none.
func (f *flow) oldest() *outPacket {
	if f.over || f.sent == 0 {
		return nil
	}
	return f.queue[0]
}
