package client

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// BlockLocations asks the service for the blocks of a range of name.
func (c *Client) BlockLocations(ctx context.Context, name pfs.Path, off, n int64) (blocks []pfs.BlockLocation, err error) {
	const op = "client.BlockLocations"
	for more := true; more; {
		var reply wire.LocateReply
		err := c.ask(ctx, op, wire.CallLocate, name, wire.LocateRequest{Path: string(name), Off: off, Length: n}, &reply)
		if err != nil {
			return nil, err
		}
		for _, b := range reply.Blocks {
			blocks = append(blocks, pfs.BlockLocation{Offset: b.Off, Length: b.Length, Hosts: b.Hosts})
		}
		if more = reply.More && len(reply.Blocks) > 0; more {
			last := blocks[len(blocks)-1]
			next := last.Offset + last.Length
			if next-off >= n { // the range is complete
				return blocks, nil
			}
			if next <= off { // the reply has made no progress, and neither would the next one
				return blocks, nil
			}
			off, n = next, n-(next-off)
		}
	}
	return blocks, nil
}
