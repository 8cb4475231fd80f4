package rules

import "github.com/paddlecloud/pfs/pfs"

// Store is a pfs.FileSystem with the capabilities that every store has.
type Store interface {
	pfs.FileSystem
	pfs.HandleOpener
	pfs.AttrSetter
	pfs.XattrKeeper
	pfs.CapabilityReporter
	pfs.ExclusiveRenamer
	pfs.TreeRemover
	pfs.SpaceReporter
	pfs.UsageReporter
	pfs.QuotaSetter
	pfs.Digester
	pfs.BatchWriter
	pfs.Sweeper
}
