package cachefs

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	layoutVersion = "v2"
	lockName      = "lock"

	retryDisk = 10 * time.Second // how long a failing disk is left alone
)

// dir is one cache directory.
type dir struct {
	top     string // as the user named it
	path    string // top/v2-UID
	limit   int64  // bytes of files
	reserve int64  // free bytes that the disk keeps
	log     *slog.Logger

	used    atomic.Int64  // bytes of files, as counted by the last scan and of this process since
	filling atomic.Int64  // bytes on their way from the store
	filled  atomic.Int64  // bytes of this process since the last scan
	evicted atomic.Int64  // files
	crowded atomic.Bool   // nothing more can be evicted
	kick    chan struct{} // wakes the evictor
	evictMu sync.Mutex    // held by evict: two concurrent calls would remove twice as much as necessary

	mu      sync.Mutex
	running *os.File // the lock file, which tells other processes that the directory is used
	failing bool
	again   time.Time // when a failing disk is tried again
}

// errRefused is the cause of an error that is not a failure of the disk.
var errRefused = errors.New("choose another cache directory, or remove it")

// prepare makes the directory.
func (d *dir) prepare() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running != nil && !d.failing {
		return nil
	}
	if err := os.MkdirAll(d.top, 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(d.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(d.path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory: %w", d.path, errRefused)
	case ownerOf(info) != os.Getuid():
		return fmt.Errorf("%s belongs to user %d: %w", d.path, ownerOf(info), errRefused)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s has mode %v, so others can read or change it: %w", d.path, info.Mode().Perm(), errRefused)
	}
	f, err := os.OpenFile(filepath.Join(d.path, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := lock(f, false); err != nil {
		_ = f.Close()
		return err
	}
	if d.running != nil {
		_ = d.running.Close() // of a directory that may have been removed
	}
	d.running = f
	d.removeOtherVersions()
	return nil
}

// removeOtherVersions removes the directories of other versions of this program that no process uses.
func (d *dir) removeOtherVersions() {
	others, _ := filepath.Glob(filepath.Join(d.top, "v[0-9]*-"+strconv.Itoa(os.Getuid())))
	for _, other := range others {
		if other == d.path {
			continue
		}
		f, err := os.Open(filepath.Join(other, lockName))
		if err != nil || lock(f, true) != nil {
			d.log.Info("a cache of another version is left alone", "dir", other)
		} else if err := os.RemoveAll(other); err != nil {
			d.log.Warn("a cache of another version cannot be removed", "dir", other, "error", err)
		}
		if f != nil {
			_ = f.Close()
		}
	}
}

// close drops the lock of the directory.
func (d *dir) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running != nil {
		_ = d.running.Close()
	}
}

// usable reports whether the directory may be used now. A failing directory is tried again periodically.
func (d *dir) usable() bool {
	d.mu.Lock()
	wait := d.failing && time.Now().Before(d.again)
	d.mu.Unlock()
	if wait {
		return false
	}
	if err := d.prepare(); err != nil {
		d.fail(err)
		return false
	}
	return true
}

// fail notes a failure of the disk: reads bypass it for a while. Only the first of several errors in a
// row is logged.
func (d *dir) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.again = time.Now().Add(retryDisk)
	if !d.failing {
		d.failing = true
		d.log.Warn("the cache directory cannot be used; reads go to the store", "dir", d.top, "error", err)
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		d.wake()
	}
}

// worked notes that a write to the disk succeeded. Writes that began before an error do not count.
func (d *dir) worked() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failing && !time.Now().Before(d.again) {
		d.failing = false
		d.log.Info("the cache directory is used again", "dir", d.top)
	}
}

// open opens the file of the cache with that key, in a subdirectory.
func (d *dir) open(sub, key string, size int64, boot bootID) (*disk, error) {
	base := filepath.Join(d.path, sub)
	if err := os.Mkdir(base, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return openDisk(filepath.Join(base, key[:1], key), size, boot)
}

// begin reports whether the directory has room for n more bytes. If so, the caller calls end when they
// are written.
func (d *dir) begin(n int64) bool {
	for {
		filling := d.filling.Load()
		if !d.usable() || d.full(filling+n) {
			return false
		}
		if d.filling.CompareAndSwap(filling, filling+n) {
			return true
		}
	}
}

func (d *dir) end(n int64) { d.filling.Add(-n) }

// full reports whether filling bytes, which are being written, do not fit. It wakes the evictor before
// the directory is full.
func (d *dir) full(filling int64) bool {
	used := d.used.Load() + filling
	if used > d.limit || d.filled.Load() > d.limit/16 {
		d.wake()
	}
	_, free, err := diskSpace(d.path)
	if err == nil && free < d.reserve {
		d.wake()
	}
	return used > d.limit+max(d.limit/16, blockSize) || d.crowded.Load() && used > d.limit || err == nil && free < d.reserve/2
}

// add counts n bytes that were filled.
func (d *dir) add(n int64) {
	d.used.Add(n)
	d.filled.Add(n)
}

// wake starts the evictor.
func (d *dir) wake() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// subOf returns the name of the subdirectory of an account.
func subOf(user string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	if user != "" && len(user) < 64 && strings.Trim(user, safe) == "" {
		return "user-" + user
	}
	return fmt.Sprintf("user=%x", keyHash(user))
}

// readBoot returns the ID of this run of the system. Without one, it returns an ID that is used
// once, so that everything is checked.
func readBoot() (id bootID) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		text = []byte(pfs.NewID())
	}
	return bootID(keyHash(string(text)))
}
