//go:build ceph

package cephfs

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ceph/go-ceph/cephfs"
	"github.com/paddlecloud/pfs/pfs"
)

// mount is one session with the cluster. It is used until the cluster ends it or the store gives it
// up; then the store makes another.
type mount struct {
	info *cephfs.MountInfo
	c    *cMount
	root *cInode // its top directory, open as long as the mount

	puts  sync.RWMutex // held for reading while an inode is given back
	names nameLocks

	mu     sync.Mutex
	dead   bool
	inside int           // calls of libcephfs that have not returned
	silent int           // abandoned operations without an answer for the timeout
	left   chan struct{} // closed once the mount is dead and inside is 0
}

// errGone reports a call over a dead mount; it had no effect.
var errGone = errors.New("the connection to the cluster was given up")

// connectTries is the number of attempts to mount before a refusal is final. An MDS that was silent
// may admit a client after that client has given up, and then refuses the next one of the same
// name. One more attempt reclaims the session of the first client and succeeds.
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

// tryConnect makes one attempt to mount.
func tryConnect(o Options) (*mount, error) {
	keepFewArenas()
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
	if err := m.findRoot(o); err != nil {
		m.kill()
		m.end(o.Timeout)
		return nil, err
	}
	return m, nil
}

// begin mounts the file system. It takes over the name, and so ends the session, of an earlier
// mount.
func (m *mount) begin(o Options) error {
	if err := m.info.Init(); err != nil {
		return err
	}
	if err := reclaim(m.c, o.Session); err != nil {
		return err
	}
	return m.info.MountWithRoot(o.Root)
}

// findRoot opens the top directory of a mount. It returns Invalid for a root that is not a
// directory: the cluster also mounts a file or a link, and then denies every name in it.
func (m *mount) findRoot(o Options) (err error) {
	if m.root, err = lookupRoot(m.c); err != nil {
		return err
	}
	root := newUser(ids{})
	st, err := getattr(m.c, m.root, root.perms)
	runtime.KeepAlive(root)
	if err == nil && !st.mode.IsDir() {
		return pfs.Errorf(openOp, "", pfs.Invalid, "the root %q in file system %q is not a directory", o.Root, o.FileSystem)
	}
	return err
}

// minKey is the length of the shortest key, in bytes: kind, time, length and 16 bytes of AES.
const minKey = 28

// checkKeyring returns Invalid or Permission if the keyring has no readable key of the user.
// libcephfs would continue without a key, and the monitors would not answer; for a damaged key it
// reports a damaged disk.
func checkKeyring(o Options) error {
	if o.Keyring == "" {
		return nil
	}
	p, err := os.ReadFile(o.Keyring)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return pfs.Errorf(openOp, "", pfs.Invalid, "the keyring %q does not exist", o.Keyring)
	case err != nil:
		return pfs.Errorf(openOp, "", pfs.Permission, "the keyring cannot be read: %w", err)
	}
	key, ok := keyOf(string(p), o.User)
	if !ok {
		return pfs.Errorf(openOp, "", pfs.Invalid, "the keyring %q has no key of client.%s", o.Keyring, o.User)
	}
	if raw, err := base64.StdEncoding.DecodeString(key); err != nil || len(raw) < minKey {
		return pfs.Errorf(openOp, "", pfs.Invalid, "the key of client.%s in the keyring %q is damaged: replace it by the output of \"ceph auth get client.%[1]s\"", o.User, o.Keyring)
	}
	return nil
}

// keyOf returns the key of a user in the text of a keyring.
func keyOf(keyring, user string) (key string, ok bool) {
	section := ""
	for line := range strings.Lines(keyring) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
		}
		name, value, _ := strings.Cut(line, "=")
		if section == "[client."+user+"]" && strings.TrimSpace(name) == "key" {
			value, _, _ = strings.Cut(value, ";") // a comment
			return strings.Trim(value, "\" \t"), true
		}
	}
	return "", false
}

// keyring describes where the key of the user is read.
func (o Options) keyring() string {
	if o.Keyring == "" {
		return "Ceph's default keyrings"
	}
	return strconv.Quote(o.Keyring)
}

