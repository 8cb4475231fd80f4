package client

import "github.com/paddlecloud/pfs/pfs/wire"

// entryOverhead bounds the bytes of an encoded entry of a batch beside its strings.
const entryOverhead = 160

// grouping shares files out among as few batches as their bounds allow, in their order.
type grouping struct {
	send func(group []int) // what is sent together, by number; kept by nobody

	group      []int
	size, text int64 // bytes of content, and of the message that lists them
}

// add takes the file i, of size bytes, whose strings have text bytes. A file that no batch
// can take is not taken, and what came before it is sent.
func (g *grouping) add(i int, size int64, text int) (taken bool) {
	if size > wire.MaxBatchBytes {
		g.flush()
		return false
	}
	about := entryOverhead + int64(text)
	if g.size+size > wire.MaxBatchBytes || g.text+about > wire.MaxMessage || len(g.group) == wire.MaxBatchEntries {
		g.flush()
	}
	g.group, g.size, g.text = append(g.group, i), g.size+size, g.text+about
	return true
}

// flush sends what was taken and not yet sent.
func (g *grouping) flush() {
	if len(g.group) > 0 {
		g.send(g.group)
	}
	g.group, g.size, g.text = g.group[:0], 0, 0
}
