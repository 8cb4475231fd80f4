package client

import (
	"context"
	"io/fs"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// SetAttr sets the attributes of attrs that mask names.
func (c *Client) SetAttr(ctx context.Context, name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "client.SetAttr"
	if err := mask.Check(op, name, attrs); err != nil {
		return err
	}
	return c.change(ctx, op, wire.CallSetAttr, name, wire.AttrRequest{Path: string(name), Attrs: wire.NewAttrs(mask, attrs)}, nil)
}

// Xattr returns the value of an extended attribute.
func (c *Client) Xattr(ctx context.Context, name pfs.Path, attr string) ([]byte, error) {
	const op = "client.Xattr"
	if err := pfs.CheckXattr(op, name, attr); err != nil {
		return nil, err
	}
	var reply wire.XattrReply
	err := c.ask(ctx, op, wire.CallXattr, name, wire.XattrRequest{Path: string(name), Name: attr}, &reply)
	return reply.Value, err
}

// SetXattr sets an extended attribute.
func (c *Client) SetXattr(ctx context.Context, name pfs.Path, attr string, value []byte, flags pfs.XattrFlags) error {
	const op = "client.SetXattr"
	if err := pfs.CheckXattr(op, name, attr); err != nil {
		return err
	}
	if len(value) > wire.MaxXattr {
		return pfs.Errorf(op, name, pfs.NoSpace, "attribute of %d bytes, the limit is %d", len(value), wire.MaxXattr)
	}
	return c.change(ctx, op, wire.CallSetXattr, name, wire.XattrRequest{Path: string(name), Name: attr, Value: value, Flags: uint8(flags)}, nil)
}

// ListXattr returns the names of the extended attributes.
func (c *Client) ListXattr(ctx context.Context, name pfs.Path) ([]string, error) {
	var reply wire.XattrNames
	err := c.ask(ctx, "client.ListXattr", wire.CallListXattr, name, wire.PathRequest{Path: string(name)}, &reply)
	return reply.Names, err
}

// RemoveXattr removes an extended attribute.
func (c *Client) RemoveXattr(ctx context.Context, name pfs.Path, attr string) error {
	const op = "client.RemoveXattr"
	if err := pfs.CheckXattr(op, name, attr); err != nil {
		return err
	}
	return c.change(ctx, op, wire.CallRemoveXattr, name, wire.XattrRequest{Path: string(name), Name: attr}, nil)
}

// HardLink gives a file a second name.
func (c *Client) HardLink(ctx context.Context, oldName, newName pfs.Path) error {
	return c.rename(ctx, "client.HardLink", wire.CallHardLink, oldName, newName)
}

// Mknod makes a special file.
func (c *Client) Mknod(ctx context.Context, name pfs.Path, mode fs.FileMode, device uint64) error {
	return c.change(ctx, "client.Mknod", wire.CallMknod, name, wire.MknodRequest{Path: string(name), Mode: wire.ModeBits(mode), Device: device}, nil)
}

// Concat appends the sources to target in the service.
func (c *Client) Concat(ctx context.Context, target pfs.Path, sources []pfs.Path) error {
	const op = "client.Concat"
	q := wire.ConcatRequest{Path: string(target)}
	for _, p := range sources {
		if err := pfs.CheckPath(op, p); err != nil {
			return err
		}
		q.Sources = append(q.Sources, string(p))
	}
	return c.change(ctx, op, wire.CallConcat, target, q, nil)
}

// Capabilities requests the capabilities of the directory name from the service.
func (c *Client) Capabilities(ctx context.Context, name pfs.Path) (pfs.Capabilities, error) {
	var reply wire.CapabilitiesReply
	err := c.ask(ctx, "client.Capabilities", wire.CallCapabilities, name, wire.PathRequest{Path: string(name)}, &reply)
	return pfs.Capabilities(reply.Can), err
}
