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
	err := c.ask(ctx, "client.Stat", wire.CallStat, name, wire.PathRequest{Path: string(name)}, &reply)
	return reply.Info.Info(), err
}

// List returns a page of dir. An entry with an invalid name is moved to Unnamed, so
// that no path is built from it.
func (c *Client) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	var reply wire.ListReply
	err := c.ask(ctx, "client.List", wire.CallList, dir, wire.ListRequest{Path: string(dir), Token: opts.Token, Limit: opts.Limit, Digests: opts.Digests, Attrs: opts.Attrs}, &reply)
	if err != nil {
		return pfs.Page{}, err
	}
	if reply.Next != "" && reply.Next == opts.Token { // it would never end
		return pfs.Page{}, pfs.Errorf("client.List", dir, pfs.Other, "the service answers the same page again and again")
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
	return c.change(ctx, "client.Mkdir", wire.CallMkdir, name, wire.ModeRequest{Path: string(name), Mode: wire.ModeBits(mode.Perm())}, nil)
}

// Remove removes a file, link or empty directory.
func (c *Client) Remove(ctx context.Context, name pfs.Path) error {
	return c.change(ctx, "client.Remove", wire.CallRemove, name, wire.PathRequest{Path: string(name)}, nil)
}

// RemoveTree removes name and all below it, in the service.
func (c *Client) RemoveTree(ctx context.Context, name pfs.Path) error {
	return c.change(ctx, "client.RemoveTree", wire.CallRemoveTree, name, wire.PathRequest{Path: string(name)}, nil)
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
	return c.change(ctx, op, method, oldName, wire.TwoPathRequest{Old: string(oldName), New: string(newName)}, nil)
}

// Symlink makes a link.
func (c *Client) Symlink(ctx context.Context, target string, name pfs.Path) error {
	return c.change(ctx, "client.Symlink", wire.CallSymlink, name, wire.SymlinkRequest{Path: string(name), Target: target}, nil)
}

// Space reports the space of the store that holds name.
func (c *Client) Space(ctx context.Context, name pfs.Path) (pfs.Space, error) {
	var reply wire.SpaceReply
	err := c.ask(ctx, "client.Space", wire.CallSpace, name, wire.PathRequest{Path: string(name)}, &reply)
	return reply.Space(), err
}

// Usage sums the tree below name, in the service.
func (c *Client) Usage(ctx context.Context, name pfs.Path) (pfs.Usage, error) {
	var reply wire.UsageReply
	err := c.ask(ctx, "client.Usage", wire.CallUsage, name, wire.PathRequest{Path: string(name)}, &reply)
	return pfs.Usage(reply), err
}

// SetQuota limits the tree below name.
func (c *Client) SetQuota(ctx context.Context, name pfs.Path, maxBytes, maxFiles int64) error {
	return c.change(ctx, "client.SetQuota", wire.CallSetQuota, name, wire.QuotaRequest{Path: string(name), MaxBytes: maxBytes, MaxFiles: maxFiles}, nil)
}

// CheckAccess asks the service whether it would refuse an operation.
func (c *Client) CheckAccess(ctx context.Context, a pfs.Access, name pfs.Path) error {
	return c.ask(ctx, "client.CheckAccess", wire.CallAccess, name, wire.AccessRequest{Path: string(name), Access: uint8(a)}, nil)
}

// Sweep removes abandoned uploads below dir.
func (c *Client) Sweep(ctx context.Context, dir pfs.Path, age time.Duration) (int, int64, error) {
	var reply wire.SweepReply
	err := c.change(ctx, "client.Sweep", wire.CallSweep, dir, wire.SweepRequest{Path: string(dir), Seconds: int64(age / time.Second)}, &reply)
	return int(reply.Count), reply.Bytes, err
}

// CopyFile copies inside the service.
func (c *Client) CopyFile(ctx context.Context, src, dst pfs.Path, opts pfs.CopyOptions, progress func(int64)) (pfs.Info, error) {
	const op = "client.CopyFile"
	if err := pfs.CheckPath(op, dst); err != nil {
		return pfs.Info{}, err
	}
	var reply wire.InfoReply
	err := c.do(ctx, call{
		op: op, method: wire.CallCopy, name: src,
		request: wire.CopyRequest{Source: string(src), Target: string(dst), ID: opts.ID, NoReplace: opts.NoReplace, NewTime: opts.NewTime},
		reply:   &reply, progress: progress,
	}, pfs.NewID())
	return reply.Info.Info(), err
}

// Digest has the service compute a digest of the stored bytes.
func (c *Client) Digest(ctx context.Context, name pfs.Path, algorithm string, progress func(int64)) (string, error) {
	var reply wire.DigestReply
	err := c.do(ctx, call{
		op: "client.Digest", method: wire.CallDigest, name: name,
		request: wire.DigestRequest{Path: string(name), Algorithm: algorithm},
		reply:   &reply, progress: progress,
	}, "")
	return reply.Digest, err
}
