package hdfsfs

import "github.com/paddlecloud/pfs/pfs"

// identity identifies an upload in a cluster by its directory.
type identity struct {
	cluster *cluster
	dir     string
}

var _ pfs.Identifier = (*staged)(nil)

// Identity is the directory's.
func (w *staged) Identity() any { return identity{w.fs.cluster, w.dir} }
