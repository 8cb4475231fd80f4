package hdfsfs

import (
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
)

// coding describes how files are erasure-coded. The zero coding is for replicated files.
type coding struct {
	policy       *hdfsproto.ErasureCodingPolicy
	name         string
	data, parity int64 // units of a block group
}

// newCoding returns the coding of new files in a directory with this policy, which may be nil. Under a policy whose code is not
// supported files are replicated.
func newCoding(policy *hdfsproto.ErasureCodingPolicy) coding {
	if policy == nil {
		return coding{}
	}
	name, data, parity := datanode.PolicyName(policy)
	if name == "" {
		return coding{}
	}
	return coding{policy, name, int64(data), int64(parity)}
}

// spread is the number of blocks that hold the data of a block group.
func (c coding) spread() int64 { return max(1, c.data) }
