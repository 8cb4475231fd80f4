package localfs

import "github.com/paddlecloud/pfs/pfs"

const (
	// removedPrefix begins the names of directories that are on the way out.
	removedPrefix = pfs.TempPrefix + "rm-"
	// quotaName is the file that holds the quota of its directory.
	quotaName = pfs.TempPrefix + "quota"

	// tempMode is the mode of what is not published yet.
	tempMode = 0o600
)
