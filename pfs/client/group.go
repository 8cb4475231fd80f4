package client

import (
	"bytes"
	"io"
	"net/http"

	"github.com/paddlecloud/pfs/pfs/wire"
)

// grouping distributes files, in order, over as few batches as the bounds allow.
type grouping struct {
	send func(group []int) // gets the numbers of a batch; the slice is reused

	group  []int
	size   int64 // bytes of content
	listed int   // bytes, at most, of the message that lists them
}

// add takes the file i of size bytes, whose entry in the message has at most listed bytes.
// If no batch can take the file, add refuses it and sends the files before it.
func (g *grouping) add(i int, size int64, listed int) (taken bool) {
	if size > wire.MaxBatchBytes {
		g.flush()
		return false
	}
	if g.size+size > wire.MaxBatchBytes || g.listed+listed > wire.MaxListed || len(g.group) == wire.MaxBatchEntries {
		g.flush()
	}
	g.group, g.size, g.listed = append(g.group, i), g.size+size, g.listed+listed
	return true
}

// flush sends the files that were taken and not yet sent.
func (g *grouping) flush() {
	if len(g.group) > 0 {
		g.send(g.group)
	}
	g.group, g.size, g.listed = g.group[:0], 0, 0
}

// leading returns a request that consists of the leading message of a batch.
func leading(op, path string, lead any) message {
	var body bytes.Buffer
	_ = wire.WriteFrame(&body, lead) // a Buffer takes everything
	return message{
		op: op, method: http.MethodPost, path: path, kind: wire.TypeChunk,
		body: func() (io.Reader, int64) { return bytes.NewReader(body.Bytes()), int64(body.Len()) },
	}
}
