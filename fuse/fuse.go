package fuse

import (
	"log/slog"
	"os"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// DefaultTimeout is the default of Options.Timeout.
const DefaultTimeout = time.Second

// PageCache is the mode of a mount whose open files are read through the kernel's page cache.
const PageCache = "page-cache"

// Options are the options of Mount.
type Options struct {
	// Root is the directory of the file system that the mount shows; empty means pfs.Root.
	Root pfs.Path

	// ReadOnly refuses changes with EROFS. Files are then read as pfs.File, whose bytes are of one
	// version.
	ReadOnly bool

	// Timeout is how long the kernel keeps names and attributes, including missing names. 0 means
	// DefaultTimeout.
	Timeout time.Duration

	// Squash shows every file as owned by the user who mounts, and lets only this user in. It is for
	// services, which check permissions themselves, by their own users. Without it, owners are those of the store, the
	// kernel checks permissions, and if root mounts, other users may use the mount and new files
	// belong to whoever makes them.
	Squash bool

	// Source is shown as the device of the mount.
	Source string

	// Logger receives errors of the store; nil discards them.
	Logger *slog.Logger
}

// LocalFile is an open file whose whole content is in a file of this machine.
type LocalFile interface {
	// Local returns that file, or nil if the content is not (or not wholly) in one. It stays open
	// until the LocalFile is closed.
	Local() *os.File
}

// Status describes a mount.
type Status struct {
	MountPoint string `json:"mount_point"`
	Source     string `json:"source"`
	Root       string `json:"root,omitempty"`
	ReadOnly   bool   `json:"read_only"`
	OpenMode   string `json:"open_mode,omitempty"`
	ServerPID  int    `json:"server_pid,omitempty"`

	// State is "serving", "dead" if the process that served the mount has ended, "silent" if it
	// does not answer, and "private" if the mount belongs to another user.
	State string `json:"state"`
}
