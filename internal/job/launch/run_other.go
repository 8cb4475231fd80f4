//go:build !linux

package launch

import (
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// Run needs Linux.
func Run(Options) (*job.Exit, error) {
	return nil, pfs.Errorf("launch.Run", "", pfs.Unsupported, "jobs run on Linux only")
}
