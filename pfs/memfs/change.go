package memfs

import (
	"slices"

	"github.com/paddlecloud/pfs/pfs"
)

// link makes n the entry name of dir and replaces an existing entry. The caller has checked that it
// may; link itself only checks quotas.
func (s *FS) link(op string, name pfs.Path, dir, n *node) error {
	old := dir.child(name.Base())
	delta := n.tally()
	if old != nil {
		delta = delta.minus(old.tally())
	}
	if err := dir.checkQuota(op, name, delta); err != nil {
		return err
	}
	if old != nil {
		if old.mode.IsDir() {
			s.discardAll(old) // one that users did not see
		}
		old.leave(dir)
	}
	if n.id == 0 {
		n.id = s.tick()
	}
	n.parents = append(n.parents, dir)
	n.ctime = now()
	dir.dir.put(name.Base(), n, s.tick())
	dir.touch()
	dir.add(delta)
	return nil
}

// leave removes one name of n in dir.
func (n *node) leave(dir *node) {
	i := slices.Index(n.parents, dir)
	n.parents = slices.Delete(n.parents, i, i+1)
	n.ctime = now()
}

// touch records that the content of n has changed.
func (n *node) touch() {
	n.mtime = now()
	n.ctime = n.mtime
}

// unlink removes the entry name from dir.
func (s *FS) unlink(name string, dir *node) {
	n := dir.child(name)
	dir.dir.drop(name)
	n.leave(dir)
	dir.touch()
	dir.add(tally{}.minus(n.tally()))
}
