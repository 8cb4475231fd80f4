//go:build ceph

package cephfs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ceph/go-ceph/cephfs"
	"github.com/paddlecloud/pfs/pfs"
)

// mount is one session with the cluster. It is used until the cluster ends it or it is given up,
// and never again after: then another one is made.
type mount struct {
	info *cephfs.MountInfo
	c    *cMount
	root *cInode // its top directory, for as long as it lasts

	puts sync.RWMutex // held for reading by who gives an inode back

	mu        sync.Mutex
	dead      bool
	inside    int           // calls that are in libcephfs now
	abandoned int           // operations that nobody waits for any more
	left      chan struct{} // closed once it is dead and nobody is inside
}

// errGone says that a call came to a mount that is dead; nothing was done.
var errGone = errors.New("the connection to the cluster was given up")

// connectTries is how often a mount is tried to make that the cluster refuses. An MDS that was silent may
// let in late who has asked in vain before and is gone, and refuses a second one of his name: that is ended by
// the next try, which reclaims his session.
const connectTries = 3

// connect makes a mount. It may take the whole timeout.
func connect(o Options) (*mount, error) {
	if err := checkKeyring(o); err != nil {
		return nil, err
	}
	if err := checkMonitors(o); err != nil {
		return nil, err
	}
	for tries := 1; ; tries++ {
		m, err := tryConnect(o)
		switch {
		case err == nil:
			return m, nil
		case errnoOf(err) != syscall.EPERM || tries == connectTries:
			return nil, refused(o, err)
		}
	}
}

// tryConnect asks the cluster once.
func tryConnect(o Options) (*mount, error) {
	info, err := cephfs.CreateMountWithId(o.User)
	if err != nil {
		return nil, err
	}
	m := &mount{info: info, c: cMountOf(info), left: make(chan struct{})}
	if m.c == nil {
		return nil, pfs.Errorf(openOp, "", pfs.Unsupported, "this go-ceph keeps its mount elsewhere: build with the version in go.mod")
	}
	if err := m.configure(o); err != nil {
		info.Release()
		return nil, err
	}
	if err := m.begin(o); err != nil {
		info.Release()
		return nil, err
	}
	return m, nil
}

// begin mounts what was configured, in place of a mount that went before.
func (m *mount) begin(o Options) error {
	if err := m.info.Init(); err != nil {
		return err
	}
	if err := reclaim(m.c, o.Session); err != nil {
		return err
	}
	if err := m.info.MountWithRoot(o.Root); err != nil {
		return err
	}
	var err error
	m.root, err = lookupRoot(m.c)
	return err
}

// checkKeyring answers Invalid or Permission if the keyring has no key of the user that could be read.
// libcephfs would go on without one, and the monitors would not answer.
func checkKeyring(o Options) error {
	if o.Keyring == "" {
		return nil
	}
	p, err := os.ReadFile(o.Keyring)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return pfs.Errorf(openOp, "", pfs.Invalid, "the keyring %q is not there", o.Keyring)
	case err != nil:
		return pfs.Errorf(openOp, "", pfs.Permission, "the keyring cannot be read: %w", err)
	}
	for line := range strings.Lines(string(p)) {
		if strings.TrimSpace(line) == "[client."+o.User+"]" {
			return nil
		}
	}
	return pfs.Errorf(openOp, "", pfs.Invalid, "the keyring %q has no key of client.%s", o.Keyring, o.User)
}

// configure sets what differs from Ceph's defaults. No object cache: it takes 200 MB a mount, and
// who reads a file twice has a cache of his own. No log and no socket beside the program's own.
func (m *mount) configure(o Options) error {
	config := cmp.Or(o.Config, os.DevNull) // libcephfs acts on no option before it has read a file
	if err := m.info.ReadConfigFile(config); err != nil {
		return fmt.Errorf("%s: %w", config, err)
	}
	seconds := strconv.Itoa(int(math.Ceil(o.Timeout.Seconds())))
	options := [][2]string{
		{"auth_client_required", "cephx"},
		{"client_oc", "false"},
		{"client_mount_timeout", seconds},
		{"client_shutdown_timeout", strconv.Itoa(int(math.Ceil(o.Timeout.Seconds() / 4)))},
		{"rados_osd_op_timeout", seconds},
		{"rados_mon_op_timeout", seconds},
		// An OSD that came back is looked for well before the calls that wait for it time out.
		{"objecter_tick_interval", "1"},
		{"objecter_timeout", strconv.FormatFloat(min(10, o.Timeout.Seconds()/4), 'f', 1, 64)},
		{"log_file", ""},
		{"log_to_stderr", "false"},
		{"err_to_stderr", "true"}, // that it is false already would not be noticed
		{"err_to_stderr", "false"},
		{"admin_socket", ""},
	}
	// Nor is a log kept in memory for a crash: with small files it takes a tenth and more of the CPU time.
	for _, part := range []string{"client", "ms", "objecter", "monc", "auth"} {
		options = append(options, [2]string{"debug_" + part, "0/0"})
	}
	if len(o.Monitors) > 0 {
		options = append(options, [2]string{"mon_host", strings.Join(o.Monitors, ",")})
	}
	if o.Keyring != "" {
		options = append(options, [2]string{"keyring", o.Keyring})
	}
	for _, kv := range options {
		if err := m.info.SetConfigOption(kv[0], kv[1]); err != nil {
			return fmt.Errorf("option %s: %w", kv[0], err)
		}
	}
	if o.FileSystem == "" {
		return nil
	}
	return m.info.SelectFilesystem(o.FileSystem)
}