// configure sets the options that differ from Ceph's defaults. There is no object cache: it takes
// much memory per mount, and callers that read a file twice have caches of their own. libcephfs
// writes no log and opens no socket.
func (m *mount) configure(o Options) error {
	config := cmp.Or(o.Config, os.DevNull) // libcephfs applies no option before it has read a file
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
		// An OSD that has come back is noticed well before the calls that wait for it time out.
		{"objecter_tick_interval", "1"},
		{"objecter_timeout", strconv.FormatFloat(min(10, o.Timeout.Seconds()/4), 'f', 1, 64)},
		{"log_file", ""},
		{"log_to_stderr", "false"},
		{"err_to_stderr", "true"}, // a value that does not change would not be applied
		{"err_to_stderr", "false"},
		{"admin_socket", ""},
	}
	// libcephfs would also keep a log in memory for a crash report. With small files that takes
	// much time.
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

// refused returns the error of a failed mount, with its likely cause.
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
		return pfs.Errorf(openOp, "", pfs.Unavailable, "%s do not let client.%s in within %v: they are not there, have no quorum, or do not know its key in %s, or no MDS answers", where, o.User, o.Timeout, o.keyring())
	case syscall.EACCES, syscall.EPERM:
		return pfs.Errorf(openOp, "", pfs.Permission, "%s refuse client.%s: its key in %s is not theirs, or may not use file system %q or directory %q in it", where, o.User, o.keyring(), o.FileSystem, o.Root)
	case syscall.ENOENT:
		why := fmt.Sprintf("%s have no file system %q", where, o.FileSystem)
		if o.Root != "/" {
			why += fmt.Sprintf(", or no directory %q in it", o.Root)
		}
		if o.Keyring == "" { // a given keyring is known to have the key
			why = fmt.Sprintf("no key of client.%s in %s; or %s", o.User, o.keyring(), why)
		}
		return pfs.Errorf(openOp, "", pfs.Invalid, "%s", why)
	case syscall.EINVAL:
		return pfs.Errorf(openOp, "", pfs.Invalid, "%s cannot be used as client.%s: %w", where, o.User, err)
	}
	return pfs.Errorf(openOp, "", pfs.Unavailable, "%s as client.%s: %w", where, o.User, err)
}

// errnoOf returns the number of an error of go-ceph or of the system, 0 if it has none.
func errnoOf(err error) syscall.Errno {
	var coded interface{ ErrorCode() int }
	if errors.As(err, &coded) {
		return syscall.Errno(max(coded.ErrorCode(), -coded.ErrorCode()))
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}

// enter begins a call of libcephfs over this mount, leave ends it. enter returns errGone if the
// mount is dead.
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

// tellLeft closes left if the mount is dead and no call is inside. The caller holds m.mu.
func (m *mount) tellLeft() {
	if m.dead && m.inside == 0 {
		close(m.left)
	}
}

// kill keeps new calls out of the mount. It reports whether the mount was alive.
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

// unanswered counts an abandoned operation without an answer for the timeout, unless it has ended
// by now, and returns the number of them.
func (m *mount) unanswered(c *call) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-c.over:
	default:
		c.counted = true
		m.silent++
	}
	return m.silent
}

// answered is called once an operation has ended.
func (m *mount) answered(c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.counted {
		m.silent--
	}
}

// isDead reports whether the mount was killed.
func (m *mount) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

// put returns an inode to libcephfs, unless the mount is dead. When libcephfs aborts its
// connections it frees all inodes, and a later put would free one twice.
func (m *mount) put(in *cInode) {
	m.puts.RLock()
	defer m.puts.RUnlock()
	if !m.isDead() {
		put(m.c, in)
	}
}

// end releases a mount that was killed. If all calls leave it within grace it is unmounted cleanly;
// otherwise it is aborted.
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

// abort releases a mount that was killed. It closes the mount's connections, which ends the calls
// that wait for the cluster. Unlike an unmount it does not wait for a silent MDS.
func (m *mount) abort() {
	m.puts.Lock() // waits for each put that found the mount alive
	abortConn(m.c)
	m.puts.Unlock()
	<-m.left
	m.info.Release()
}
