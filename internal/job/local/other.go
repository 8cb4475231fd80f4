//go:build !linux

package local

import (
	"context"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

func unsupported(op string) error {
	return pfs.Errorf(op, "", pfs.Unsupported, "jobs on this machine need Linux")
}

// New needs Linux.
func New(Options) (job.Engine, error) { return nil, unsupported("local.New") }

// Describe needs Linux.
func Describe(string) (string, string, error) { return "", "", unsupported("local.Describe") }

// Datacenter knows no jobs.
func Datacenter(string, string, string, []string) (string, error) { return "", nil }

// Supervise needs Linux.
func Supervise(context.Context, Options, string) error { return unsupported("local.Supervise") }

// Launch needs Linux.
func Launch(string) (int, error) { return 0, unsupported("local.Launch") }
