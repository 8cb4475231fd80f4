package datanode

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
)

// File provides the locations of the blocks of a file to a Reader. Its methods may be called concurrently.
type File interface {
	// Block returns the block that contains the byte at off. fresh asks the NameNode even if the block is known.
	Block(ctx context.Context, off int64, fresh bool) (*hdfsproto.LocatedBlock, error)

	// Policy returns the policy of an erasure-coded file, and nil for other files. It is valid once Block was called.
	Policy() *hdfsproto.ErasureCodingPolicy

	// Address returns the address of a DataNode.
	Address(node *hdfsproto.DatanodeID) string

	// Damaged is called for each detected damage, with the block and the location of the damaged replica only. Another replica has
	// good bytes at this place, unless there is no other replica, or the block is a unit of a block group.
	Damaged(d Damage, block *hdfsproto.LocatedBlock)
}

// Damage is a place where a replica does not match its checksums.
type Damage struct {
	Block   uint64
	Offset  int64 // in the block
	Address string

	from int64 // where the read could not go on, in the block
}

// ReplicasError is the error of a read that no replica could serve.
type ReplicasError struct {
	Damaged []Damage
	Lost    []string // addresses of DataNodes that could not be read from
	Last    error    // nil if no DataNode has the block
}

func (e *ReplicasError) Error() string {
	if e.Last == nil {
		return "no DataNode has the block"
	}
	return "no DataNode that has the block can be read from: " + e.Last.Error()
}

func (e *ReplicasError) Unwrap() error { return e.Last }

// Address returns the address of a DataNode for data transfer, by its name or by its IP address.
func Address(node *hdfsproto.DatanodeID, byName bool) string {
	host := node.GetIpAddr()
	if byName {
		host = node.GetHostName()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(node.GetTransferPort())))
}

// Reader reads a file. One goroutine at a time uses it. Reads one after the other share a Stream.
type Reader struct {
	client *Client
	file   File

	stream *Stream
	group  *group // instead of stream, of an erasure-coded file
	end    int64  // of the last read
	read   bool   // there was one

	doubted Damage // the last place that did not match its checksums, without an Offset
	damaged []Damage
	reports []report // of damages that this read has found

	node    atomic.Pointer[string] // the address of the DataNode that is read from
	granted atomic.Bool            // it has answered the request
	avoid   string                 // a DataNode that is not asked
}

// report is a damage to report to File, with the replica.
type report struct {
	Damage
	replica *hdfsproto.LocatedBlock
}

// NewReader returns a Reader of the file.
func (c *Client) NewReader(f File) *Reader { return &Reader{client: c, file: f} }

// End returns the offset at which the last read ended. A read from this offset needs no new request to a DataNode.
func (r *Reader) End() int64 { return r.end }

// Close ends the Streams.
func (r *Reader) Close() {
	if r.group != nil {
		r.group.close()
		r.group = nil
	}
	if r.stream != nil {
		r.stream.Close()
		r.stream = nil
	}
}

// maxSkipped is the largest gap in bytes that is read and discarded instead of sending a request.
const maxSkipped = 128 << 10

// ReadAt fills p with verified bytes of the file from off on. The file must have that many bytes. An error of replicas is a
// *ReplicasError.
func (r *Reader) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if !r.client.opts.Hedge {
		return r.readAt(ctx, p, off)
	}
	return r.readHedged(ctx, p, off)
}

func (r *Reader) readAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	if _, err := r.file.Block(ctx, off, false); err != nil {
		return 0, err
	}
	if policy := r.file.Policy(); policy != nil {
		return r.readStriped(ctx, policy, p, off)
	}
	follows := r.read && off == r.end
	if gap := off - r.end; r.stream != nil && gap > 0 && gap <= maxSkipped {
		follows = r.skip(ctx, gap)
	}
	if r.stream != nil && !follows {
		r.Close()
	}
	defer func() { r.read, r.end, r.reports = true, off+int64(n), nil }()
	lost := map[string]error{} // of this read, by address
	for fresh := false; n < len(p); {
		if r.stream == nil {
			again, err := r.open(ctx, off+int64(n), int64(len(p)-n), follows, fresh, lost)
			if again && !fresh {
				fresh = true // the replicas may have moved, or the token has expired
				maps.DeleteFunc(lost, func(_ string, err error) bool { return !errors.Is(err, os.ErrDeadlineExceeded) })
				continue
			}
			if err != nil {
				return n, err
			}
		}
		k, err := r.stream.Read(ctx, p[n:])
		n += k
		r.report()
		switch {
		case err == io.EOF:
			r.stream = nil
		case err != nil:
			if ctx.Err() != nil {
				r.Close()
				return n, context.Cause(ctx)
			}
			r.failed(ctx, off+int64(n), err, lost)
		default:
			continue
		}
	}
	return n, nil
}

// skip reads and discards n bytes, if the Stream has them.
func (r *Reader) skip(ctx context.Context, n int64) bool {
	_, err := r.stream.Read(ctx, make([]byte, n))
	if err != nil {
		r.Close()
	}
	return err == nil
}

