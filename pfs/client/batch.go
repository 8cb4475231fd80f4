package client

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// WriteBatch sends the entries in as few requests as their bounds allow.
func (c *Client) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	const op = "client.WriteBatch"
	errs := make([]error, len(entries))
	g := grouping{send: func(group []int) { c.writeGroup(ctx, entries, group, errs) }}
	for i, e := range entries {
		if errs[i] = pfs.CheckPath(op, e.Path); errs[i] != nil {
			continue
		}
		if !g.add(i, int64(len(e.Data)), batchEntry(e).EncodedBound()) {
			errs[i] = c.writeOne(ctx, e)
		}
	}
	g.flush()
	return errs
}

// writeGroup sends the entries whose indices are in group as one batch and fills their errs.
func (c *Client) writeGroup(ctx context.Context, entries []pfs.BatchEntry, group []int, errs []error) {
	const op = "client.WriteBatch"
	batch := make([]pfs.BatchEntry, len(group))
	for k, i := range group {
		batch[k] = entries[i]
	}
	var reply wire.BatchReply
	err := pfs.CheckContext(ctx, op, "")
	if err == nil {
		body := encodeBatch(batch)
		m := message{
			op: op, method: http.MethodPost, path: wire.PathBatch, kind: wire.TypeChunk, id: pfs.NewID(),
			body: func() (io.Reader, int64) { return bytes.NewReader(body), int64(len(body)) },
		}
		err = c.send(ctx, m, c.replyTo(m, &reply, nil))
	}
	if err != nil {
		for _, i := range group {
			errs[i] = named(err, message{name: entries[i].Path})
		}
		return
	}
	for _, f := range reply.Failed {
		if f.Index >= 0 && f.Index < len(group) {
			i := group[f.Index]
			errs[i] = named(f.Error.Err(), message{name: entries[i].Path})
		}
	}
}

// encodeBatch returns the body of a batch.
func encodeBatch(entries []pfs.BatchEntry) []byte {
	var m wire.BatchRequest
	var b bytes.Buffer
	for _, e := range entries {
		m.Entries = append(m.Entries, batchEntry(e))
	}
	_ = wire.WriteFrame(&b, m) // a Buffer takes everything
	for _, e := range entries {
		if !e.Mode.IsDir() {
			_, _ = wire.NewChunkReader(e.Data).WriteTo(&b)
		}
	}
	return b.Bytes()
}

// batchEntry describes e without its content.
func batchEntry(e pfs.BatchEntry) wire.BatchEntry {
	return wire.BatchEntry{
		Path: string(e.Path), Mode: wire.ModeBits(e.Mode), Time: wire.NewOptionalTime(e.ModTime),
		Size: int64(len(e.Data)), Digest: e.Digest, NoReplace: e.NoReplace,
	}
}

// writeOne makes a file that no batch can take.
func (c *Client) writeOne(ctx context.Context, e pfs.BatchEntry) error {
	w, err := c.Create(ctx, e.Path, pfs.CreateOptions{Size: int64(len(e.Data))})
	if err != nil {
		return err
	}
	defer w.Close(ctx)
	if _, err := w.WriteAt(ctx, e.Data, 0); err != nil {
		return err
	}
	_, err = w.Commit(ctx, e.Commit())
	return err
}
