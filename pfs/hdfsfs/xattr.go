package hdfsfs

import (
	"context"
	"errors"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// userXattr returns the attribute name, which begins with pfs.XattrPrefix, as HDFS names it.
func userXattr(name string, value []byte) *hdfsproto.XAttr {
	name = strings.TrimPrefix(name, pfs.XattrPrefix)
	return &hdfsproto.XAttr{Namespace: hdfsproto.XAttr_USER.Enum(), Name: &name, Value: value}
}

// getXattr returns an extended attribute of a path in HDFS, or NoAttr.
func (f *FS) getXattr(ctx context.Context, at, name string) ([]byte, error) {
	request := &hdfsproto.GetXAttrsRequest{Path: &at, Attributes: []*hdfsproto.XAttr{userXattr(name, nil)}}
	var found hdfsproto.XAttrsResponse
	err := f.ask(ctx, "getXAttrs", request, &found, rpc.Idempotent)
	if says(err, "At least one of the attributes provided was not found") || err == nil && len(found.Attributes) == 0 {
		return nil, pfs.NoAttr
	}
	if err != nil {
		return nil, err
	}
	return found.Attributes[0].Value, nil
}

// putXattr sets an extended attribute of a path in HDFS.
func (f *FS) putXattr(ctx context.Context, at, name string, value []byte, flags uint32) error {
	return f.tell(ctx, "setXAttr", &hdfsproto.SetXAttrRequest{Path: &at, Attribute: userXattr(name, value), Flags: &flags}, rpc.Cached)
}

// The bits of SetXAttrRequest.Flags.
const (
	createXattr  = 1
	replaceXattr = 2
)

// says reports whether err is an exception with a message that begins with the words.
func says(err error, words string) bool {
	var remote *rpc.RemoteError
	return errors.As(err, &remote) && strings.HasPrefix(remote.Text, words)
}

// xattr returns an extended attribute of a path in HDFS, or "" if it is not set, may not be read, or the cluster has no
// attributes.
func (f *FS) xattr(ctx context.Context, at, name string) (string, error) {
	value, err := f.getXattr(ctx, at, name)
	if is(err, pfs.Unavailable, pfs.Canceled, pfs.NotExist) {
		return "", err
	}
	return string(value), nil
}

// setXattr sets an extended attribute where the cluster has them.
func (f *FS) setXattr(ctx context.Context, at, name, value string) error {
	err := f.putXattr(ctx, at, name, []byte(value), createXattr|replaceXattr)
	if is(err, pfs.Unavailable, pfs.Canceled, pfs.NotExist, pfs.Permission) {
		return err
	}
	return nil
}

// Xattr returns the value of the extended attribute attr.
func (f *FS) Xattr(ctx context.Context, name pfs.Path, attr string) ([]byte, error) {
	const op = "hdfsfs.Xattr"
	if err := f.checkXattr(ctx, op, name, attr); err != nil {
		return nil, err
	}
	value, err := f.getXattr(ctx, f.at(name), attr)
	return value, f.placeError(ctx, op, name, err)
}

// ListXattr returns the names of the extended attributes of name that users may use.
func (f *FS) ListXattr(ctx context.Context, name pfs.Path) (names []string, err error) {
	const op = "hdfsfs.ListXattr"
	if err := f.check(ctx, op, name); err != nil {
		return nil, err
	}
	at := f.at(name)
	var found hdfsproto.XAttrsResponse
	if err := f.ask(ctx, "listXAttrs", &hdfsproto.GetXAttrsRequest{Path: &at}, &found, rpc.Idempotent); err != nil {
		return nil, f.placeError(ctx, op, name, err)
	}
	for _, a := range found.Attributes {
		if a.GetNamespace() == hdfsproto.XAttr_USER {
			names = append(names, pfs.XattrPrefix+a.GetName())
		}
	}
	return rules.UserXattrs(names), nil
}

// SetXattr sets the extended attribute attr.
func (f *FS) SetXattr(ctx context.Context, name pfs.Path, attr string, value []byte, flags pfs.XattrFlags) error {
	const op = "hdfsfs.SetXattr"
	if err := f.checkXattr(ctx, op, name, attr); err != nil {
		return err
	}
	bits := uint32(createXattr | replaceXattr)
	switch {
	case flags&pfs.XattrCreate != 0:
		bits = createXattr
	case flags&pfs.XattrReplace != 0:
		bits = replaceXattr
	}
	err := f.putXattr(ctx, f.at(name), attr, value, bits)
	var remote *rpc.RemoteError
	switch {
	case is(err, pfs.Invalid): // the name is valid, so the value is too long
		return pfs.Errorf(op, name, pfs.NoSpace, "the attribute is longer than this HDFS allows (dfs.namenode.fs-limits.max-xattr-size)")
	case !errors.As(err, &remote):
	case strings.HasSuffix(remoteText(remote), "The REPLACE flag must be specified."):
		return pfs.E(op, name, pfs.Exist, nil)
	case strings.HasSuffix(remoteText(remote), "The CREATE flag must be specified."):
		return pfs.E(op, name, pfs.NoAttr, nil)
	}
	return f.placeError(ctx, op, name, err)
}

// RemoveXattr removes the extended attribute attr.
func (f *FS) RemoveXattr(ctx context.Context, name pfs.Path, attr string) error {
	const op = "hdfsfs.RemoveXattr"
	if err := f.checkXattr(ctx, op, name, attr); err != nil {
		return err
	}
	at := f.at(name)
	err := f.tell(ctx, "removeXAttr", &hdfsproto.RemoveXAttrRequest{Path: &at, Attribute: userXattr(attr, nil)}, rpc.Cached)
	if says(err, "No matching attributes found for remove operation") {
		err = pfs.NoAttr
	}
	return f.placeError(ctx, op, name, err)
}

// checkXattr is check, with a check of the attribute name attr.
func (f *FS) checkXattr(ctx context.Context, op string, name pfs.Path, attr string) error {
	if err := f.check(ctx, op, name); err != nil {
		return err
	}
	return pfs.CheckXattr(op, name, attr)
}
