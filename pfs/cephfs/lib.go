//go:build ceph

package cephfs

/*
#cgo LDFLAGS: -lcephfs
#cgo CPPFLAGS: -D_FILE_OFFSET_BITS=64 -D_GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <cephfs/libcephfs.h>

static void few_arenas(void) {
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 2);
#endif
}
*/
import "C"

import (
	"math"
	"reflect"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/ceph/go-ceph/cephfs"
	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
)

// This file has all calls of libcephfs that go-ceph lacks. go-ceph makes, configures and releases
// mounts; its calls on files take paths, and libcephfs follows links in paths. The calls here take
// an inode, one name, and the user on whose behalf they are made, so no link is ever followed.

// Objects of libcephfs. One call releases each: unmounting, put, closeFh, freePerms and releasedir.
type (
	cMount = C.struct_ceph_mount_info
	cInode = C.struct_Inode           // an inode that libcephfs keeps in memory
	cFh    = C.struct_Fh              // an open file
	cPerms = C.UserPerm               // a user
	cDir   = C.struct_ceph_dir_result // an open directory
)

// statWanted are the fields that a stat requests from the cluster.
const statWanted = C.CEPH_STATX_BASIC_STATS | C.CEPH_STATX_VERSION

// keepFewArenas limits the number of malloc arenas. By default the many threads of libcephfs and Go
// have several, and each keeps freed memory.
func keepFewArenas() { C.few_arenas() }

// cMountOf returns the mount of libcephfs, which go-ceph does not export; nil if go-ceph keeps it elsewhere.
func cMountOf(m *cephfs.MountInfo) *cMount {
	field := reflect.ValueOf(m).Elem().FieldByName("mount")
	if !field.IsValid() || field.Kind() != reflect.Pointer {
		return nil
	}
	return (*cMount)(field.UnsafePointer())
}

// failed makes an error of a result of libcephfs; 0 and more is nil.
func failed(n C.int) error {
	if n < 0 {
		return syscall.Errno(-n)
	}
	return nil
}

func newPerms(id ids) *cPerms {
	return C.ceph_userperm_new(C.uid_t(id.uid), C.gid_t(id.gid), 0, nil)
}

func freePerms(p *cPerms) { C.ceph_userperm_destroy(p) }

// reclaim names the session of this mount. If a dead client left a session of that name, the
// cluster ends that session now; otherwise the MDS would wait a minute or more for it to release
// its files.
func reclaim(m *cMount, session string) error {
	c := C.CString(session)
	defer C.free(unsafe.Pointer(c))
	err := failed(C.ceph_start_reclaim(m, c, C.CEPH_RECLAIM_RESET))
	C.ceph_finish_reclaim(m)
	C.ceph_set_uuid(m, c)
	if err == syscall.ENOENT || err == syscall.EOPNOTSUPP {
		return nil
	}
	return err
}

func abortConn(m *cMount) error { return failed(C.ceph_abort_conn(m)) }

// withName calls do with name as a C string.
func withName(name string, do func(*C.char) C.int) error {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return failed(do(c))
}

func lookupRoot(m *cMount) (in *cInode, err error) {
	err = failed(C.ceph_ll_lookup_root(m, &in))
	return in, err
}

func lookup(m *cMount, parent *cInode, name string, p *cPerms) (in *cInode, st stat, err error) {
	var stx C.struct_ceph_statx
	err = withName(name, func(c *C.char) C.int {
		return C.ceph_ll_lookup(m, parent, c, &in, &stx, statWanted, C.AT_SYMLINK_NOFOLLOW, p)
	})
	return in, statOf(&stx), err
}

// lookupInode finds the inode ino of the snapshot snap by its number alone.
func lookupInode(m *cMount, ino, snap uint64) (in *cInode, err error) {
	vino := C.vinodeno_t{ino: C.inodeno_t{val: C.uint64_t(ino)}, snapid: C.snapid_t{val: C.uint64_t(snap)}}
	err = failed(C.ceph_ll_lookup_vino(m, vino, &in))
	return in, err
}

func put(m *cMount, in *cInode) { C.ceph_ll_put(m, in) }

func getattr(m *cMount, in *cInode, p *cPerms) (stat, error) {
	var stx C.struct_ceph_statx
	err := failed(C.ceph_ll_getattr(m, in, &stx, statWanted, C.AT_SYMLINK_NOFOLLOW, p))
	return statOf(&stx), err
}

// change is the argument of setattr; nil fields keep their value.
type change struct {
	mode  *uint32
	size  *int64
	mtime *time.Time
	atime *time.Time
	owner *ids // keepID keeps one of the numbers
}

// keepID is not a number of a user or group.
const keepID = math.MaxUint32

