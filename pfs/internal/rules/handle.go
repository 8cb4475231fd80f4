package rules

import (
	"context"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

// Handle is the part of a pfs.Handle that is the same in every store. A store embeds it and begins
// each method with one of the checks.
type Handle struct {
	Name  pfs.Path
	Flags pfs.OpenFlags

	ended atomic.Bool
}

// End makes every later check return Closed, and reports whether it is the first call.
func (h *Handle) End() bool { return !h.ended.Swap(true) }

// Ended reports whether End was called.
func (h *Handle) Ended() bool { return h.ended.Load() }

// Check refuses an ended handle, and one that is not open for need.
func (h *Handle) Check(ctx context.Context, op string, need pfs.OpenFlags) error {
	switch {
	case h.Ended():
		return pfs.E(op, h.Name, pfs.Closed, nil)
	case need&^h.Flags != 0:
		return pfs.Errorf(op, h.Name, pfs.Permission, "the file is not open for this")
	}
	return pfs.CheckContext(ctx, op, h.Name)
}

// CheckTruncate is Check for Truncate.
func (h *Handle) CheckTruncate(ctx context.Context, op string, size int64) error {
	if size < 0 {
		return pfs.Errorf(op, h.Name, pfs.Invalid, "negative size %d", size)
	}
	return h.Check(ctx, op, pfs.OpenWrite)
}

// CheckAllocate is Check for Allocate.
func (h *Handle) CheckAllocate(ctx context.Context, op string, off, n int64) error {
	if off < 0 || n <= 0 || off+n < off {
		return pfs.Errorf(op, h.Name, pfs.Invalid, "%d bytes from %d on", n, off)
	}
	return h.Check(ctx, op, pfs.OpenWrite)
}

// CheckSetAttr is Check for SetAttr.
func (h *Handle) CheckSetAttr(ctx context.Context, op string, mask pfs.AttrMask, attrs pfs.Attrs) error {
	if err := mask.Check(op, h.Name, attrs); err != nil {
		return err
	}
	if mask&pfs.AttrSize != 0 {
		return h.Check(ctx, op, pfs.OpenWrite)
	}
	return h.Check(ctx, op, 0)
}

// Bounds of SyncDue.
const (
	MinUnsynced = 64 << 20
	MaxUnsynced = 256 << 20
)

// SyncDue reports whether a file that is written from start to end is to be synced at end, after unsynced bytes: at the end of
// a block of the store, which costs HDFS little, and anywhere after MaxUnsynced. This bounds the bytes that are lost, or must be kept,
// if the store loses unsynced bytes. A block of 0 bytes has no end.
func SyncDue(unsynced, end, block int64) bool {
	return unsynced >= MaxUnsynced || unsynced >= MinUnsynced && (block == 0 || end%block == 0)
}
