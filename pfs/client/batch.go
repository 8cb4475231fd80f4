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
	errs := make([]error, len(entries))
	for i := 0; i < len(entries); {
		n, size := 0, int64(0)
		for ; i+n < len(entries) && n < wire.MaxBatchEntries; n++ {
			size += int64(len(entries[i+n].Data))
			if size > wire.MaxBatchBytes {
				break
			}
		}
		if n == 0 { // too large for any batch
			errs[i] = c.writeOne(ctx, entries[i])
			i++
			continue
		}
		c.writeBatch(ctx, entries[i:i+n], errs[i:i+n])
		i += n
	}
	return errs
}

// writeBatch sends one batch and fills errs.
func (c *Client) writeBatch(ctx context.Context, entries []pfs.BatchEntry, errs []error) {
	const op = "client.WriteBatch"
	fail := func(err error) {
		for i := range errs {
			if errs[i] = err; err != nil {
				errs[i] = named(err, message{name: entries[i].Path})
			}
		}
	}
	for _, e := range entries {
		if err := pfs.CheckPath(op, e.Path); err != nil {
			fail(err)
			return
		}
	}
	if err := pfs.CheckContext(ctx, op, ""); err != nil {
		fail(err)
		return
	}
	body := encodeBatch(entries)
	m := message{
		op: op, method: http.MethodPost, path: wire.PathBatch, kind: wire.TypeChunk, id: pfs.NewID(),
		body: func() (io.Reader, int64) { return bytes.NewReader(body), int64(len(body)) },
	}
	var reply wire.BatchReply
	if err := c.send(ctx, m, c.replyTo(m, &reply, nil)); err != nil {
		fail(err)
		return
	}
	for _, f := range reply.Failed {
		if f.Index >= 0 && f.Index < len(errs) {
			errs[f.Index] = f.Error.Err()
		}
	}
}

// encodeBatch returns the body of a batch.
func encodeBatch(entries []pfs.BatchEntry) []byte {
	var m wire.BatchRequest
	var b bytes.Buffer
	for _, e := range entries {
		m.Entries = append(m.Entries, wire.BatchEntry{
			Path: string(e.Path), Mode: wire.ModeBits(e.Mode), Time: wire.NewOptionalTime(e.ModTime),
			Size: int64(len(e.Data)), Digest: e.Digest, NoReplace: e.NoReplace,
		})
	}
	_ = wire.WriteFrame(&b, m) // a Buffer takes everything
	for _, e := range entries {
		if !e.Mode.IsDir() {
			_, _ = wire.NewChunkReader(e.Data).WriteTo(&b)
		}
	}
	return b.Bytes()
}

// writeOne makes a file that no batch can take.
func (c *Client) writeOne(ctx context.Context, e pfs.BatchEntry) error {
	w, err := c.Create(ctx, e.Path, pfs.CreateOptions{Size: int64(len(e.Data))})
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.WriteAt(ctx, e.Data, 0); err != nil {
		return err
	}
	_, err = w.Commit(ctx, pfs.CommitOptions{
		Size: int64(len(e.Data)), Mode: e.Mode, ModTime: e.ModTime, Digest: e.Digest, NoReplace: e.NoReplace,
	})
	return err
}
