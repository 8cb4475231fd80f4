// Package posix contains the common parts of stores of POSIX files.
package posix

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
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

// SortedPage returns at most limit names of a directory, sorted, and the token of the next page, ""
// at the end. The token is the last name, so it needs nothing from the system. read returns the next
// names of the directory, in any order, and io.EOF at the end. Each page reads the whole directory,
// in the memory of one page.
func SortedPage(token string, limit int, read func(n int) ([]string, error)) (names []string, next string, err error) {
	last, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return nil, "", ErrToken
	}
	more := false
	for end := false; !end; {
		some, err := read(1024)
		if end = err == io.EOF || err == nil && len(some) == 0; err != nil && !end {
			return nil, "", err
		}
		for _, name := range some {
			if name > string(last) {
				names = append(names, name)
			}
		}
		if len(names) > limit+8192 || end {
			slices.Sort(names)
			more = more || len(names) > limit
			names = names[:min(limit, len(names))]
		}
	}
	if more {
		next = base64.RawURLEncoding.EncodeToString([]byte(names[len(names)-1]))
	}
	return names, next, nil
}

// Cause returns the part of a system error that names no path: users must not learn where the root
// is on the host.
func Cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	var call *os.SyscallError
	switch {
	case errors.As(err, &path):
		return Cause(path.Err)
	case errors.As(err, &link):
		return Cause(link.Err)
	case errors.As(err, &call):
		return Cause(call.Err)
	}
	return err
}
