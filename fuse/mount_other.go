//go:build !linux

package fuse

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// Mounted is a mount that this process serves.
type Mounted struct{}

// Mount answers Unsupported: mounts need Linux.
func Mount(context.Context, pfs.FileSystem, string, Options) (*Mounted, error) {
	return nil, unsupported("fuse.Mount")
}

// Done is never closed.
func (m *Mounted) Done() <-chan struct{} { return nil }

// Replaced returns false.
func (m *Mounted) Replaced() bool { return false }

// Close does nothing.
func (m *Mounted) Close(context.Context) error { return nil }

// Unmount answers Unsupported.
func Unmount(string) error { return unsupported("fuse.Unmount") }

// Control answers Unsupported.
func Control(string, string) error { return unsupported("fuse.Control") }

// Mounts answers Unsupported.
func Mounts() ([]Status, error) { return nil, unsupported("fuse.Mounts") }

// MountAt answers Unsupported.
func MountAt(string) (Status, error) { return Status{}, unsupported("fuse.MountAt") }

// MountOf answers Unsupported.
func MountOf(string) (Status, error) { return Status{}, unsupported("fuse.MountOf") }

func unsupported(op string) error {
	return pfs.Errorf(op, "", pfs.Unsupported, "mounts need Linux")
}

// Connection is a mount in the kernel.
type Connection struct{}
