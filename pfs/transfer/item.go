package transfer

import "github.com/paddlecloud/pfs/pfs"

// maxSmall is the size up to which files are sent in batches.
const maxSmall = 512 << 10

// item is one file or link of the source while a job processes it.
type item struct {
	source, target End      // source.Path is free of links
	name           pfs.Path // the source as the user knows it, links and all
	info           pfs.Info // of the source
	old            pfs.Info // of the target
	exists         bool     // there is something at the target
	dir            *directory
}
