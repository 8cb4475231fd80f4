package datanode

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
)

const (
	opBlockChecksum      = 85
	opBlockGroupChecksum = 90
)

// Checksum returns the checksum of the checksums of a block of f, from a DataNode that has it. The DataNode reads no data.
func (c *Client) Checksum(ctx context.Context, f File, block *hdfsproto.LocatedBlock) (*hdfsproto.BlockChecksum, error) {
	request, err := checksumRequest(block, f.Policy())
	if err != nil {
		return nil, err
	}
	all := &ReplicasError{}
	for _, node := range block.GetLocations() {
		r := Replica{f.Address(node.GetId()), block.Block, block.Token}
		sum, err := c.askChecksum(ctx, r, request)
		if err == nil {
			return sum, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		all.Lost, all.Last = append(all.Lost, r.Address), err
	}
	return nil, all
}

// askChecksum asks one DataNode, which closes the connection after that.
func (c *Client) askChecksum(ctx context.Context, r Replica, request []byte) (*hdfsproto.BlockChecksum, error) {
	cn, err := c.connectNew(ctx, r)
	if err != nil {
		return nil, err
	}
	defer cn.Close()
	return cn.checksum(ctx, request, c.opts.Timeout)
}

// checksumRequest returns the request for a block, or for the block group of an erasure-coded file.
func checksumRequest(block *hdfsproto.LocatedBlock, policy *hdfsproto.ErasureCodingPolicy) ([]byte, error) {
	header := &hdfsproto.BaseHeader{Block: block.Block, Token: block.Token}
	if policy == nil {
		return appendMessage([]byte{0, version, opBlockChecksum}, &hdfsproto.OpBlockChecksum{Header: header})
	}
	group := &hdfsproto.OpBlockGroupChecksum{
		Header: header, Nodes: &hdfsproto.OpBlockGroupChecksum_Nodes{Nodes: block.Locations}, Tokens: block.Tokens, Policy: policy,
		Length: block.Block.NumBytes,
	}
	for _, i := range block.Indices {
		group.Indices = append(group.Indices, uint32(i))
	}
	return appendMessage([]byte{0, version, opBlockGroupChecksum}, group)
}

func (cn *conn) checksum(ctx context.Context, request []byte, limit time.Duration) (*hdfsproto.BlockChecksum, error) {
	stop := context.AfterFunc(ctx, func() { cn.Close() })
	defer stop()
	if err := cn.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	if _, err := cn.Write(request); err != nil {
		return nil, err
	}
	var resp hdfsproto.BlockOpResponse
	if err := readMessage(cn.in, &resp); err != nil {
		return nil, err
	}
	switch {
	case resp.GetStatus() != hdfsproto.Status_SUCCESS:
		return nil, &RefusedError{resp.GetStatus(), resp.GetMessage()}
	case len(resp.GetBlockChecksum().GetSum()) == 0:
		return nil, errMalformed
	}
	return resp.BlockChecksum, nil
}
