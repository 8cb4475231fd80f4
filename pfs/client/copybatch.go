package client

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// CopyBatch asks for the copies in as few requests as their bounds allow.
func (c *Client) CopyBatch(ctx context.Context, files []pfs.BatchCopy) []error {
	const op = "client.CopyBatch"
	errs := make([]error, len(files))
	g := grouping{send: func(group []int) { c.copyGroup(ctx, files, group, errs) }}
	for i, f := range files {
		if errs[i] = pfs.CheckPath(op, f.Source); errs[i] == nil {
			errs[i] = pfs.CheckPath(op, f.Target)
		}
		if errs[i] == nil && !g.add(i, f.Size, copyFile(f).EncodedBound()) {
			errs[i] = pfs.E(op, f.Target, pfs.Unsupported, nil)
		}
	}
	g.flush()
	return errs
}

// copyGroup copies the files whose indices are in group as one batch, and fills their errs and
// digests.
func (c *Client) copyGroup(ctx context.Context, files []pfs.BatchCopy, group []int, errs []error) {
	const op = "client.CopyBatch"
	var reply wire.BatchReply
	err := pfs.CheckContext(ctx, op, "")
	if err == nil {
		var request wire.CopyBatchRequest
		for _, i := range group {
			request.Files = append(request.Files, copyFile(files[i]))
		}
		m := leading(op, wire.PathCopy, request)
		m.id = pfs.NewID()
		err = c.send(ctx, m, c.replyTo(m, &reply, nil))
	}
	if err == nil && len(reply.Digests) != len(group) {
		err = pfs.Errorf(op, "", pfs.Other, "the service returned %d digests instead of %d", len(reply.Digests), len(group))
	}
	for k, i := range group {
		if err != nil {
			errs[i] = named(err, message{name: files[i].Target})
		} else {
			files[i].Digest = reply.Digests[k]
		}
	}
	for _, f := range reply.Failed {
		if err == nil && f.Index >= 0 && f.Index < len(group) {
			i := group[f.Index]
			name := files[i].Target
			if f.Source {
				name = files[i].Source
			}
			errs[i] = named(f.Error.Err(), message{name: name})
		}
	}
}

// copyFile describes the copy f.
func copyFile(f pfs.BatchCopy) wire.CopyFile {
	return wire.CopyFile{Source: string(f.Source), Target: string(f.Target), Size: f.Size, NoReplace: f.NoReplace, NewTime: f.NewTime}
}
