package client

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net/http"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// ReadRanges asks for the ranges in as few requests as their bounds allow. Ranges that are too long
// for a batch, and all ranges of a service that does not know ranges, are read chunk by chunk.
func (c *Client) ReadRanges(ctx context.Context, ranges []pfs.Range) []error {
	const op = "client.ReadRanges"
	errs := make([]error, len(ranges))
	g := grouping{send: func(group []int) { c.rangeGroup(ctx, ranges, group, errs) }}
	for i, r := range ranges {
		if errs[i] = cmp.Or(pfs.CheckPath(op, r.Path), pfs.CheckRange(op, r.Path, r.Off, len(r.Data))); errs[i] != nil {
			continue
		}
		if !g.add(i, int64(len(r.Data)), readRange(r).EncodedBound()) {
			c.rangeChunks(ctx, ranges, []int{i}, errs)
		}
	}
	g.flush()
	return errs
}

// readRange describes r.
func readRange(r pfs.Range) wire.ReadRange {
	return wire.ReadRange{Path: string(r.Path), Version: r.Version, Off: r.Off, Size: int64(len(r.Data))}
}

// rangeGroup reads the ranges whose indices are in group as one batch and fills their errs.
func (c *Client) rangeGroup(ctx context.Context, ranges []pfs.Range, group []int, errs []error) {
	const op = "client.ReadRanges"
	request := wire.ReadRequest{Ranges: make([]wire.ReadRange, len(group))}
	for k, i := range group {
		request.Ranges[k] = readRange(ranges[i])
	}
	known := true
	err := pfs.CheckContext(ctx, op, "")
	if err == nil {
		err = c.send(ctx, leading(op, wire.PathRead, request), func(resp *http.Response, touch func()) (err error) {
			known, err = receiveRanges(&touching{resp.Body, touch}, request.Ranges, ranges, group, errs)
			return err
		})
	}
	if err != nil {
		for _, i := range group {
			errs[i] = named(err, message{name: ranges[i].Path})
		}
	} else if !known {
		c.rangeChunks(ctx, ranges, group, errs)
	}
}

// rangeChunks reads the ranges whose indices are in group with requests for chunks.
func (c *Client) rangeChunks(ctx context.Context, ranges []pfs.Range, group []int, errs []error) {
	some := make([]pfs.Range, len(group))
	for k, i := range group {
		some[k] = ranges[i]
	}
	for k, err := range pfs.ReadRanges(ctx, struct{ pfs.FileSystem }{c}, some) {
		ranges[group[k]], errs[group[k]] = some[k], err
	}
}

// receiveRanges reads the answer to the ranges asked. It returns false if the service does not know
// ranges.
func receiveRanges(body io.Reader, asked []wire.ReadRange, ranges []pfs.Range, group []int, errs []error) (known bool, err error) {
	const op = "client.ReadRanges"
	r := bufio.NewReaderSize(body, 64<<10)
	var reply wire.ReadReply
	if err := wire.ReadFrame(r, &reply); err != nil {
		return true, err
	}
	if len(reply.Ranges) != len(asked) {
		if len(reply.Ranges) == 0 {
			return false, nil
		}
		return true, pfs.Errorf(op, "", pfs.Other, "the service returned %d ranges instead of %d", len(reply.Ranges), len(asked))
	}
	for k, i := range group {
		f, got := &ranges[i], reply.Ranges[k]
		if got.Error != nil {
			errs[i] = named(got.Error.Err(), message{name: f.Path})
			continue
		}
		if int64(got.Size) > asked[k].Size {
			return true, pfs.Errorf(op, f.Path, pfs.Other, "the service sent %d bytes instead of %d", got.Size, asked[k].Size)
		}
		f.Data, errs[i] = f.Data[:got.Size], nil // a repeated answer may be longer than the first one
		if err := wire.ReadChunk(r, f.Data); err != nil {
			return true, err
		}
	}
	return true, nil
}
