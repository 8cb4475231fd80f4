package client

import (
	"bytes"
	"io"
	"net/http"

	"github.com/paddlecloud/pfs/pfs/wire"
)

// grouping shares files out among as few batches as their bounds allow, in their order.
type grouping struct {
	send func(group []int) // the numbers of what is sent together; the slice is used again

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

// flush sends what was taken and not yet sent.
func (g *grouping) flush() {
	if len(g.group) > 0 {
		g.send(g.group)
	}
	g.group, g.size, g.listed = g.group[:0], 0, 0
}

// leading is a request of nothing but the message that leads a batch.
func leading(op, path string, lead any) message {
	var body bytes.Buffer
	_ = wire.WriteFrame(&body, lead) // a Buffer takes everything
	return message{
		op: op, method: http.MethodPost, path: path, kind: wire.TypeChunk,
		body: func() (io.Reader, int64) { return bytes.NewReader(body.Bytes()), int64(body.Len()) },
	}
}
