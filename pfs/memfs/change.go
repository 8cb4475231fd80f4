package memfs

import "github.com/paddlecloud/pfs/pfs"

// link makes n the entry name of dir, in the place of what is there. The caller
// has decided that it may be; only quotas are checked here.
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
		old.parent = nil
	}
	n.parent = dir
	dir.dir.put(name.Base(), n, s.tick())
	dir.mtime = now()
	dir.add(delta)
	return nil
}

// unlink takes the entry name out of dir.
func (s *FS) unlink(name string, dir *node) {
	n := dir.child(name)
	dir.dir.drop(name)
	n.parent = nil
	dir.mtime = now()
	dir.add(tally{}.minus(n.tally()))
}
