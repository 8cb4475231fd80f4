// Package posix contains the common parts of stores of POSIX files.
package posix

import (
	"fmt"
	"syscall"

	"github.com/paddlecloud/pfs/pfs"
)

// Kinds maps the error numbers that mean the same in every such store to Kinds.
//
// EIO is Other, "a failure of the machine": a retry does not repair a disk, and after a failed write
// it could seem to. NoSpace covers the lack of any resource to store something, not only ENOSPC.
var Kinds = map[syscall.Errno]pfs.Kind{
	syscall.ENOENT:       pfs.NotExist,
	syscall.ENODATA:      pfs.NoAttr,
	syscall.ENOTDIR:      pfs.NotDir,
	syscall.EISDIR:       pfs.IsDir,
	syscall.EEXIST:       pfs.Exist,
	syscall.ENOTEMPTY:    pfs.NotEmpty,
	syscall.ELOOP:        pfs.Symlink,
	syscall.EACCES:       pfs.Permission,
	syscall.EPERM:        pfs.Permission,
	syscall.EROFS:        pfs.ReadOnly,
	syscall.ENOSPC:       pfs.NoSpace,
	syscall.EFBIG:        pfs.NoSpace,
	syscall.E2BIG:        pfs.NoSpace, // an extended attribute
	syscall.ERANGE:       pfs.NoSpace, // an extended attribute
	syscall.EMLINK:       pfs.NoSpace,
	syscall.EDQUOT:       pfs.Quota,
	syscall.EXDEV:        pfs.CrossStore,
	syscall.EINVAL:       pfs.Invalid,
	syscall.ENAMETOOLONG: pfs.Invalid,
	syscall.EBUSY:        pfs.Conflict,
	syscall.EMFILE:       pfs.Limit,
	syscall.ENFILE:       pfs.Limit,
	syscall.ENOMEM:       pfs.Limit,
	syscall.ENOTCONN:     pfs.Unavailable,
	syscall.EHOSTDOWN:    pfs.Unavailable,
	syscall.ETIMEDOUT:    pfs.Unavailable,
	syscall.EAGAIN:       pfs.Unavailable,
	syscall.EINTR:        pfs.Unavailable,
	syscall.EIO:          pfs.Other,
}

// Token returns the token of the page of the directory dir, an inode, that begins at off.
func Token(dir uint64, off int64) string { return fmt.Sprintf("%x.%x", dir, off) }

// ParseToken parses a token. For a token of another directory it returns Conflict.
func ParseToken(token string, dir uint64) (off int64, err error) {
	var of uint64
	if n, err := fmt.Sscanf(token, "%x.%x", &of, &off); n != 2 || err != nil || of != dir || off < 0 {
		return 0, ErrToken
	}
	return off, nil
}

// ErrToken reports a token of another directory.
var ErrToken = pfs.Errorf("posix.List", "", pfs.Conflict, "the directory is another one than that of the token: list it from the start")
