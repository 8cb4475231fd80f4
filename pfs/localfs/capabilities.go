package localfs

import (
	"context"
	"errors"
	"os"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// always are the capabilities that every directory has.
const always = pfs.CanRename | pfs.CanRenameDir | pfs.CanRenameNew | pfs.CanKeepEmptyDir | pfs.CanReadStaged |
	pfs.CanOpenHandle | pfs.CanAppend | pfs.CanWriteRandom | pfs.CanSetTimes | pfs.CanSetAccessTime |
	pfs.CanCopyInside | pfs.CanDigest | pfs.CanSpace

// Capabilities checks the file system below name.
func (f *FS) Capabilities(ctx context.Context, name pfs.Path) (c pfs.Capabilities, err error) {
	err = f.in(ctx, "localfs.Capabilities", name, func(d dir) error {
		there, err := d.capabilities()
		if err != nil {
			return err
		}
		c = always | there
		if !f.opts.FollowLinks {
			c |= pfs.CanUsage | pfs.CanSetQuota
		}
		if f.keepsAttributes(d) {
			c |= pfs.CanXattr
		}
		return nil
	})
	return c, err
}

// keepsAttributes reports whether files in d can have extended attributes, where the system lets d
// be checked.
func (f *FS) keepsAttributes(d dir) bool {
	file, err := d.openFile(".", os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	_, err = f.attrs.get(file, digest.MarkAttribute, nil)
	return !errors.Is(err, errors.ErrUnsupported)
}
