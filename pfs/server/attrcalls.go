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

func xattrCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.XattrRequest) (reply wire.XattrReply, err error) {
	reply.Value, err = pfs.XattrsOf(tree).Xattr(ctx, name, q.Name)
	return reply, err
}

func setXattrCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.XattrRequest) error {
	return pfs.XattrsOf(tree).SetXattr(ctx, name, q.Name, q.Value, pfs.XattrFlags(q.Flags))
}

func listXattrCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, _ wire.PathRequest) (reply wire.XattrNames, err error) {
	reply.Names, err = pfs.XattrsOf(tree).ListXattr(ctx, name)
	return reply, err
}

func removeXattrCall(ctx context.Context, tree pfs.FileSystem, name pfs.Path, q wire.XattrRequest) error {
	return pfs.XattrsOf(tree).RemoveXattr(ctx, name, q.Name)
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