// setattr changes an inode in one call.
func setattr(m *cMount, in *cInode, c change, p *cPerms) error {
	var stx C.struct_ceph_statx
	var mask C.int
	if c.mode != nil {
		stx.stx_mode = C.uint16_t(*c.mode)
		mask |= C.CEPH_SETATTR_MODE
	}
	if c.size != nil {
		stx.stx_size = C.uint64_t(*c.size)
		mask |= C.CEPH_SETATTR_SIZE
	}
	if c.mtime != nil {
		stx.stx_mtime = timespec(*c.mtime)
		mask |= C.CEPH_SETATTR_MTIME
	}
	if c.atime != nil {
		stx.stx_atime = timespec(*c.atime)
		mask |= C.CEPH_SETATTR_ATIME
	}
	if c.owner != nil && c.owner.uid != keepID {
		stx.stx_uid = C.uint32_t(c.owner.uid)
		mask |= C.CEPH_SETATTR_UID
	}
	if c.owner != nil && c.owner.gid != keepID {
		stx.stx_gid = C.uint32_t(c.owner.gid)
		mask |= C.CEPH_SETATTR_GID
	}
	if mask == 0 {
		return nil
	}
	return failed(C.ceph_ll_setattr(m, in, &stx, mask, p))
}

// timespec returns t, or the nearest time that CephFS keeps: its seconds since 1970 are an unsigned number of 32 bits.
func timespec(t time.Time) (ts C.struct_timespec) {
	switch {
	case t.Unix() < 0:
		t = time.Unix(0, 0)
	case t.Unix() > math.MaxUint32:
		t = time.Unix(math.MaxUint32, 0)
	}
	ts.tv_sec, ts.tv_nsec = C.time_t(t.Unix()), C.long(t.Nanosecond())
	return ts
}

// statOf converts a struct ceph_statx.
func statOf(stx *C.struct_ceph_statx) stat {
	return stat{
		mode:    unixmode.FileMode(uint32(stx.stx_mode)),
		size:    int64(stx.stx_size),
		mtime:   time.Unix(int64(stx.stx_mtime.tv_sec), int64(stx.stx_mtime.tv_nsec)),
		ctime:   time.Unix(int64(stx.stx_ctime.tv_sec), int64(stx.stx_ctime.tv_nsec)),
		atime:   time.Unix(int64(stx.stx_atime.tv_sec), int64(stx.stx_atime.tv_nsec)),
		block:   int64(stx.stx_blksize),
		device:  uint64(stx.stx_rdev),
		links:   uint32(stx.stx_nlink),
		snap:    uint64(stx.stx_dev),
		ino:     uint64(stx.stx_ino),
		uid:     uint32(stx.stx_uid),
		gid:     uint32(stx.stx_gid),
		version: uint64(stx.stx_version),
	}
}

func openInode(m *cMount, in *cInode, flags int, p *cPerms) (fh *cFh, err error) {
	err = failed(C.ceph_ll_open(m, in, C.int(flags), &fh, p))
	return fh, err
}

func create(m *cMount, parent *cInode, name string, mode uint32, flags int, p *cPerms) (in *cInode, fh *cFh, st stat, err error) {
	var stx C.struct_ceph_statx
	err = withName(name, func(c *C.char) C.int {
		return C.ceph_ll_create(m, parent, c, C.mode_t(mode), C.int(flags), &in, &fh, &stx, statWanted, C.AT_SYMLINK_NOFOLLOW, p)
	})
	return in, fh, statOf(&stx), err
}

func closeFh(m *cMount, fh *cFh) error { return failed(C.ceph_ll_close(m, fh)) }

func read(m *cMount, fh *cFh, p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n := C.ceph_ll_read(m, fh, C.int64_t(off), C.uint64_t(len(p)), (*C.char)(unsafe.Pointer(&p[0])))
	return max(0, int(n)), failed(n)
}

func write(m *cMount, fh *cFh, p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n := C.ceph_ll_write(m, fh, C.int64_t(off), C.uint64_t(len(p)), (*C.char)(unsafe.Pointer(&p[0])))
	return max(0, int(n)), failed(n)
}

func fsync(m *cMount, fh *cFh) error { return failed(C.ceph_ll_fsync(m, fh, 0)) }

func syncInode(m *cMount, in *cInode) error { return failed(C.ceph_ll_sync_inode(m, in, 0)) }

// The types of a lock.
const (
	lockShared    = C.F_RDLCK
	lockExclusive = C.F_WRLCK
	lockNone      = C.F_UNLCK
)

// setlk sets or releases owner's lock of n bytes from off, without waiting. n 0 means all bytes to
// the end. The bytes need not exist, so a directory can be locked too.
func setlk(m *cMount, fh *cFh, kind int, off, n int64, owner uint64) error {
	fl := C.struct_flock{l_type: C.short(kind), l_whence: C.SEEK_SET, l_start: C.off_t(off), l_len: C.off_t(n)}
	return failed(C.ceph_ll_setlk(m, fh, &fl, C.uint64_t(owner), 0))
}

func mkdir(m *cMount, parent *cInode, name string, mode uint32, p *cPerms) (in *cInode, st stat, err error) {
	var stx C.struct_ceph_statx
	err = withName(name, func(c *C.char) C.int {
		return C.ceph_ll_mkdir(m, parent, c, C.mode_t(mode), &in, &stx, statWanted, C.AT_SYMLINK_NOFOLLOW, p)
	})
	return in, statOf(&stx), err
}

