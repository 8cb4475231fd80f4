package datanode

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/reedsolomon"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

// An erasure-coded file consists of block groups. A group has a block for each unit of data and of parity, each on another
// DataNode. The bytes of the group go to the data units in turn, a cell each time. The cells at the same offset of all
// units are a stripe; where a unit has none, because the file ends, it counts as zeros.

// layout is the layout of a block group.
type layout struct {
	codec        string
	data, parity int   // units
	cell, length int64 // in bytes, of a cell and of the data of the group
}

// builtIn are the policies of which a NameNode sends only the number, from SystemErasureCodingPolicies.
var builtIn = map[uint32]layout{
	1: {codec: "rs", data: 6, parity: 3, cell: 1 << 20},
	2: {codec: "rs", data: 3, parity: 2, cell: 1 << 20},
	3: {codec: "rs-legacy", data: 6, parity: 3, cell: 1 << 20},
	4: {codec: "xor", data: 2, parity: 1, cell: 1 << 20},
	5: {codec: "rs", data: 10, parity: 4, cell: 1 << 20},
}

// policyLayout returns the layout of groups under a policy.
func policyLayout(p *hdfsproto.ErasureCodingPolicy) layout {
	if s := p.GetSchema(); s != nil {
		return layout{codec: s.GetCodec(), data: int(s.GetDataUnits()), parity: int(s.GetParityUnits()), cell: int64(p.GetCellSize())}
	}
	return builtIn[p.GetId()]
}

func (l layout) valid() bool {
	return l.data >= 1 && l.parity >= 1 && l.data+l.parity <= 256 && l.cell >= 1
}

// newLayout returns the layout of a group under a policy.
func newLayout(p *hdfsproto.ErasureCodingPolicy, group *hdfsproto.LocatedBlock) (layout, error) {
	l := policyLayout(p)
	l.length = int64(group.GetBlock().GetNumBytes())
	if !l.valid() || len(group.GetIndices()) != len(group.GetLocations()) {
		return l, errMalformed
	}
	return l, nil
}

// reedSolomon returns Hadoop's code: its matrix is that of Cauchy, over the same field.
func (l layout) reedSolomon() (reedsolomon.Encoder, error) {
	return reedsolomon.New(l.data, l.parity, reedsolomon.WithCauchyMatrix())
}

// unitBlock returns the block of a unit of a group.
func (l layout) unitBlock(group *hdfsproto.ExtendedBlock, unit int) *hdfsproto.ExtendedBlock {
	return &hdfsproto.ExtendedBlock{
		PoolId: group.PoolId, GenerationStamp: group.GenerationStamp,
		BlockId:  proto.Uint64(group.GetBlockId() + uint64(unit)),
		NumBytes: proto.Uint64(uint64(l.unitLength(unit))),
	}
}

// unitLength is the number of bytes of a unit.
func (l layout) unitLength(unit int) int64 {
	stripe := l.cell * int64(l.data)
	rest := l.length % stripe
	if unit < l.data {
		rest -= int64(unit) * l.cell
	}
	return l.length/stripe*l.cell + min(max(rest, 0), l.cell)
}

// unitOffset returns the offset in a data unit of its first byte at or after off in the group.
func (l layout) unitOffset(unit int, off int64) int64 {
	stripe, in := off/(l.cell*int64(l.data)), off%(l.cell*int64(l.data))
	return stripe*l.cell + min(max(in-int64(unit)*l.cell, 0), l.cell)
}

// scatter calls f for each part of a cell in the bytes from at to end of a unit: with its offset in the group, and its length.
func (l layout) scatter(unit int, at, end int64, f func(off, n int64)) {
	for at < end {
		n := min(l.cell-at%l.cell, end-at)
		f((at/l.cell*int64(l.data)+int64(unit))*l.cell+at%l.cell, n)
		at += n
	}
}

// rebuild computes the wanted unit from the other units that are not nil. There are as many of them as data units.
func (l layout) rebuild(units [][]byte, wanted int) ([]byte, error) {
	switch l.codec {
	case "xor":
		var out []byte
		for _, u := range units {
			switch {
			case u == nil:
			case out == nil:
				out = append(out, u...)
			default:
				subtle.XORBytes(out, out, u)
			}
		}
		return out, nil
	case "rs":
		code, err := l.reedSolomon()
		if err != nil {
			return nil, err
		}
		want := make([]bool, l.data)
		want[wanted] = true
		if err := code.ReconstructSome(units, want); err != nil {
			return nil, err
		}
		return units[wanted], nil
	}
	return nil, fmt.Errorf("the erasure code %q is not supported: only rs and xor are", l.codec)
}

// group reads a block group.
type group struct {
	r       *Reader
	layout  layout
	block   *hdfsproto.LocatedBlock
	streams []*Stream // by unit

	mu      sync.Mutex
	lost    map[string]error // by address
	damaged []Damage
}

func (g *group) close() {
	for _, s := range g.streams {
		if s != nil {
			s.Close()
		}
	}
	clear(g.streams)
}

