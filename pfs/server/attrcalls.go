package server

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

func setAttrCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.AttrRequest) error {
	mask, attrs := q.Attrs.Attrs()
	return pfs.SetAttr(ctx, tree, name, mask, attrs)
}

// xattrs returns tree as the keeper of extended attributes.
func xattrs(tree pfs.FileSystem, name pfs.Path) (pfs.XattrKeeper, error) {
	if k, ok := tree.(pfs.XattrKeeper); ok {
		return k, nil
	}
	return nil, pfs.E("server.xattrs", name, pfs.Unsupported, nil)
}

func xattrCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.XattrRequest) (reply wire.XattrReply, err error) {
	k, err := xattrs(tree, name)
	if err == nil {
		reply.Value, err = k.Xattr(ctx, name, q.Name)
	}
	return reply, err
}

func setXattrCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.XattrRequest) error {
	k, err := xattrs(tree, name)
	if err != nil {
		return err
	}
	return k.SetXattr(ctx, name, q.Name, q.Value, pfs.XattrFlags(q.Flags))
}

func listXattrCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, _ wire.PathRequest) (reply wire.XattrNames, err error) {
	k, err := xattrs(tree, name)
	if err == nil {
		reply.Names, err = k.ListXattr(ctx, name)
	}
	return reply, err
}

func removeXattrCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.XattrRequest) error {
	k, err := xattrs(tree, name)
	if err != nil {
		return err
	}
	return k.RemoveXattr(ctx, name, q.Name)
}

func mknodCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.MknodRequest) error {
	return pfs.Mknod(ctx, tree, name, wire.FileMode(q.Mode), q.Device)
}

func concatCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.ConcatRequest) error {
	sources := make([]pfs.Path, len(q.Sources))
	for i, p := range q.Sources {
		var err error
		if sources[i], err = pfs.ParsePath(p); err != nil {
			return err
		}
	}
	return pfs.Concat(ctx, tree, name, sources)
}

func capabilitiesCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, _ wire.PathRequest) (wire.CapabilitiesReply, error) {
	can, err := pfs.CapabilitiesOf(ctx, tree, name)
	return wire.CapabilitiesReply{Can: uint64(can)}, err
}

func locateCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.LocateRequest) (reply wire.LocateReply, err error) {
	blocks, err := pfs.LocateBlocks(ctx, tree, name, q.Off, q.Length)
	if len(blocks) > wire.MaxBlocks {
		blocks, reply.More = blocks[:wire.MaxBlocks], true
	}
	for _, b := range blocks {
		hosts := b.Hosts[:min(len(b.Hosts), wire.MaxBlockHosts)]
		reply.Blocks = append(reply.Blocks, wire.Block{Off: b.Offset, Length: b.Length, Hosts: hosts})
	}
	return reply, err
}