func symlink(m *cMount, parent *cInode, name, target string, p *cPerms) (in *cInode, st stat, err error) {
	var stx C.struct_ceph_statx
	value := C.CString(target)
	defer C.free(unsafe.Pointer(value))
	err = withName(name, func(c *C.char) C.int {
		return C.ceph_ll_symlink(m, parent, c, value, &in, &stx, statWanted, C.AT_SYMLINK_NOFOLLOW, p)
	})
	return in, statOf(&stx), err
}

func mknod(m *cMount, parent *cInode, name string, mode uint32, device uint64, p *cPerms) (in *cInode, st stat, err error) {
	var stx C.struct_ceph_statx
	err = withName(name, func(c *C.char) C.int {
		return C.ceph_ll_mknod(m, parent, c, C.mode_t(mode), C.dev_t(device), &in, &stx, statWanted, C.AT_SYMLINK_NOFOLLOW, p)
	})
	return in, statOf(&stx), err
}

func readlink(m *cMount, in *cInode, size int64, p *cPerms) (string, error) {
	buf := make([]byte, size+1)
	n := C.ceph_ll_readlink(m, in, (*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf)), p)
	if err := failed(n); err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

func link(m *cMount, in, parent *cInode, name string, p *cPerms) error {
	return withName(name, func(c *C.char) C.int { return C.ceph_ll_link(m, in, parent, c, p) })
}

func unlink(m *cMount, parent *cInode, name string, p *cPerms) error {
	return withName(name, func(c *C.char) C.int { return C.ceph_ll_unlink(m, parent, c, p) })
}

func rmdir(m *cMount, parent *cInode, name string, p *cPerms) error {
	return withName(name, func(c *C.char) C.int { return C.ceph_ll_rmdir(m, parent, c, p) })
}

func rename(m *cMount, parent *cInode, name string, to *cInode, newName string, p *cPerms) error {
	c := C.CString(newName)
	defer C.free(unsafe.Pointer(c))
	return withName(name, func(old *C.char) C.int { return C.ceph_ll_rename(m, parent, old, to, c, p) })
}

func getxattr(m *cMount, in *cInode, name string, size int, p *cPerms) ([]byte, error) {
	buf := make([]byte, size)
	var n C.int
	err := withName(name, func(c *C.char) C.int {
		n = C.ceph_ll_getxattr(m, in, c, unsafe.Pointer(&buf[0]), C.size_t(size), p)
		return n
	})
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}

func setxattr(m *cMount, in *cInode, name string, value []byte, flags pfs.XattrFlags, p *cPerms) error {
	how := 0
	if flags&pfs.XattrCreate != 0 {
		how |= C.XATTR_CREATE
	}
	if flags&pfs.XattrReplace != 0 {
		how |= C.XATTR_REPLACE
	}
	at := append(value[:len(value):len(value)], 0) // libcephfs removes an attribute whose value is at nil
	return withName(name, func(c *C.char) C.int {
		return C.ceph_ll_setxattr(m, in, c, unsafe.Pointer(unsafe.SliceData(at)), C.size_t(len(value)), C.int(how), p)
	})
}

func listxattr(m *cMount, in *cInode, p *cPerms) ([]string, error) {
	buf := make([]byte, maxXattrs)
	var n C.size_t
	if err := failed(C.ceph_ll_listxattr(m, in, (*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf)), &n, p)); err != nil || n == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00"), nil
}

// maxXattrs is the limit of the MDS for all extended attributes of a file, in bytes.
const maxXattrs = 64 << 10

func removexattr(m *cMount, in *cInode, name string, p *cPerms) error {
	return withName(name, func(c *C.char) C.int { return C.ceph_ll_removexattr(m, in, c, p) })
}

func statfs(m *cMount, in *cInode) (pfs.Space, error) {
	var st C.struct_statvfs
	if err := failed(C.ceph_ll_statfs(m, in, &st)); err != nil {
		return pfs.Space{}, err
	}
	unit := int64(st.f_frsize)
	return pfs.Space{Total: int64(st.f_blocks) * unit, Used: int64(st.f_blocks-st.f_bfree) * unit, Free: int64(st.f_bavail) * unit}, nil
}

func opendir(m *cMount, in *cInode, p *cPerms) (d *cDir, err error) {
	err = failed(C.ceph_ll_opendir(m, in, &d, p))
	return d, err
}

func releasedir(m *cMount, d *cDir) { C.ceph_ll_releasedir(m, d) }

func seekdir(m *cMount, d *cDir, off int64) { C.ceph_seekdir(m, d, C.int64_t(off)) }

// readdir returns the next entry and the position of the one after it; ok is false at the end.
func readdir(m *cMount, d *cDir) (e entry, ok bool, err error) {
	var de C.struct_dirent
	var stx C.struct_ceph_statx
	n := C.ceph_readdirplus_r(m, d, &de, &stx, statWanted, C.AT_SYMLINK_NOFOLLOW, nil)
	if n <= 0 {
		return entry{}, false, failed(n)
	}
	return entry{name: C.GoString(&de.d_name[0]), st: statOf(&stx), next: int64(de.d_off)}, true, nil
}
