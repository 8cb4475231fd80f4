package hdfsfs

import "github.com/paddlecloud/pfs/pfs"

// identity is that of a staged write in a cluster: the directory that it is.
type identity struct {
	cluster *cluster
	dir     string
}

var _ pfs.Identifier = (*staged)(nil)

// Identity is the directory's.
func (w *staged) Identity() any { return identity{w.fs.cluster, w.dir} }
