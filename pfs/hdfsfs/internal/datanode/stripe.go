package datanode

import (
	"context"
	"crypto/md5"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/reedsolomon"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

// PolicyName returns the name of a policy, and how many units of data and of parity a block group has under it. The name is empty
// if this package does not write such files.
func PolicyName(p *hdfsproto.ErasureCodingPolicy) (name string, data, parity int) {
	l := policyLayout(p)
	if !l.writable() {
		return "", 0, 0
	}
	if name = p.GetName(); name == "" {
		name = fmt.Sprintf("%s-%d-%d-%dk", strings.ToUpper(l.codec), l.data, l.parity, l.cell>>10)
	}
	return name, l.data, l.parity
}

// writable reports whether the parity can be computed.
func (l layout) writable() bool {
	return l.valid() && l.cell%Chunk == 0 && (l.codec == "rs" || l.codec == "xor" && l.parity == 1)
}

// StripedBlock is a block group that is being written. It writes its bytes to the blocks of the data units, one cell to each in
// turn, and the parity of each stripe to the blocks of the parity units. A unit whose DataNode fails is left out, and the NameNode
// makes it again later. More failed units than parity units are an error. One goroutine at a time uses a StripedBlock.
type StripedBlock struct {
	layout   // its length is that of what was written
	client   *Client
	nameNode NameNode
	located  *hdfsproto.LocatedBlock
	opts     BlockOptions
	sums     *Sums
	code     reedsolomon.Encoder // nil: xor
	parity   [][]byte            // of the stripe that is being written
	units    []unit
}

// unit is a unit of a StripedBlock.
type unit struct {
	block *Block // nil before its first byte
	err   error  // why it is left out
}

// CreateStriped begins to write the new block group that the NameNode has named. o.Size is the size of the block of a unit.
func (c *Client) CreateStriped(n NameNode, policy *hdfsproto.ErasureCodingPolicy, located *hdfsproto.LocatedBlock, o BlockOptions, sums *Sums) (*StripedBlock, error) {
	l, err := newLayout(policy, located)
	if err != nil {
		return nil, err
	}
	s := &StripedBlock{layout: l, client: c, nameNode: n, located: located, opts: o, sums: sums, units: make([]unit, l.data+l.parity)}
	s.opts.unit = true
	if l.codec == "rs" {
		if s.code, err = l.reedSolomon(); err != nil {
			return nil, err
		}
	}
	for range l.parity {
		s.parity = append(s.parity, make([]byte, l.cell))
	}
	c.note(located.GetLocations(), false)
	return s, nil
}

// Length returns the length of the block group, including unacknowledged bytes.
func (s *StripedBlock) Length() int64 { return s.length }

// Write appends p. It waits while too many bytes are unacknowledged.
func (s *StripedBlock) Write(p []byte) error {
	s.sums.Add(p)
	for len(p) > 0 {
		in := s.length % (s.cell * int64(s.data))
		number, at := int(in/s.cell), in%s.cell
		n := min(int64(len(p)), s.cell-at)
		s.write(number, p[:n])
		if err := s.encode(number, at, p[:n]); err != nil {
			return err
		}
		s.length += n
		p = p[n:]
		if s.length%(s.cell*int64(s.data)) == 0 {
			s.endStripe(s.cell)
		}
		if err := s.enough(); err != nil {
			return err
		}
	}
	return nil
}

// encode adds the bytes p at an offset in the cell of a data unit to the parity.
func (s *StripedBlock) encode(number int, at int64, p []byte) error {
	parity := make([][]byte, len(s.parity))
	for i := range parity {
		parity[i] = s.parity[i][at : at+int64(len(p))]
	}
	if s.code == nil {
		subtle.XORBytes(parity[0], parity[0], p)
		return nil
	}
	return s.code.EncodeIdx(p, number, parity)
}

// endStripe writes the first n bytes of the cells of parity.
func (s *StripedBlock) endStripe(n int64) {
	for i, p := range s.parity {
		s.write(s.data+i, p[:n])
		clear(p[:n])
	}
}

// write appends p to the block of a unit, which begins with its first bytes: a unit without bytes has no block.
func (s *StripedBlock) write(number int, p []byte) {
	u := &s.units[number]
	if u.err == nil && u.block == nil {
		u.block, u.err = s.create(number)
	}
	if u.err == nil {
		u.err = u.block.Write(p)
	}
}

// errUnplaced is the error of a unit for which the NameNode named no DataNode.
var errUnplaced = errors.New("the NameNode names no DataNode for the unit")

// create begins the block of a unit.
func (s *StripedBlock) create(number int) (*Block, error) {
	i := slices.Index(s.located.GetIndices(), byte(number))
	if i < 0 {
		return nil, errUnplaced
	}
	one := onlyLocation(s.located, i)
	one.Block = s.unitBlock(s.located.GetBlock(), number)
	if i < len(s.located.Tokens) {
		one.Token = s.located.Tokens[i]
	}
	return s.client.Create(s.nameNode, one, s.opts, new(Sums))
}

// enough returns an error if more units are lost than the parity can replace.
func (s *StripedBlock) enough() error {
	lost, last := 0, error(nil)
	for _, u := range s.units {
		if u.err != nil {
			lost, last = lost+1, u.err
		}
	}
	if lost > s.layout.parity {
		return &LostError{last}
	}
	return nil
}

// Close ends the block group. When the DataNodes of all units that are not left out have it, Close returns its final ID, generation
// and length.
func (s *StripedBlock) Close() (*hdfsproto.ExtendedBlock, error) {
	if rest := s.length % (s.cell * int64(s.data)); rest > 0 {
		s.endStripe(min(rest, s.cell))
	}
	var work sync.WaitGroup
	for i := range s.units {
		if u := &s.units[i]; u.block != nil {
			work.Go(func() {
				if _, err := u.block.Close(); u.err == nil {
					u.err = err
				}
			})
		}
	}
	work.Wait()
	if err := s.enough(); err != nil {
		return nil, err
	}
	block := s.located.GetBlock()
	if slices.ContainsFunc(s.units, func(u unit) bool { return u.err != nil && u.err != errUnplaced }) {
		var err error
		if block, err = s.renew(); err != nil {
			return nil, err
		}
	}
	block = proto.CloneOf(block)
	block.NumBytes = proto.Uint64(uint64(s.length))
	return block, nil
}

// renew gives the block group a new generation without the units that are left out, so that the NameNode treats their replicas
// as incomplete.
func (s *StripedBlock) renew() (*hdfsproto.ExtendedBlock, error) {
	ctx := context.Background()
	for {
		located, err := s.nameNode.Renew(ctx, s.located.GetBlock())
		if err != nil {
			return nil, err
		}
		fresh := located.GetBlock()
		nodes, storages, again := make([]*hdfsproto.DatanodeInfo, len(s.units)), make([]string, len(s.units)), false
		for i := range s.units {
			u := &s.units[i]
			nodes[i] = noNode()
			if u.block == nil || u.err != nil {
				continue
			}
			token := located.GetToken()
			if k := slices.Index(located.GetIndices(), byte(i)); k >= 0 && k < len(located.Tokens) {
				token = located.Tokens[k]
			}
			if u.err = u.block.reclose(fresh.GetGenerationStamp(), token); u.err != nil {
				again = true
				continue
			}
			nodes[i], storages[i] = u.block.line.nodes[0], u.block.line.storages[0]
		}
		if err := s.enough(); err != nil {
			return nil, err
		}
		if again {
			continue
		}
		old := proto.CloneOf(s.located.GetBlock())
		old.NumBytes, fresh.NumBytes = proto.Uint64(uint64(s.length)), proto.Uint64(uint64(s.length))
		return fresh, s.nameNode.Replace(ctx, old, fresh, nodes, storages)
	}
}

// noNode stands for a missing DataNode (DatanodeID.EMPTY_DATANODE_ID).
func noNode() *hdfsproto.DatanodeInfo {
	null := "null"
	return &hdfsproto.DatanodeInfo{Id: &hdfsproto.DatanodeID{
		IpAddr: &null, HostName: &null, Uuid: &null, TransferPort: new(uint32), InfoPort: new(uint32), IpcPort: new(uint32), InfoSecurePort: new(uint32),
	}}
}

// Abort ends the block group as it is.
func (s *StripedBlock) Abort() {
	for _, u := range s.units {
		if u.block != nil {
			u.block.Abort()
		}
	}
}

// Hash returns the checksum of the block group: the MD5 of the checksums of the chunks of the data units, followed by the zeros of the
// DataNode's buffer, which has 32 bytes and grows by doubling (BlockGroupNonStripedChecksumComputer).
func (s *StripedBlock) Hash(sums []uint32) [md5.Size]byte {
	var all []byte
	per := int(s.cell / Chunk) // sums of a cell
	for number := range s.data {
		var of []uint32
		for first := number * per; first < len(sums); first += per * s.data {
			of = append(of, sums[first:min(first+per, len(sums))]...)
		}
		if len(of) > 0 {
			hash := hashSums(of)
			all = append(all, hash[:]...)
		}
	}
	size := 2 * md5.Size
	for size < len(all) {
		size *= 2
	}
	return md5.Sum(append(all, make([]byte, size-len(all))...))
}
