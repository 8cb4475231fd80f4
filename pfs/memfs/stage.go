package memfs

import (
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// stageKey identifies an upload in its directory. Users do not share uploads.
type stageKey struct {
	name, id string
	acting   acting
}

// stage is the staged bytes of an upload. It belongs to a directory, moves with it, and is lost
// with it. Several staged may use it, one after the other or at once.
type stage struct {
	key stageKey
	dir *node

	mu   sync.Mutex // guards data; taken before FS.mu
	data content

	// Guarded by FS.mu.
	size    int64     // bytes accounted for, those of data
	touched time.Time // when it was last written or opened
	gone    bool      // discarded, swept, or lost with its directory
	done    *pfs.Info // what Commit published; then gone too
}

// keep adds st to its directory.
func (s *FS) keep(st *stage) { st.dir.dir.staged[st.key] = st }

// discard removes st from its directory.
func (s *FS) discard(st *stage) {
	if st.gone {
		return
	}
	st.gone = true
	s.staged -= st.size
	delete(st.dir.dir.staged, st.key)
}

// discardAll removes the uploads in the tree below n, a directory.
func (s *FS) discardAll(n *node) {
	for _, st := range n.dir.staged {
		s.discard(st)
	}
	for _, e := range n.dir.entries {
		if e.node.mode.IsDir() {
			s.discardAll(e.node)
		}
	}
}