// readStriped is readAt of an erasure-coded file.
func (r *Reader) readStriped(ctx context.Context, policy *hdfsproto.ErasureCodingPolicy, p []byte, off int64) (n int, err error) {
	follows := r.read && off == r.end
	defer func() { r.read, r.end = true, off+int64(n) }()
	for fresh := false; n < len(p); {
		at := off + int64(n)
		block, err := r.file.Block(ctx, at, fresh)
		if err != nil {
			return n, err
		}
		g := r.group
		if g == nil || fresh || g.block != block {
			r.Close()
			l, err := newLayout(policy, block)
			if err != nil {
				return n, err
			}
			g = &group{r: r, layout: l, block: block, streams: make([]*Stream, l.data+l.parity), lost: map[string]error{}}
			if r.group = g; !fresh {
				g.leaveOut()
			}
		}
		start := int64(block.GetOffset())
		part := p[n:min(int64(len(p)), int64(n)+start+g.layout.length-at)]
		err = g.read(ctx, part, at-start, follows)
		if err != nil && ctx.Err() == nil && !fresh && !errors.Is(err, errMalformed) {
			fresh = true // the replicas may have moved, or the token has expired
			continue
		}
		if err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// read fills p with the bytes of the group from off on: it reads the units in parallel, and then computes missing bytes.
func (g *group) read(ctx context.Context, p []byte, off int64, follows bool) error {
	l := g.layout
	missing := make([]int64, l.data) // where each unit stopped
	var work sync.WaitGroup
	for unit := range l.data {
		at, end := l.unitOffset(unit, off), l.unitOffset(unit, off+int64(len(p)))
		if missing[unit] = at; at == end {
			continue
		}
		work.Go(func() {
			l.scatter(unit, at, end, func(from, n int64) {
				if missing[unit] == l.unitOffset(unit, from) && g.readUnit(ctx, unit, p[from-off:from-off+n], missing[unit], end, follows) == nil {
					missing[unit] += n
				}
			})
		})
	}
	work.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for unit, at := range missing {
		end := l.unitOffset(unit, off+int64(len(p)))
		if at == end {
			continue
		}
		bytes, err := g.restore(ctx, unit, at, end)
		if err != nil {
			return err
		}
		l.scatter(unit, at, end, func(from, n int64) {
			copy(p[from-off:], bytes[:n])
			bytes = bytes[n:]
		})
	}
	return nil
}

// restore computes the bytes of a unit from at to end from other units.
func (g *group) restore(ctx context.Context, wanted int, at, end int64) ([]byte, error) {
	l := g.layout
	units, have := make([][]byte, l.data+l.parity), 0
	for next := 0; have < l.data; {
		var work sync.WaitGroup
		for asked := have; asked < l.data && next < len(units); next++ {
			if next == wanted {
				continue
			}
			unit := next
			asked++
			work.Go(func() {
				p := make([]byte, end-at)
				last := min(end, l.unitLength(unit))
				if last <= at || g.readUnit(ctx, unit, p[:last-at], at, last, false) == nil {
					units[unit] = p
				}
			})
		}
		work.Wait()
		have = 0
		for _, u := range units {
			if u != nil {
				have++
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if have < l.data && next == len(units) {
			g.mu.Lock()
			defer g.mu.Unlock()
			return nil, replicasError(g.damaged, g.lost)
		}
	}
	return l.rebuild(units, wanted)
}

// readUnit fills p with the bytes of a unit from at on. If it has no Stream there, it opens one: to the end of the unit if
// the read follows the one before, else to end.
func (g *group) readUnit(ctx context.Context, unit int, p []byte, at, end int64, follows bool) error {
	s := g.streams[unit]
	if s != nil && s.at != at {
		s.Close()
		s = nil
	}
	if follows {
		end = g.layout.unitLength(unit)
	}
	for i, index := range g.block.GetIndices() {
		if int(index) != unit || len(p) == 0 {
			continue
		}
		replica := Replica{g.r.file.Address(g.block.Locations[i].GetId()), g.layout.unitBlock(g.block.GetBlock(), unit), g.block.Token}
		if i < len(g.block.Tokens) {
			replica.Token = g.block.Tokens[i]
		}
		if s == nil && g.isLost(replica.Address) {
			continue
		}
		err := error(nil)
		if s == nil {
			s, err = g.r.client.Open(ctx, replica, at, end-at)
		}
		for err == nil && len(p) > 0 {
			var n int
			n, err = s.Read(ctx, p)
			p, at = p[n:], at+int64(n)
		}
		if len(p) == 0 {
			if err == io.EOF {
				s = nil
			}
			break
		}
		s = nil
		if ctx.Err() == nil {
			g.failed(i, replica, err)
		}
	}
	g.streams[unit] = s
	if len(p) > 0 {
		return errors.New("the unit cannot be read")
	}
	return nil
}

// errSuspected is the error of a DataNode that is not asked because it failed recently.
var errSuspected = errors.New("it failed less than a minute ago")

// leaveOut excludes the DataNodes that failed recently, if enough others are left.
func (g *group) leaveOut() {
	for _, node := range g.block.GetLocations() {
		if a := g.r.file.Address(node.GetId()); g.r.client.suspected(a) {
			g.lost[a] = errSuspected
		}
	}
	if len(g.lost) > g.layout.parity {
		clear(g.lost)
	}
}

func (g *group) isLost(address string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lost[address] != nil
}

// failed notes that a unit could not be read from one of the locations.
func (g *group) failed(location int, replica Replica, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lost[replica.Address] = err
	var damaged *DamagedError
	var refused *RefusedError
	switch {
	case errors.As(err, &damaged):
		d := Damage{Block: replica.Block.GetBlockId(), Offset: damaged.Offset, Address: replica.Address}
		g.damaged = append(g.damaged, d)
		bad := onlyLocation(g.block, location)
		bad.Block, bad.Token = replica.Block, replica.Token
		g.r.file.Damaged(d, bad)
	case !errors.As(err, &refused):
		g.r.client.suspect(replica.Address)
	}
}
