package fuse

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	raw "github.com/hanwen/go-fuse/v2/fuse"
	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sys/unix"
)

// maxWrite is the size of the largest requests.
const maxWrite = 1 << 20

// Connection is a mount in the kernel. It lasts while a process has its Device open, so a server
// can take it over from a server that has died.
type Connection struct {
	// Dir is the mount point.
	Dir string

	// Device is the kernel's side, open for reading requests and writing answers.
	Device *os.File

	// Hello is the first request of the kernel. It was answered, but each server needs it.
	Hello []byte

	// UID and GID identify the user who mounted.
	UID, GID uint32

	// State, if not nil, has two files for the journal that a replacement of the server reads.
	State []*os.File

	// Broker, if not nil, is the process that has mounted.
	Broker Broker

	library   *raw.Server // nil if Broker is not
	unmounted atomic.Bool
}

// Connect mounts at the empty directory dir. The mount has no server yet: programs that use it wait.
// A mount of this package whose server has died is replaced.
func Connect(dir string, opts Options) (*Connection, error) {
	dir, err := free(dir, opts)
	if err != nil {
		return nil, err
	}
	fd := 0
	if os.Geteuid() == 0 {
		fd, err = mountDirectly(dir, opts)
	} else {
		fd, err = mountByHelper(dir, opts)
	}
	if err != nil {
		return nil, pfs.Errorf("fuse.Connect", "", pfs.KindOf(err), "mount %s: %s", dir, strings.TrimSpace(err.Error()))
	}
	c := &Connection{Dir: dir, Device: os.NewFile(uintptr(fd), "/dev/fuse"), UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	if err := c.greet(opts); err != nil {
		c.Device.Close()
		_ = unmount(dir, true)
		return nil, pfs.Errorf("fuse.Connect", "", pfs.Other, "mount %s: %w", dir, err)
	}
	if e, ok := find(dir); ok {
		// The default of the kernel is far too small for a store; only root may change it.
		_ = os.WriteFile("/sys/class/bdi/"+e.device+"/read_ahead_kb", []byte(strconv.Itoa(readAhead)), 0o644)
	}
	return c, nil
}

// greet answers the first request of the kernel.
func (c *Connection) greet(opts Options) error {
	fd, err := unix.FcntlInt(c.Device.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	// A server of the library is used only for this.
	c.library, err = raw.NewServer(raw.NewDefaultRawFileSystem(), "/dev/fd/"+strconv.Itoa(fd), libraryOptions(opts))
	if err != nil {
		syscall.Close(fd)
		return err
	}
	var hello bytes.Buffer
	if err := binary.Write(&hello, binary.NativeEndian, c.library.KernelSettings()); err != nil {
		return err
	}
	c.Hello = hello.Bytes()
	return nil
}

// libraryOptions are the options that the kernel and the library agree on.
func libraryOptions(opts Options) *raw.MountOptions {
	var extra uint64 = raw.CAP_HANDLE_KILLPRIV_V2
	if opts.Squash {
		// With this option, an open that truncates is one request, and files on HDFS need not be staged. But the file of a
		// running program would be truncated before the kernel answers ETXTBSY.
		extra |= raw.CAP_ATOMIC_O_TRUNC
	}
	return &raw.MountOptions{
		Name:                 subtype,
		MaxWrite:             maxWrite,
		MaxBackground:        64,
		DisableSplice:        true, // gains nothing, and 1 MiB with a header is more than a pipe holds
		IgnoreSecurityLabels: true,
		EnableSymlinkCaching: true,
		ExtraCapabilities:    extra,
		Logger:               log.New(logWriter{opts.Logger}, "", 0),
	}
}

// mountOptions are the options of the mount for the kernel and for fusermount3.
func mountOptions(opts Options) []string {
	o := []string{fmt.Sprintf("max_read=%d", maxWrite)}
	if opts.shared() {
		o = append(o, "default_permissions")
	}
	return o
}

// mountDirectly mounts as root, and returns the descriptor of the device.
func mountDirectly(dir string, opts Options) (int, error) {
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	o := append(mountOptions(opts), fmt.Sprintf("fd=%d", fd), "rootmode=40000", "user_id=0", fmt.Sprintf("group_id=%d", os.Getegid()))
	if opts.shared() {
		o = append(o, "allow_other")
	}
	flags := uintptr(syscall.MS_NOSUID | syscall.MS_NODEV)
	if opts.ReadOnly {
		flags |= syscall.MS_RDONLY
	}
	if err := syscall.Mount(cmp.Or(opts.Source, subtype), dir, fsType, flags, strings.Join(o, ",")); err != nil {
		syscall.Close(fd)
		return 0, err
	}
	return fd, nil
}

// mountByHelper mounts with fusermount3, and returns the descriptor of the device.
func mountByHelper(dir string, opts Options) (int, error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	theirs := os.NewFile(uintptr(ends[1]), "fusermount3")
	defer syscall.Close(ends[0])
	o := append(mountOptions(opts), "subtype="+subtype, "fsname="+strings.NewReplacer(`\`, `\\`, ",", `\,`).Replace(cmp.Or(opts.Source, subtype)))
	if opts.ReadOnly {
		o = append(o, "ro")
	}
	helper := exec.Command("fusermount3", "-o", strings.Join(o, ","), "--", dir)
	helper.Env = append(os.Environ(), "_FUSE_COMMFD=3")
	helper.ExtraFiles = []*os.File{theirs}
	said, err := helper.CombinedOutput()
	theirs.Close()
	if err != nil {
		return 0, helperFailed(err, said)
	}
	control := make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := syscall.Recvmsg(ends[0], make([]byte, 1), control, syscall.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	messages, err := syscall.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		return 0, errors.Join(errors.New("fusermount3 has sent no descriptor"), err)
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return 0, errors.Join(errors.New("fusermount3 has sent no descriptor"), err)
	}
	return fds[0], nil
}

// helperFailed returns the error of a fusermount3 that has printed a message, or that was not found.
func helperFailed(err error, said []byte) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w: users other than root need it: install the package fuse3", err)
	}
	return fmt.Errorf("%w: %s", err, bytes.TrimSpace(said))
}

// Requests for the device; see fuse.h of the kernel.
const (
	ioctlBackingOpen  = 0x4010e501
	ioctlBackingClose = 0x4004e502
)

// Register makes f a backing file that the kernel may use, and returns its number. It needs root, or a
// Broker that is root, and Linux 6.9.
func (c *Connection) Register(f *os.File) (int32, error) {
	if c.Broker != nil {
		return c.Broker.Register(f)
	}
	backing := raw.BackingMap{Fd: int32(f.Fd())}
	id, _, errno := syscall.Syscall(syscall.SYS_IOCTL, c.Device.Fd(), ioctlBackingOpen, uintptr(unsafe.Pointer(&backing)))
	if errno != 0 {
		return 0, errno
	}
	return int32(id), nil
}

// Unregister ends what Register began.
func (c *Connection) Unregister(id int32) error {
	if c.Broker != nil {
		return c.Broker.Unregister(id)
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, c.Device.Fd(), ioctlBackingClose, uintptr(unsafe.Pointer(&id))); errno != 0 {
		return errno
	}
	return nil
}

// Unmount ends the mount, also if it is in use: programs that use it then get errors. A second call
// does nothing: there may be another mount at the same place.
func (c *Connection) Unmount() error {
	if c.unmounted.Load() {
		return nil
	}
	var err error
	if c.Broker != nil {
		err = c.Broker.Unmount()
	}
	if c.Broker == nil || err != nil {
		if err = unmount(c.Dir, false); err != nil {
			err = unmount(c.Dir, true)
		}
	}
	c.unmounted.Store(err == nil)
	return err
}

// Ended reports whether the mount has ended for all programs, or Unmount has ended it. Programs that have files open then need
// no other server.
func (c *Connection) Ended() bool {
	if c.unmounted.Load() {
		return true
	}
	poll := []unix.PollFd{{Fd: int32(c.Device.Fd()), Events: unix.POLLIN}}
	_, err := unix.Poll(poll, 0)
	return err == nil && poll[0].Revents&unix.POLLERR != 0
}

// Abort ends a mount whose server does not answer, or has ended. All programs that wait for it get errors. It does nothing
// after Unmount.
func (c *Connection) Abort() error {
	if c.unmounted.Load() {
		return nil
	}
	if os.Geteuid() == 0 {
		return syscall.Unmount(c.Dir, syscall.MNT_FORCE|syscall.MNT_DETACH)
	}
	return unmount(c.Dir, true) // the kernel ends the rest when the device is closed
}

// close closes the device after the mount has ended.
func (c *Connection) close() {
	c.Device.Close()
	if c.library != nil {
		c.library.Serve() // sees that the mount has ended, and closes its descriptor
	}
}

// quietPoll makes the kernel ask for poll(2) now, which it does only once. The first poll must not come from
// the poller of this process, which would wait for itself.
func quietPoll(dir string) error {
	fd, err := syscall.Open(filepath.Join(dir, ".go-fuse-epoll-hack"), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return syscall.Close(fd)
}