// report reports to File the damages of this read for which the Stream has received good bytes.
func (r *Reader) report() {
	r.reports = slices.DeleteFunc(r.reports, func(found report) bool {
		good := found.Block == r.stream.replica.Block.GetBlockId() && found.Offset < r.stream.received
		if good {
			r.file.Damaged(found.Damage, found.replica)
		}
		return good
	})
}

// failed notes that the Stream failed. If bytes do not match their checksums, the replica is read once more before it counts
// as damaged, because a bit may have been flipped in transit. If all replicas seem to be damaged, this host may be at fault, so
// nothing is reported to File.
func (r *Reader) failed(ctx context.Context, off int64, err error, lost map[string]error) {
	address := r.stream.replica.Address
	r.Close()
	var damaged *DamagedError
	if !errors.As(err, &damaged) {
		r.client.suspect(address)
		lost[address] = err
		return
	}
	block, locateErr := r.file.Block(ctx, off, false)
	if locateErr != nil {
		lost[address] = err
		return
	}
	d := Damage{Block: block.GetBlock().GetBlockId(), Address: address, from: off - int64(block.GetOffset())}
	if r.doubted != d {
		r.doubted = d
		return
	}
	d.Offset = damaged.Offset
	r.damaged = append(r.damaged, d)
	for i, node := range block.GetLocations() {
		switch {
		case r.file.Address(node.GetId()) != address:
		case len(block.GetLocations()) == 1:
			r.file.Damaged(d, onlyLocation(block, i))
		default:
			r.reports = append(r.reports, report{d, onlyLocation(block, i)})
		}
	}
}

// onlyLocation returns the block with one of its locations.
func onlyLocation(b *hdfsproto.LocatedBlock, i int) *hdfsproto.LocatedBlock {
	one := &hdfsproto.LocatedBlock{Block: b.Block, Offset: b.Offset, Corrupt: b.Corrupt, Token: b.Token, Locations: b.Locations[i : i+1]}
	if i < len(b.StorageIds) && i < len(b.StorageTypes) {
		one.StorageIds, one.StorageTypes = b.StorageIds[i:i+1], b.StorageTypes[i:i+1]
	}
	return one
}

// open begins a Stream at off, with the first replica that grants it. again is true if the locations may be out of date.
func (r *Reader) open(ctx context.Context, off, n int64, follows, fresh bool, lost map[string]error) (again bool, err error) {
	block, err := r.file.Block(ctx, off, fresh)
	if err != nil {
		return false, err
	}
	start := int64(block.GetOffset())
	left := start + int64(block.GetBlock().GetNumBytes()) - off
	if left <= 0 {
		return true, io.ErrUnexpectedEOF
	}
	if !follows {
		left = min(left, n)
	}
	for _, address := range r.order(block) {
		if lost[address] != nil || slices.ContainsFunc(r.damages(block, off-start), func(d Damage) bool { return d.Address == address }) {
			continue
		}
		r.node.Store(&address)
		r.granted.Store(false)
		r.stream, err = r.client.Open(ctx, Replica{address, block.Block, block.Token}, off-start, left)
		if err == nil {
			r.granted.Store(true)
			return false, nil
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		lost[address] = err
		var refused *RefusedError
		if !errors.As(err, &refused) {
			r.client.suspect(address)
		}
	}
	return true, replicasError(r.damages(block, off-start), lost)
}

// replicasError returns the error of a read that all replicas failed to serve. Its Last is the error of any of the lost DataNodes.
func replicasError(damaged []Damage, lost map[string]error) error {
	e := &ReplicasError{Damaged: damaged, Lost: slices.Sorted(maps.Keys(lost))}
	for _, err := range lost {
		e.Last = err
	}
	return e
}

// order returns the addresses of the DataNodes that have the block, in the order in which they are asked: the nearest first; then
// the DataNodes that failed recently, beginning with the one that answered last, since most may only have been slow; and last
// the DataNodes whose replicas are damaged elsewhere.
func (r *Reader) order(block *hdfsproto.LocatedBlock) []string {
	var good, bad, damaged []string
	for _, node := range block.GetLocations() {
		switch a := r.file.Address(node.GetId()); {
		case a == r.avoid:
		case slices.ContainsFunc(r.damages(block, -1), func(d Damage) bool { return d.Address == a }):
			damaged = append(damaged, a)
		case r.client.suspected(a):
			bad = append(bad, a)
		default:
			good = append(good, a)
		}
	}
	r.client.latest(bad)
	return slices.Concat(good, bad, damaged)
}

// damages returns the known damages of a block: those at which a read from the offset from would stop, or all if from is negative.
func (r *Reader) damages(block *hdfsproto.LocatedBlock, from int64) (all []Damage) {
	for _, d := range r.damaged {
		if d.Block == block.GetBlock().GetBlockId() && (from < 0 || d.from == from) {
			all = append(all, d)
		}
	}
	return all
}
