package aferofs

import (
	"hash/maphash"
	"io/fs"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// generations tells contents apart that have the same stamp: written within one
// tick of the clock, or with a time that was set. A content with a stamp later than
// all before has generation 0, so that its version is the same in every process;
// one that comes with an old stamp gets a number never given before.
//
// Memory is fixed: names share slots, and the last one to use a slot is the one
// whose generation is known.
type generations struct {
	mu    sync.Mutex
	given uint64
	slots [4096]generation
}

// generation is what is known of the name that used a slot last.
type generation struct {
	name   uint64 // hash
	stamp  int64  // of its content
	latest int64  // of all that used the slot
	n      uint64
}

var seed = maphash.MakeSeed()

func (g *generations) slot(name pfs.Path) (*generation, uint64) {
	h := maphash.String(seed, string(name))
	return &g.slots[h%uint64(len(g.slots))], h
}

// changed notes that name has new content, described by fi.
func (g *generations) changed(name pfs.Path, fi fs.FileInfo) {
	_, stamp := stampOf(fi)
	g.mu.Lock()
	defer g.mu.Unlock()
	s, h := g.slot(name)
	n := uint64(0)
	if stamp <= s.latest {
		g.given++
		n = g.given
	}
	*s = generation{name: h, stamp: stamp, latest: max(s.latest, stamp), n: n}
}

// of returns the generation of name's content with that stamp.
func (g *generations) of(name pfs.Path, stamp int64) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s, h := g.slot(name); s.name == h && s.stamp == stamp {
		return s.n
	}
	return 0
}
