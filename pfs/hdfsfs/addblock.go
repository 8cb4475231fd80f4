package hdfsfs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"google.golang.org/protobuf/proto"
)

// blockPauses are the pauses before each repetition of addBlock when the NameNode finds no DataNodes for the block.
var blockPauses = []time.Duration{0, 50 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, 500 * time.Millisecond,
	time.Second, time.Second, 2 * time.Second, 2 * time.Second, 3 * time.Second}

// maxFew is how often addBlock is repeated if the NameNode names fewer than two DataNodes although more seem to be alive.
// The NameNode may take the others for too busy.
const maxFew = 6

// nextBlock begins the next block of the file. The NameNode still chooses a DataNode for minutes after it died. So nextBlock
// excludes the DataNodes that failed here in the last minute, unless the NameNode then names fewer than two: the failed ones
// may be back. If a chosen DataNode is still down, a replicated file asks for another block, but a block group loses a unit. So
// an erasure-coded file first waits for DataNodes that are too busy. Each attempt with silent DataNodes takes a timeout, so
// nextBlock gives up after two timeouts.
func (a *attempt) nextBlock() error {
	ctx := context.Background()
	var failed []*hdfsproto.DatanodeInfo // for this block
	var node *datanode.PipelineError     // the last failure
	dead := a.fs.nodes.Dead()
	end := time.Now().Add(a.limit())
	for i := 0; ; {
		located, err := a.addBlock(ctx, slices.Concat(failed, dead))
		few := err == nil && len(located.GetLocations()) < min(2, a.replicas, a.fs.nodes.Alive(failed))
		again := few || is(err, pfs.Unavailable) && !nameNodeSilent(err)
		if again && len(dead) > 0 || few && i < maxFew {
			if err == nil {
				err = a.abandonBlock(ctx, located)
			}
			if len(dead) > 0 && (a.coding.policy == nil || i == maxFew) {
				dead = nil
			} else if i++; err == nil || is(err, pfs.Unavailable) {
				err = wait(ctx, blockPauses[i-1])
			}
			if err == nil || is(err, pfs.Unavailable) {
				continue
			}
		}
		if err == nil {
			if err = a.create(located); err == nil {
				return nil
			}
			if !errors.As(err, &node) {
				return err
			}
			failed = append(failed, node.Bad...)
			if err := a.abandonBlock(ctx, located); err != nil {
				return err
			}
			if len(node.Bad) > 0 {
				continue
			}
		}
		if full := a.full(ctx, err); full != nil {
			return full
		}
		if i == len(blockPauses) || time.Now().After(end) || !is(err, pfs.Unavailable) || nameNodeSilent(err) {
			if node != nil && is(err, pfs.Unavailable) {
				return node // it says more
			}
			return err
		}
		if err := wait(ctx, blockPauses[i]); err != nil {
			return err
		}
		i++
		failed = nil
	}
}

// create begins to write a block that the NameNode has named.
func (a *attempt) create(located *hdfsproto.LocatedBlock) (err error) {
	var b block
	if a.coding.policy == nil {
		b, err = a.fs.nodes.Create(a, located, a.options(), a.sums)
	} else {
		b, err = a.fs.nodes.CreateStriped(a, a.coding.policy, located, a.options(), a.sums)
	}
	if err == nil {
		a.now = b
	}
	return err
}

// addBlock asks the NameNode for a block. The NameNode refuses until a DataNode has reported the block before the last. A
// repeated call returns the same block, also from another NameNode.
func (a *attempt) addBlock(ctx context.Context, excluded []*hdfsproto.DatanodeInfo) (*hdfsproto.LocatedBlock, error) {
	end := time.Now().Add(a.limit())
	for pause := firstPause; ; pause = min(2*pause, time.Second) {
		var resp hdfsproto.AddBlockResponse
		err := a.fs.ask(ctx, "addBlock", &hdfsproto.AddBlockRequest{
			Path: &a.path, Holder: &a.holder, Previous: a.last, Excluded: excluded, Inode: &a.inode,
		}, &resp, rpc.Idempotent)
		if err == nil {
			a.fs.noteBlockPool(resp.GetBlock().GetBlock().GetPoolId())
			return resp.GetBlock(), nil
		}
		if exception(err) != notReplicatedYet || time.Now().After(end) {
			return nil, err
		}
		if err := wait(ctx, pause); err != nil {
			return nil, err
		}
	}
}

