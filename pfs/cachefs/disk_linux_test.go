package cachefs

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/sys/unix"
)

// mountSmall mounts a file system of that size on a fresh directory.
func mountSmall(t *testing.T, size string) string {
	return mountMemory(t, "tmpfs", "size="+size)
}

func mountMemory(t *testing.T, fsType, opts string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount(fsType, dir, fsType, 0, opts); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("mounting a small file system: %v", err)
		}
		t.Skipf("mounting a small file system needs privilege: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// TestFullDisk caches on a disk that is smaller than the file, and than the size of the cache.
func TestFullDisk(t *testing.T) {
	var log lines
	dir := mountSmall(t, "8m")
	s, data := newStore(t)
	c := newCache(t, s, func(o *Options) { o.Dirs, o.Logger = []string{dir}, log.logger() })
	for range 3 {
		f := open(t, c, "/f")
		readAll(t, f, data)
		f.Close()
		waitIdle(c)
	}
	log.want(t, 1, "no space left")

	// There is space again.
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	c.dirs[0].mu.Lock()
	c.dirs[0].again = time.Time{}
	c.dirs[0].mu.Unlock()
	f := open(t, c, "/f")
	defer f.Close()
	readAll(t, f, data)
	waitIdle(c)
	if f.Local() == nil {
		t.Error("the file is not whole")
	}
	log.want(t, 1, "used again")
}

// TestFullDiskOfSmallFiles reads more small files than the disk holds: the oldest ones go.
func TestFullDiskOfSmallFiles(t *testing.T) {
	dir := mountSmall(t, "8m")
	s, data := newStore(t)
	c := newCache(t, slowService{s}, func(o *Options) { o.Dirs, o.Reserve = []string{dir}, 2*mib })
	for i := range 40 {
		pfstest.WriteFile(t, s.FileSystem, pfs.Path("/"+string(rune('a'+i))), data[:mib/2])
	}
	for i := range 40 {
		f := open(t, c, pfs.Path("/"+string(rune('a'+i))))
		readAll(t, f, data[:mib/2])
		f.Close()
		waitIdle(c)
		c.dirs[0].evict(t.Context())
	}
	if n := len(filesOf(t, dir)); n < 8 || n > 12 {
		t.Errorf("%d files are left", n)
	}
}

// TestReadOnlyDisk makes the disk read-only while it is used.
func TestReadOnlyDisk(t *testing.T) {
	var log lines
	dir := mountSmall(t, "64m")
	s, data := newStore(t)
	c := newCache(t, s, func(o *Options) { o.Dirs, o.Logger = []string{filepath.Join(dir, "cache")}, log.logger() })
	pfstest.WantFile(t, c, "/f", data)
	waitIdle(c)
	c.dirs[0].close() // a file that is open for writing prevents the remount
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	pfstest.WriteFile(t, s.FileSystem, "/g", data[:mib])
	for range 3 {
		pfstest.WantFile(t, c, "/f", data)
		pfstest.WantFile(t, c, "/g", data[:mib])
	}
	log.want(t, 1, "read-only")

	d := newCache(t, s, func(o *Options) { o.Dirs, o.Logger = []string{filepath.Join(dir, "new")}, log.logger() })
	pfstest.WantFile(t, d, "/f", data)
	log.want(t, 1, "read-only")
}

// TestSmallFilesOnDisk caches files of one block on a disk with extended attributes and on one without,
// reads them in a second process, damages one, and reads them after a restart of the system.
func TestSmallFilesOnDisk(t *testing.T) {
	for fsType, attrs := range map[string]bool{"tmpfs": true, "ramfs": false} {
		t.Run(fsType, func(t *testing.T) {
			dir := mountMemory(t, fsType, "")
			s := &slowStore{FileSystem: memfs.New(memfs.Options{})}
			for name, size := range map[pfs.Path]int{"/f": 100_000, "/g": blockSize} {
				pfstest.WriteFile(t, s.FileSystem, name, pfstest.Pattern(1, size))
			}
			readBoth := func(boot byte, requests int64) {
				t.Helper()
				c := newCache(t, s, func(o *Options) { o.Dirs, o.Reserve = []string{dir}, 0 })
				defer c.Close()
				c.boot[0] += boot
				for _, name := range []pfs.Path{"/f", "/g"} {
					f := open(t, c, name)
					readAll(t, f, pfstest.ReadFile(t, s.FileSystem, name))
					waitIdle(c)
					if f.Local() == nil {
						t.Errorf("%s is not whole", name)
					}
					f.Close()
				}
				waitIdle(c)
				wantRequests(t, s, requests)
			}
			readBoth(0, 4) // Open and a block of each
			readBoth(0, 0)
			readBoth(1, 0)
			files := filesOf(t, dir)
			for i, name := range files {
				if _, err := os.Stat(name + indexSuffix); (err == nil) == attrs {
					t.Errorf("index: %v", err)
				}
				if i > 0 {
					f, err := os.OpenFile(name+dataSuffix, os.O_RDWR, 0)
					if err != nil {
						t.Fatal(err)
					}
					f.WriteAt([]byte("damage"), 1000)
					f.Close()
				}
			}
			readBoth(2, 2) // the damaged one
			readBoth(2, 0)
			for _, name := range files {
				os.Truncate(name+dataSuffix, 0) // what is in it now is not what the checksum is of
			}
			readBoth(2, 4)
			c := newCache(t, s, func(o *Options) { o.Dirs, o.Reserve = []string{dir}, 0 })
			if n := c.dirs[0].scrub(t.Context(), 0); n != 0 {
				t.Errorf("%d right files were removed", n)
			}
			f, err := os.OpenFile(files[0]+dataSuffix, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.WriteAt([]byte("damage"), 1000)
			f.Close()
			if n := c.dirs[0].scrub(t.Context(), 0); n != 1 {
				t.Errorf("%d files were removed, want 1", n)
			}
		})
	}
}

// TestOtherUser: another user of the machine reads nothing in a cache directory.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has rights to give up")
	}
	s, data := newStore(t)
	top := t.TempDir()
	for d := top; d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := newCache(t, s, func(o *Options) { o.Dirs, o.Public = []string{top}, func(pfs.Path) bool { return true } })
	f := open(t, c, "/f")
	defer f.Close()
	readAll(t, f, data)
	waitIdle(c)
	name := f.Local().Name()
	for name != top {
		cmd := exec.Command("cat", name)
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			cmd = exec.Command("ls", name)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if err := cmd.Run(); err == nil {
			t.Errorf("another user reads %s", name)
		}
		name = filepath.Dir(name)
	}
	if err := exec.Command("cat", f.Local().Name()).Run(); err != nil {
		t.Error(err)
	}
}

// TestPageCache: what is read from the disk for a mount, which keeps it, does not fill the page cache twice.
func TestPageCache(t *testing.T) {
	s, data := newStore(t)
	c := newCache(t, s, nil)
	f := open(t, c, "/f")
	defer f.Close()
	for range 2 {
		readAll(t, f, data)
		waitIdle(c)
	}
	local := f.Local()
	if done, err := readUncached(local, make([]byte, 1), 0); err != nil || !done {
		t.Skipf("this system cannot do that: %v", err)
	}
	var pages unix.Cachestat_t
	if err := unix.Cachestat(uint(local.Fd()), &unix.CachestatRange{}, &pages, 0); err != nil {
		t.Skip(err)
	}
	if got := int64(pages.Cache) * int64(os.Getpagesize()); got > blockSize { // the last block is not written directly
		t.Errorf("%d of %d bytes are in the page cache", got, len(data))
	}
}
