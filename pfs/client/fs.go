package client

import (
	"context"
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// Stat describes name.
func (c *Client) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	var reply wire.InfoReply
	err := c.call(ctx, "client.Stat", wire.CallStat, name, false, wire.PathRequest{Path: string(name)}, &reply, nil)
	if err != nil {
		return pfs.Info{}, err
	}
	return reply.Info.Info(), nil
}

// List returns a page of dir. An entry that the service names badly is dropped into
// Unnamed: nothing below may be built of a name that is no name.
func (c *Client) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	var reply wire.ListReply
	err := c.call(ctx, "client.List", wire.CallList, dir, false,
		wire.ListRequest{Path: string(dir), Token: opts.Token, Limit: opts.Limit}, &reply, nil)
	if err != nil {
		return pfs.Page{}, err
	}
	page := pfs.Page{Entries: make([]pfs.Info, 0, len(reply.Entries)), Unnamed: reply.Unnamed, Next: reply.Next}
	for _, e := range reply.Entries {
		if pfs.CheckName(e.Name) != "" {
			page.Unnamed = append(page.Unnamed, quote(e.Name))
			continue
		}
		page.Entries = append(page.Entries, e.Info())
	}
	return page, nil
}

// Mkdir makes a directory.
func (c *Client) Mkdir(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	return c.call(ctx, "client.Mkdir", wire.CallMkdir, name, true,
		wire.ModeRequest{Path: string(name), Mode: wire.ModeBits(mode.Perm())}, &wire.Empty{}, nil)
}

// Remove removes a file, link or empty directory.
func (c *Client) Remove(ctx context.Context, name pfs.Path) error {
	return c.call(ctx, "client.Remove", wire.CallRemove, name, true, wire.PathRequest{Path: string(name)}, &wire.Empty{}, nil)
}

// RemoveTree removes name and all below it, in the service.
func (c *Client) RemoveTree(ctx context.Context, name pfs.Path) error {
	return c.call(ctx, "client.RemoveTree", wire.CallRemoveTree, name, true, wire.PathRequest{Path: string(name)}, &wire.Empty{}, nil)
}

// Rename renames.
func (c *Client) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	return c.rename(ctx, "client.Rename", wire.CallRename, oldName, newName)
}

// RenameExclusive renames without replacing.
func (c *Client) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	return c.rename(ctx, "client.RenameExclusive", wire.CallRenameExclusive, oldName, newName)
}

func (c *Client) rename(ctx context.Context, op, method string, oldName, newName pfs.Path) error {
	if err := pfs.CheckPath(op, newName); err != nil {
		return err
	}
	return c.call(ctx, op, method, oldName, true, wire.TwoPathRequest{Old: string(oldName), New: string(newName)}, &wire.Empty{}, nil)
}

// Symlink makes a link.
func (c *Client) Symlink(ctx context.Context, target string, name pfs.Path) error {
	return c.call(ctx, "client.Symlink", wire.CallSymlink, name, true,
		wire.SymlinkRequest{Path: string(name), Target: target}, &wire.Empty{}, nil)
}

// Chmod sets permission bits.
func (c *Client) Chmod(ctx context.Context, name pfs.Path, mode fs.FileMode) error {
	return c.call(ctx, "client.Chmod", wire.CallChmod, name, true,
		wire.ModeRequest{Path: string(name), Mode: wire.ModeBits(mode)}, &wire.Empty{}, nil)
}

// Chtime sets the modification time.
func (c *Client) Chtime(ctx context.Context, name pfs.Path, mtime time.Time) error {
	return c.call(ctx, "client.Chtime", wire.CallChtime, name, true,
		wire.TimeRequest{Path: string(name), Time: wire.NewTime(mtime)}, &wire.Empty{}, nil)
}

// Space reports the store that holds name.
func (c *Client) Space(ctx context.Context, name pfs.Path) (pfs.Space, error) {
	var reply wire.SpaceReply
	err := c.call(ctx, "client.Space", wire.CallSpace, name, false, wire.PathRequest{Path: string(name)}, &reply, nil)
	return pfs.Space{Total: reply.Total, Free: reply.Free}, err
}

// Usage sums the tree below name, in the service.
func (c *Client) Usage(ctx context.Context, name pfs.Path) (pfs.Usage, error) {
	var reply wire.UsageReply
	err := c.call(ctx, "client.Usage", wire.CallUsage, name, false, wire.PathRequest{Path: string(name)}, &reply, nil)
	return pfs.Usage(reply), err
}

// SetQuota limits the tree below name.
func (c *Client) SetQuota(ctx context.Context, name pfs.Path, maxBytes, maxFiles int64) error {
	return c.call(ctx, "client.SetQuota", wire.CallSetQuota, name, true,
		wire.QuotaRequest{Path: string(name), MaxBytes: maxBytes, MaxFiles: maxFiles}, &wire.Empty{}, nil)
}

// Sweep removes stale staged writes below dir.
func (c *Client) Sweep(ctx context.Context, dir pfs.Path, age time.Duration) (int, int64, error) {
	var reply wire.SweepReply
	err := c.call(ctx, "client.Sweep", wire.CallSweep, dir, true,
		wire.SweepRequest{Path: string(dir), Seconds: int64(age / time.Second)}, &reply, nil)
	return int(reply.Count), reply.Bytes, err
}

// CopyFile copies inside the service.
func (c *Client) CopyFile(ctx context.Context, src, dst pfs.Path, opts pfs.CopyOptions, progress func(int64)) (pfs.Info, error) {
	const op = "client.CopyFile"
	if err := pfs.CheckPath(op, dst); err != nil {
		return pfs.Info{}, err
	}
	var reply wire.InfoReply
	err := c.call(ctx, op, wire.CallCopy, src, true,
		wire.CopyRequest{Source: string(src), Target: string(dst), ID: opts.ID, NoReplace: opts.NoReplace, NewTime: opts.NewTime}, &reply, progress)
	if err != nil {
		return pfs.Info{}, err
	}
	return reply.Info.Info(), nil
}

// Digest has the service compute a digest of the stored bytes.
func (c *Client) Digest(ctx context.Context, name pfs.Path, algorithm string, progress func(int64)) (string, error) {
	var reply wire.DigestReply
	err := c.call(ctx, "client.Digest", wire.CallDigest, name, false,
		wire.DigestRequest{Path: string(name), Algorithm: algorithm}, &reply, progress)
	return reply.Digest, err
}
