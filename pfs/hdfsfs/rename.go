package hdfsfs

import (
	"context"
	"errors"
	"regexp"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"google.golang.org/protobuf/proto"
)

// Rename gives oldName the name newName.
func (f *FS) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	return f.rename(ctx, "hdfsfs.Rename", oldName, newName, false)
}

// RenameExclusive is Rename that replaces nothing.
func (f *FS) RenameExclusive(ctx context.Context, oldName, newName pfs.Path) error {
	return f.rename(ctx, "hdfsfs.RenameExclusive", oldName, newName, true)
}

func (f *FS) rename(ctx context.Context, op string, oldName, newName pfs.Path, exclusive bool) error {
	for _, name := range []pfs.Path{oldName, newName} {
		if err := f.check(ctx, op, name); err != nil {
			return err
		}
	}
	old, err := f.status(ctx, oldName)
	if err != nil {
		return f.placeError(ctx, op, oldName, err)
	}
	done, err := f.checkRename(ctx, op, oldName, newName, old, exclusive)
	if done || err != nil {
		return err
	}
	// A directory must not replace even an empty directory that appears at this moment.
	err = f.move(ctx, f.at(oldName), f.at(newName), exclusive || old.IsDir())
	if err == nil {
		return nil
	}
	return f.renameError(ctx, op, oldName, newName, err)
}

// checkRename returns an error if the rename is not allowed. It also reports whether it changes
// nothing.
func (f *FS) checkRename(ctx context.Context, op string, oldName, newName pfs.Path, old status, exclusive bool) (done bool, err error) {
	switch {
	case newName == oldName && !exclusive:
		return true, nil
	case oldName == pfs.Root:
		return false, pfs.Errorf(op, oldName, pfs.Invalid, "the root cannot be moved")
	case newName != oldName && old.IsDir() && newName.Within(oldName):
		return false, pfs.Errorf(op, newName, pfs.Invalid, "%s cannot be moved into itself", oldName)
	}
	there, err := f.status(ctx, newName)
	switch {
	case is(err, pfs.NotExist):
		return false, nil
	case err != nil:
		return false, f.placeError(ctx, op, newName, err)
	case exclusive || there.IsDir():
		return false, pfs.E(op, newName, pfs.Exist, nil)
	case old.IsDir():
		return false, pfs.E(op, newName, pfs.NotDir, nil)
	}
	return false, nil
}

// betweenZones matches the NameNode's message about a rename for which bytes would have to be encrypted.
var betweenZones = regexp.MustCompile(`can't be moved (into|from) (an )?encryption zone`)

// renameError finds out which of the two names an error is about.
func (f *FS) renameError(ctx context.Context, op string, oldName, newName pfs.Path, err error) error {
	if is(err, pfs.Unavailable, pfs.Canceled, pfs.Quota, pfs.Exist) {
		return fail(op, newName, f.overQuota(ctx, err))
	}
	var remote *rpc.RemoteError
	if errors.As(err, &remote) && betweenZones.MatchString(remote.Text) {
		return pfs.Errorf(op, newName, pfs.CrossStore, "HDFS moves nothing into an encryption zone or out of it")
	}
	if _, statErr := f.status(ctx, oldName); is(statErr, pfs.NotExist) {
		return pfs.E(op, oldName, pfs.NotExist, nil)
	}
	if st, statErr := f.status(ctx, newName); statErr == nil && st.IsDir() {
		return pfs.E(op, newName, pfs.Exist, nil)
	}
	return f.placeError(ctx, op, newName, err)
}

// move renames a path in HDFS, at once. The NameNode replaces a file, or an empty directory, unless exclusive is set.
func (f *FS) move(ctx context.Context, from, to string, exclusive bool) error {
	return f.tell(ctx, "rename2", &hdfsproto.RenameRequest{From: &from, To: &to, Overwrite: proto.Bool(!exclusive)}, rpc.Cached)
}
