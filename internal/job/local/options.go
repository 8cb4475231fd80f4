package local

import (
	"os/exec"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Options are the options of the engine and its supervisors.
type Options struct {
	Dir        string // for the jobs of this machine; it is made
	Inputs     string // for copies of inputs, which jobs share
	Datacenter string // of the jobs
	Service    string // what Describe returns to a process of a job, to connect to the same service

	// FS has the package, and gets records, outputs and logs.
	FS pfs.FileSystem

	// Command returns the command line of this program for one process of the job in dir. what names
	// the process: Supervisor, Launcher, Mount or Unmount.
	Command func(what, dir string) *exec.Cmd

	// Environ is the environment of the command, which entries inherit.
	Environ []string

	// Root is the directory that has the tree /pfs. If it is empty, a job gets a mount.
	Root string

	// Grace is the time between SIGTERM and SIGKILL. 0 means DefaultGrace.
	Grace time.Duration
}

// DefaultGrace is the default of Kubernetes.
const DefaultGrace = 30 * time.Second

// The processes of a job, for Options.Command.
const (
	Supervisor = "supervise" // calls Supervise
	Launcher   = "launch"    // calls Launch
	Mount      = "mount"     // mounts the datacenter at dir
	Unmount    = "unmount"   // ends that mount
)

// Name is the name of the engine in records.
const Name = "local"