// refused says why there is no mount.
func refused(o Options, err error) error {
	if known := (*pfs.Error)(nil); errors.As(err, &known) {
		return err
	}
	where := "the monitors of " + strconv.Quote(o.Config)
	if len(o.Monitors) > 0 {
		where = "the monitors " + strings.Join(o.Monitors, ", ")
	}
	errno := errnoOf(err)
	switch errno {
	case syscall.ETIMEDOUT:
		return pfs.Errorf(openOp, "", pfs.Unavailable, "%s do not let client.%s in within %v: they are not there, have no quorum, or do not know its key in %q, or no MDS answers", where, o.User, o.Timeout, o.Keyring)
	case syscall.EACCES, syscall.EPERM:
		return pfs.Errorf(openOp, "", pfs.Permission, "%s refuse client.%s: its key in %q is not theirs, or may not use file system %q", where, o.User, o.Keyring, o.FileSystem)
	case syscall.ENOENT:
		return pfs.Errorf(openOp, "", pfs.Invalid, "%s are found, but not the key of client.%s in %q, file system %q, or directory %q in it", where, o.User, o.Keyring, o.FileSystem, o.Root)
	case syscall.EINVAL:
		return pfs.Errorf(openOp, "", pfs.Invalid, "%s cannot be used as client.%s: %w", where, o.User, err)
	}
	return pfs.Errorf(openOp, "", pfs.Unavailable, "%s as client.%s: %w", where, o.User, err)
}

// errnoOf returns the number in an error of go-ceph or of the system, 0 if it has none.
func errnoOf(err error) syscall.Errno {
	var coded interface{ ErrorCode() int }
	if errors.As(err, &coded) {
		return syscall.Errno(max(coded.ErrorCode(), -coded.ErrorCode()))
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}

// enter begins a call of libcephfs on something of this mount, and answers errGone if that is not
// there any more. leave ends it.
func (m *mount) enter() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errGone
	}
	m.inside++
	return nil
}

func (m *mount) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inside--
	m.tellLeft()
}

// tellLeft wakes who waits for a dead mount to be left; m.mu is held.
func (m *mount) tellLeft() {
	if m.dead && m.inside == 0 {
		close(m.left)
	}
}

// kill keeps new calls out, and reports whether this is the first time.
func (m *mount) kill() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return false
	}
	m.dead = true
	m.tellLeft()
	return true
}

// abandon counts an operation that nobody waits for any more, by +1, or by -1 when it has ended
// after all, and returns how many there are.
func (m *mount) abandon(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.abandoned += n
	return m.abandoned
}

// isDead reports whether the mount was killed.
func (m *mount) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

// put gives an inode back. What a dead mount had is given back with it: libcephfs frees all inodes when
// connections are taken away, and does not notice that one is given back after that.
func (m *mount) put(in *cInode) {
	m.puts.RLock()
	defer m.puts.RUnlock()
	if !m.isDead() {
		put(m.c, in)
	}
}

// end releases a mount that was killed. It waits for those inside for as long as grace, to take leave of
// the cluster then.
func (m *mount) end(grace time.Duration) {
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-m.left:
		m.info.Unmount()
		m.info.Release()
	case <-patience.C:
		m.abort()
	}
}

// abort releases a mount that was killed by taking its connections away, which ends the calls that wait for
// the cluster. An MDS that does not answer does not hold it up, as it does whoever takes leave.
func (m *mount) abort() {
	m.puts.Lock() // who found it alive is through then
	abortConn(m.c)
	m.puts.Unlock()
	<-m.left
	m.info.Release()
}