func (a *attempt) abandonBlock(ctx context.Context, b *hdfsproto.LocatedBlock) error {
	return a.fs.ask(ctx, "abandonBlock", &hdfsproto.AbandonBlockRequest{Block: b.GetBlock(), Path: &a.path, Holder: &a.holder, Inode: &a.inode},
		new(hdfsproto.AbandonBlockResponse), rpc.Idempotent)
}

// fewBlocks is the number of blocks, with their replicas, for which the cluster must have space: with less space it counts as
// full. A NameNode counts each block that others write with its whole length, and an abandoned block for ten minutes.
const fewBlocks = 8

// full returns the error of a cluster that has hardly any space left for a block. It returns nil if there is space: then the
// DataNodes may be down or busy.
func (a *attempt) full(ctx context.Context, err error) error {
	var remote *rpc.RemoteError
	if !errors.As(err, &remote) || remote.Method != "addBlock" {
		return nil
	}
	all, failed := a.fs.clusterSpace(ctx)
	if failed != nil || all.GetCapacity() == 0 || all.GetRemaining()/uint64(max(1, a.replicas)) >= fewBlocks*uint64(a.block) {
		return nil
	}
	return pfs.Errorf("hdfsfs.attempt", "", pfs.NoSpace, "the DataNodes have %d bytes left, and a block has %d", all.GetRemaining(), a.block)
}

// attempt is the NameNode of its blocks.
var _ datanode.NameNode = (*attempt)(nil)

// Renew implements datanode.NameNode.
func (a *attempt) Renew(ctx context.Context, block *hdfsproto.ExtendedBlock) (*hdfsproto.LocatedBlock, error) {
	var resp hdfsproto.UpdateBlockForPipelineResponse
	req := &hdfsproto.UpdateBlockForPipelineRequest{Block: block, Holder: &a.holder}
	err := a.insist(ctx, a.limit(), func() error { return a.fs.ask(ctx, mendPipeline, req, &resp, rpc.Idempotent) })
	return resp.GetBlock(), err
}

// Replace implements datanode.NameNode.
func (a *attempt) Replace(ctx context.Context, block, fresh *hdfsproto.ExtendedBlock, nodes []*hdfsproto.DatanodeInfo, storages []string) error {
	req := &hdfsproto.UpdatePipelineRequest{Holder: &a.holder, Old: block, New: fresh, StorageIds: storages}
	for _, n := range nodes {
		req.Nodes = append(req.Nodes, n.GetId())
	}
	return a.fs.ask(ctx, "updatePipeline", req, new(hdfsproto.UpdatePipelineResponse), rpc.Cached)
}

// Another implements datanode.NameNode.
func (a *attempt) Another(ctx context.Context, block *hdfsproto.ExtendedBlock, nodes []*hdfsproto.DatanodeInfo, storages []string, excluded []*hdfsproto.DatanodeInfo) (*hdfsproto.LocatedBlock, error) {
	var resp hdfsproto.GetAdditionalDatanodeResponse
	err := a.fs.ask(ctx, "getAdditionalDatanode", &hdfsproto.GetAdditionalDatanodeRequest{
		Path: &a.path, Block: block, Existing: nodes, Excluded: excluded, Wanted: proto.Uint32(1), Holder: &a.holder, ExistingStorageIds: storages, Inode: &a.inode,
	}, &resp, rpc.Idempotent)
	return resp.GetBlock(), err
}

// Address implements datanode.NameNode.
func (a *attempt) Address(node *hdfsproto.DatanodeID) string {
	return datanode.Address(node, a.fs.opts.DatanodeHostname)
}
