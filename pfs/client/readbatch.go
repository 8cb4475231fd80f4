package client

import (
	"bufio"
	"context"
	"io"
	"net/http"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// ReadBatch asks for the files in as few requests as their bounds allow.
func (c *Client) ReadBatch(ctx context.Context, files []pfs.BatchFile) []error {
	const op = "client.ReadBatch"
	errs := make([]error, len(files))
	g := grouping{send: func(group []int) { c.readGroup(ctx, files, group, errs) }}
	for i, f := range files {
		if errs[i] = pfs.CheckPath(op, f.Path); errs[i] != nil {
			continue
		}
		if !g.add(i, int64(len(f.Data)), readFile(f).EncodedBound()) {
			errs[i] = pfs.ReadBatch(ctx, struct{ pfs.FileSystem }{c}, files[i:i+1])[0]
		}
	}
	g.flush()
	return errs
}

// readGroup reads the files whose indices are in group as one batch and fills their errs.
func (c *Client) readGroup(ctx context.Context, files []pfs.BatchFile, group []int, errs []error) {
	const op = "client.ReadBatch"
	err := pfs.CheckContext(ctx, op, "")
	if err == nil {
		var request wire.ReadRequest
		for _, i := range group {
			request.Files = append(request.Files, readFile(files[i]))
		}
		err = c.send(ctx, leading(op, wire.PathRead, request), func(resp *http.Response, touch func()) error {
			return receiveBatch(&touching{resp.Body, touch}, files, group, errs)
		})
	}
	if err != nil {
		for _, i := range group {
			errs[i] = named(err, message{name: files[i].Path})
		}
	}
}

// readFile describes the file of e.
func readFile(f pfs.BatchFile) wire.ReadFile {
	return wire.ReadFile{Path: string(f.Path), Size: int64(len(f.Data))}
}

// receiveBatch reads the answer to a batch.
func receiveBatch(body io.Reader, files []pfs.BatchFile, group []int, errs []error) error {
	const op = "client.ReadBatch"
	r := bufio.NewReaderSize(body, 64<<10)
	var reply wire.ReadReply
	if err := wire.ReadFrame(r, &reply); err != nil {
		return err
	}
	if len(reply.Files) != len(group) {
		return pfs.Errorf(op, "", pfs.Other, "the service returned %d files instead of %d", len(reply.Files), len(group))
	}
	for k, i := range group {
		f, got := &files[i], reply.Files[k]
		if got.Error != nil {
			errs[i] = named(got.Error.Err(), message{name: f.Path})
			continue
		}
		f.Info, errs[i] = got.Info.Info(), nil
		if f.Info.Size != int64(len(f.Data)) {
			return pfs.Errorf(op, f.Path, pfs.Other, "the service sent %d bytes instead of %d", f.Info.Size, len(f.Data))
		}
		if err := wire.ReadChunk(r, f.Data); err != nil {
			return err
		}
	}
	return nil
}
