package hdfsfs

import (
	"context"
	"fmt"
	"slices"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"google.golang.org/protobuf/proto"
)

const (
	// blocksAhead is the number of blocks that one request asks for.
	blocksAhead = 32
	// maxBlocks is the number of blocks that an open file remembers.
	maxBlocks = 512
)

// located asks the NameNode for the blocks of n bytes from off on of the file at a path in HDFS.
func (f *FS) located(ctx context.Context, at string, off, n int64) (*hdfsproto.LocatedBlocks, error) {
	var resp hdfsproto.GetBlockLocationsResponse
	req := &hdfsproto.GetBlockLocationsRequest{Path: &at, Offset: proto.Uint64(uint64(off)), Length: proto.Uint64(uint64(n))}
	if err := f.client.rpc.Call(ctx, "getBlockLocations", req, &resp, rpc.Idempotent); err != nil {
		return nil, err
	}
	if resp.Locations == nil {
		return nil, pfs.NotExist
	}
	for _, b := range resp.Locations.Blocks {
		f.noteBlockPool(b.GetBlock().GetPoolId())
	}
	return resp.Locations, nil
}

// Block implements datanode.File.
func (h *file) Block(ctx context.Context, off int64, fresh bool) (*hdfsproto.LocatedBlock, error) {
	if b := h.block(off); b != nil && !fresh {
		return b, nil
	}
	found, err := h.fs.located(ctx, inode(h.st.id), off, min(h.st.Size-off, blocksAhead*max(h.st.BlockSize, 1)))
	if err != nil {
		return nil, err
	}
	all := found.Blocks
	if last := found.LastBlock; !found.GetLastBlockComplete() && last != nil {
		all = append(all, last)
	}
	h.remember(all, found.GetErasureCoding())
	if b := h.block(off); b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("the NameNode knows no block of the file that has byte %d", off)
}

// contains compares a block with an offset in the file.
func contains(b *hdfsproto.LocatedBlock, off int64) int {
	switch start := int64(b.GetOffset()); {
	case start > off:
		return 1
	case start+int64(b.GetBlock().GetNumBytes()) <= off:
		return -1
	}
	return 0
}

// block returns the block that has the byte at off, if it is known.
func (h *file) block(off int64) *hdfsproto.LocatedBlock {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i, ok := slices.BinarySearchFunc(h.blocks, off, contains); ok {
		return h.blocks[i]
	}
	return nil
}

// remember adds the NameNode's information about blocks, which replaces older information.
func (h *file) remember(blocks []*hdfsproto.LocatedBlock, policy *hdfsproto.ErasureCodingPolicy) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.policy = policy
	if len(h.blocks)+len(blocks) > maxBlocks {
		h.blocks = nil
	}
	for _, b := range blocks {
		i, ok := slices.BinarySearchFunc(h.blocks, int64(b.GetOffset()), contains)
		if ok {
			h.blocks[i] = b
		} else {
			h.blocks = slices.Insert(h.blocks, i, b)
		}
	}
}

// Policy implements datanode.File.
func (h *file) Policy() *hdfsproto.ErasureCodingPolicy {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.policy
}

// Address implements datanode.File.
func (h *file) Address(node *hdfsproto.DatanodeID) string {
	return datanode.Address(node, h.fs.opts.DatanodeHostname)
}

// Damaged implements datanode.File. It reports the damage to the NameNode, which removes the replica if there is a good one.
func (h *file) Damaged(d datanode.Damage, block *hdfsproto.LocatedBlock) {
	h.fs.opts.Logger.Warn("a replica is damaged", "file", h.name, "block", fmt.Sprintf("blk_%d", int64(d.Block)), "offset", d.Offset, "datanode", d.Address)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), h.fs.opts.Timeout)
		defer cancel()
		err := h.fs.client.rpc.Call(ctx, "reportBadBlocks", &hdfsproto.ReportBadBlocksRequest{Blocks: []*hdfsproto.LocatedBlock{block}},
			new(hdfsproto.ReportBadBlocksResponse), rpc.Idempotent)
		if err != nil {
			h.fs.opts.Logger.Warn("the NameNode was not told of a damaged replica", "block", fmt.Sprintf("blk_%d", int64(d.Block)), "error", err)
		}
	}()
}
