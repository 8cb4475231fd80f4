package cachefs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/sys/unix"
)

// mountSmall mounts a file system of that size on a fresh directory.
func mountSmall(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
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
