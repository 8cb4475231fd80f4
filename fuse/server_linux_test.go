package fuse

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	raw "github.com/hanwen/go-fuse/v2/fuse"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestErrnos checks that each Kind has its errno, and that none is the one that ends an operation
// for the mount.
func TestErrnos(t *testing.T) {
	for _, k := range pfs.Kinds() {
		if e, ok := errnos[k]; !ok || e == syscall.ENOSYS {
			t.Errorf("%v: errno %v", k, e)
		}
	}
	for _, k := range []pfs.Kind{pfs.Unavailable, pfs.Integrity} {
		if errnos[k] != syscall.EIO {
			t.Errorf("%v: errno %v", k, errnos[k])
		}
	}
}

// faulty is a store of which every operation fails with the Kind that is set.
func faulty(below pfs.FileSystem) (pfs.FileSystem, *atomic.Int32) {
	var kind atomic.Int32
	l := pfs.NewLayer(func(ctx context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if k := pfs.Kind(kind.Load()); k != 0 {
			return pfs.E("fuse.faulty", name, k, nil)
		}
		return call(below, name)
	})
	return l, &kind
}

// TestUnreachable: an unreachable store is EIO in every operation, and nothing needs a remount.
func TestUnreachable(t *testing.T) {
	fsys, kind := faulty(memfs.New(memfs.Options{}))
	dir := mount(t, fsys, Options{Timeout: time.Nanosecond})
	must(t, os.WriteFile(dir+"/f", []byte("content"), 0o644))
	open, err := os.Open(dir + "/f")
	must(t, err)
	defer open.Close()
	kind.Store(int32(pfs.Unavailable))
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		_, known := os.Stat(dir + "/f") // the kernel knows attributes for a tick of its clock at least
		if _, err := open.Stat(); err != nil && known != nil {
			break
		}
	}
	for name, do := range map[string]func() error{
		"stat":      func() error { _, err := os.Stat(dir + "/f"); return err },
		"no file":   func() error { _, err := os.Stat(dir + "/none"); return err },
		"read":      func() error { _, err := os.ReadFile(dir + "/f"); return err },
		"list":      func() error { _, err := os.ReadDir(dir); return err },
		"write":     func() error { return os.WriteFile(dir+"/f", nil, 0o644) },
		"make":      func() error { return os.WriteFile(dir+"/g", nil, 0o644) },
		"mkdir":     func() error { return os.Mkdir(dir+"/d", 0o755) },
		"remove":    func() error { return syscall.Unlink(dir + "/f") },
		"rename":    func() error { return os.Rename(dir+"/f", dir+"/g") },
		"chmod":     func() error { return os.Chmod(dir+"/f", 0o600) },
		"xattr":     func() error { _, err := syscall.Getxattr(dir+"/f", "user.a", nil); return err },
		"symlink":   func() error { return os.Symlink("x", dir+"/s") },
		"open file": func() error { _, err := open.Stat(); return err },
	} {
		if err := do(); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: error %v, want EIO", name, err)
		}
	}
	if _, err := Mount(t.Context(), fsys, t.TempDir(), Options{}); pfs.KindOf(err) != pfs.Unavailable {
		t.Errorf("mount of an unreachable store: %v", err)
	}
	kind.Store(0)
	if b, err := os.ReadFile(dir + "/f"); string(b) != "content" || err != nil {
		t.Errorf("afterwards: %q, %v", b, err)
	}
}

// TestListingFails: a listing that fails in the middle is an error and not a short listing.
func TestListingFails(t *testing.T) {
	const n = 4*pfs.MaxPage + 500 // more pages than the mount reads ahead
	below := memfs.New(memfs.Options{})
	for i := range n {
		pfstest.WriteFile(t, below, pfs.Path(fmt.Sprintf("/%05d", i)), nil)
	}
	fsys, kind := faulty(below)
	dir := mount(t, fsys, Options{})
	d, err := os.Open(dir)
	must(t, err)
	defer d.Close()
	_, err = d.Readdirnames(10)
	must(t, err)
	kind.Store(int32(pfs.Unavailable))
	if names, err := d.Readdirnames(-1); !errors.Is(err, syscall.EIO) {
		t.Errorf("%d names, error %v; want EIO", len(names), err)
	}
	kind.Store(0)
	if all, err := os.ReadDir(dir); len(all) != n || err != nil {
		t.Errorf("afterwards: %d entries, %v", len(all), err)
	}
}

// TestLargeDirectory: every entry once, in any order of requests, with a page in memory.
func TestLargeDirectory(t *testing.T) {
	store := memfs.New(memfs.Options{})
	const n = 3*pfs.MaxPage + 7
	for i := range n {
		pfstest.WriteFile(t, store, pfs.Path(fmt.Sprintf("/%06d", i)), nil)
	}
	dir := mount(t, store, Options{})
	for range 2 {
		entries, err := os.ReadDir(dir)
		if len(entries) != n || err != nil {
			t.Fatalf("%d entries, error %v", len(entries), err)
		}
		for i, e := range entries {
			if e.Name() != fmt.Sprintf("%06d", i) {
				t.Fatalf("entry %d is %s", i, e.Name())
			}
		}
	}
	d, err := os.Open(dir)
	must(t, err)
	defer d.Close()
	for range 2 { // from the start again
		names, err := d.Readdirnames(-1)
		if len(names) != n || err != nil {
			t.Errorf("%d names, error %v", len(names), err)
		}
		_, err = d.Seek(0, io.SeekStart)
		must(t, err)
	}
}

// TestMillionNames lists a directory of 1,000,000 names.
func TestMillionNames(t *testing.T) {
	testbed.Long(t)
	store := memfs.New(memfs.Options{})
	const n = 1_000_000
	for i := range n {
		pfstest.WriteFile(t, store, pfs.Path(fmt.Sprintf("/%07d", i)), nil)
	}
	d, err := os.Open(mount(t, store, Options{}))
	must(t, err)
	defer d.Close()
	for i := 0; i < n; {
		names, err := d.Readdirnames(10_000)
		must(t, err)
		for _, name := range names {
			if name != fmt.Sprintf("%07d", i) {
				t.Fatalf("name %d is %s", i, name)
			}
			i++
		}
	}
}

// TestSeekDirectory reads a directory from the middle on: so does the kernel when it has lost a part of
// a listing that it kept.
func TestSeekDirectory(t *testing.T) {
	store := memfs.New(memfs.Options{})
	for i := range pfs.MaxPage + 10 {
		pfstest.WriteFile(t, store, pfs.Path(fmt.Sprintf("/%05d", i)), nil)
	}
	d, err := os.Open(mount(t, store, Options{}))
	must(t, err)
	defer d.Close()
	_, err = syscall.Seek(int(d.Fd()), pfs.MaxPage+2, io.SeekStart) // after ., .. and a page
	must(t, err)
	if names, err := d.Readdirnames(-1); err != nil || len(names) != 10 || names[0] != fmt.Sprintf("%05d", pfs.MaxPage) {
		t.Errorf("%v, %v", names, err)
	}
}

// TestListsAhead lists a directory of a slow store: while the kernel takes a page, the next one comes.
func TestListsAhead(t *testing.T) {
	below := memfs.New(memfs.Options{})
	const pages = 4
	for i := range (pages-1)*pfs.MaxPage + 1 {
		pfstest.WriteFile(t, below, pfs.Path(fmt.Sprintf("/%05d", i)), nil)
	}
	listed := make(chan struct{}, 2*pages)
	store := pfs.NewLayer(func(_ context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if a == pfs.ListDir {
			listed <- struct{}{}
		}
		return call(below, name)
	})
	d, err := os.Open(mount(t, store, Options{}))
	must(t, err)
	defer d.Close()
	_, err = d.Readdirnames(1)
	must(t, err)
	for range 3 {
		<-listed // two pages were not asked for
	}
	if names, err := d.Readdirnames(-1); err != nil || len(names) != (pages-1)*pfs.MaxPage {
		t.Errorf("%d names, %v", len(names), err)
	}
	if n := 3 + len(listed); n != pages {
		t.Errorf("%d pages were read, not %d", n, pages)
	}
}

// TestRemount checks that inode numbers are those of the store, or at least the same after a
// remount.
func TestRemount(t *testing.T) {
	store := memfs.New(memfs.Options{})
	pfstest.WriteFile(t, store, "/f", []byte("x"))
	must(t, store.Mkdir(t.Context(), "/d", 0o755))
	ino := func(dir string) (all [3]uint64) {
		for i, name := range []string{"", "/f", "/d"} {
			info, err := os.Stat(dir + name)
			must(t, err)
			all[i] = info.Sys().(*syscall.Stat_t).Ino
		}
		return all
	}
	first := ino(mount(t, store, Options{}))
	if second := ino(mount(t, store, Options{ReadOnly: true})); first != second {
		t.Errorf("inodes %v and then %v", first, second)
	}
	info, err := store.Stat(t.Context(), "/f")
	must(t, err)
	if info.ID != 0 && first[1] != info.ID {
		t.Errorf("inode %d of a file with the ID %d", first[1], info.ID)
	}
}

// TestInodesOfListings: a listing has the inode numbers of its files, also where the store has none, below a root, and
// after a rename.
func TestInodesOfListings(t *testing.T) {
	below := memfs.New(memfs.Options{})
	must(t, below.Mkdir(t.Context(), "/top", 0o755))
	must(t, below.Mkdir(t.Context(), "/top/d", 0o755))
	pfstest.WriteFile(t, below, "/top/d/a", nil)
	pfstest.WriteFile(t, below, "/top/d/b", nil)
	pfstest.WriteFile(t, below, "/top/d/c", nil)
	dir := mount(t, noIDs{below}, Options{Root: "/top"}) + "/d"
	must(t, os.Rename(dir+"/a", dir+"/new"))
	_, err := os.Stat(dir + "/b")
	must(t, err)
	f, err := os.Open(dir)
	must(t, err)
	defer f.Close()
	buf := make([]byte, 8192)
	n, err := syscall.ReadDirent(int(f.Fd()), buf)
	must(t, err)
	names := 0
	for b := buf[:n]; len(b) > 0; b = b[binary.NativeEndian.Uint16(b[16:]):] {
		name, _, _ := strings.Cut(string(b[19:]), "\x00")
		if strings.Trim(name, ".") == "" {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if listed, is := binary.NativeEndian.Uint64(b), info.Sys().(*syscall.Stat_t).Ino; listed != is {
			t.Errorf("%s has the inode number %d in a listing and %d in stat", name, listed, is)
		}
		names++
	}
	if names != 3 {
		t.Errorf("%d names", names)
	}
}

// noIDs is a store without file IDs.
type noIDs struct{ pfs.FileSystem }

func (s noIDs) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	info, err := s.FileSystem.Stat(ctx, name)
	info.ID = 0
	return info, err
}

func (s noIDs) List(ctx context.Context, dir pfs.Path, opts pfs.ListOptions) (pfs.Page, error) {
	p, err := s.FileSystem.List(ctx, dir, opts)
	for i := range p.Entries {
		p.Entries[i].ID = 0
	}
	return p, err
}

// TestReplaced: a file that is replaced on the store is read whole, old or new, and new by a new open.
func TestReplaced(t *testing.T) {
	for _, opts := range []Options{{}, {ReadOnly: true}} {
		store, _ := newLocal(t)
		const size = 3 << 20
		put := func(b byte) { pfstest.WriteFile(t, store, "/f", []byte(strings.Repeat(string(b), size))) }
		put('a')
		opts.Timeout = 20 * time.Millisecond
		dir := mount(t, store, opts)
		old, err := os.Open(dir + "/f")
		must(t, err)
		defer old.Close()
		first := make([]byte, 1<<20)
		_, err = old.ReadAt(first, 0)
		must(t, err)
		put('b')
		time.Sleep(2 * opts.Timeout)
		b, err := os.ReadFile(dir + "/f")
		if err != nil || strings.Trim(string(b), "b") != "" || len(b) != size {
			t.Errorf("%+v: a new open reads %d bytes, of the new file %d, %v", opts, len(b), strings.Count(string(b), "b"), err)
		}
		rest := make([]byte, size)
		n, err := old.ReadAt(rest, 0)
		if err != nil || strings.Trim(string(rest[:n]), "a") != "" {
			t.Errorf("%+v: the old file reads %d bytes, of the old content %d, %v", opts, n, strings.Count(string(rest[:n]), "a"), err)
		}
	}
}

// byName is a store whose open files find the file by its name, as those of a service.
type byName struct{ *memfs.FS }

func (b byName) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	f, err := b.FS.Open(ctx, name)
	return fileByName{f, b.FS, name}, err
}

type fileByName struct {
	pfs.File
	store *memfs.FS
	name  pfs.Path
}

func (f fileByName) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if info, err := f.store.Stat(ctx, f.name); err != nil || info.Version != f.Info().Version {
		return 0, pfs.E("fuse.byName", f.name, pfs.Conflict, err)
	}
	return f.File.ReadAt(ctx, p, off)
}

// TestGoneWhileRead: a file that loses its name through the mount is read to its end by those who have
// it open, also if it is opened just then.
func TestGoneWhileRead(t *testing.T) {
	const size = 3 << 20
	old, later := []byte(strings.Repeat("a", size)), []byte(strings.Repeat("b", size))
	for _, how := range []func(dir string) error{
		func(dir string) error { return os.Remove(dir + "/f") },
		func(dir string) error { return os.Rename(dir+"/new", dir+"/f") },
	} {
		store := memfs.New(memfs.Options{})
		dir := mount(t, byName{store}, Options{})
		must(t, os.WriteFile(dir+"/f", old, 0o644))
		must(t, os.WriteFile(dir+"/new", later, 0o644))
		f, err := os.Open(dir + "/f")
		must(t, err)
		defer f.Close()
		must(t, how(dir))
		if b, err := io.ReadAll(f); !bytes.Equal(b, old) || err != nil {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	}

	store := memfs.New(memfs.Options{})
	dir := mount(t, byName{store}, Options{})
	must(t, os.WriteFile(dir+"/f", old, 0o644))
	var readers sync.WaitGroup
	var done atomic.Bool
	for range 3 {
		readers.Go(func() {
			for !done.Load() {
				f, err := os.Open(dir + "/f")
				if errors.Is(err, syscall.ESTALE) {
					continue // the file was replaced twice: the kernel repeats an open once
				}
				if err != nil {
					t.Error(err)
					return
				}
				b, err := io.ReadAll(f)
				f.Close()
				if !bytes.Equal(b, old) && !bytes.Equal(b, later) || err != nil {
					t.Errorf("%d bytes, %v", len(b), err)
					return
				}
			}
		})
	}
	for i := range 20 {
		must(t, os.WriteFile(dir+"/new", [][]byte{old, later}[i%2], 0o644))
		must(t, os.Rename(dir+"/new", dir+"/f"))
	}
	done.Store(true)
	readers.Wait()
}

// TestCloseToOpen checks that an open sees what was closed through another mount, although names and
// attributes are cached.
func TestCloseToOpen(t *testing.T) {
	eachStore(t, func(t *testing.T, fsys pfs.FileSystem) {
		a, b := mount(t, fsys, Options{Timeout: time.Hour}), mount(t, fsys, Options{Timeout: time.Hour})
		for i, how := range []func(name string, data []byte) error{
			func(name string, data []byte) error { return os.WriteFile(name, data, 0o644) },
			func(name string, data []byte) error { return os.WriteFile(name, data, 0o644) },
			func(name string, data []byte) error { // another file
				return errors.Join(os.WriteFile(name+".new", data, 0o644), os.Rename(name+".new", name))
			},
			func(name string, data []byte) error { _, err := write(name, os.O_APPEND, "more"); return err },
		} {
			must(t, how(a+"/f", []byte(strings.Repeat(fmt.Sprint(i), 5000+1000*i))))
			want, err := os.ReadFile(a + "/f")
			must(t, err)
			_, _ = os.Stat(b + "/f") // caches the old size
			f, err := os.Open(b + "/f")
			must(t, err)
			got := make([]byte, 2*len(want))
			n, err := f.Read(got)
			if info, _ := f.Stat(); !bytes.Equal(got[:n], want) || err != nil || info.Size() != int64(len(want)) {
				t.Errorf("round %d: %d bytes, %.5q..., %v, size %d; want %d, %.5q...", i, n, got, err, info.Size(), len(want), want)
			}
			must(t, f.Close())
		}
	})
}

// TestTimeout checks that names, and that there are none, are cached for Timeout and no longer.
func TestTimeout(t *testing.T) {
	store := memfs.New(memfs.Options{})
	const timeout = 30 * time.Millisecond
	dir := mount(t, store, Options{Timeout: timeout})
	for range 3 {
		if _, err := os.Stat(dir + "/f"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("no file: %v", err)
		}
		pfstest.WriteFile(t, store, "/f", []byte("x"))
		time.Sleep(2 * timeout)
		if _, err := os.Stat(dir + "/f"); err != nil {
			t.Error(err)
		}
		must(t, store.Remove(t.Context(), "/f"))
		time.Sleep(2 * timeout)
	}
}

func TestReadOnly(t *testing.T) {
	store := memfs.New(memfs.Options{})
	must(t, store.Mkdir(t.Context(), "/d", 0o755))
	pfstest.WriteFile(t, store, "/d/f", []byte("x"))
	dir := mount(t, store, Options{Root: "/d", ReadOnly: true})
	if b, err := os.ReadFile(dir + "/f"); string(b) != "x" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	for _, err := range []error{os.WriteFile(dir+"/f", nil, 0o644), os.Mkdir(dir+"/e", 0o755), os.Remove(dir + "/f"), os.Chmod(dir+"/f", 0)} {
		if !errors.Is(err, syscall.EROFS) {
			t.Errorf("error %v, want EROFS", err)
		}
	}
}

// TestAccess: where the service checks permissions, access(2) knows which files can be executed.
func TestAccess(t *testing.T) {
	dir := mount(t, memfs.New(memfs.Options{}), Options{Squash: true})
	must(t, os.WriteFile(dir+"/f", nil, 0o644))
	for _, c := range []struct {
		name string
		mode uint32
		want error
	}{{"/f", 4 | 2, nil}, {"/f", 1, syscall.EACCES}, {"", 1, nil}} {
		if err := syscall.Access(dir+c.name, c.mode); !errors.Is(err, c.want) {
			t.Errorf("access to %q for %d: %v", c.name, c.mode, err)
		}
	}
	must(t, os.Chmod(dir+"/f", 0o755))
	must(t, syscall.Access(dir+"/f", 1))
}

// TestAppendOnly: on a store without random writes, programs that write from start to end work, and
// others get an error.
func TestAppendOnly(t *testing.T) {
	dir := mount(t, memfs.New(memfs.Options{Without: pfs.CanWriteRandom}), Options{})
	f, err := os.OpenFile(dir+"/f", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	must(t, err)
	_, err = f.WriteString("one")
	must(t, err)
	must(t, f.Close())
	_, err = write(dir+"/f", os.O_APPEND, "two")
	must(t, err)
	if b, err := os.ReadFile(dir + "/f"); string(b) != "onetwo" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	if _, err := write(dir+"/f", 0, "x"); !errors.Is(err, syscall.EOPNOTSUPP) {
		t.Errorf("a random write: %v", err)
	}
}

// TestErrorsOfWrites: write, fsync and close report the error of the store.
func TestErrorsOfWrites(t *testing.T) {
	dir := mount(t, memfs.New(memfs.Options{Capacity: 1 << 20}), Options{})
	f, err := os.Create(dir + "/f")
	must(t, err)
	defer f.Close()
	if _, err := f.Write(make([]byte, 2<<20)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write beyond the store: %v", err)
	}
	var st syscall.Statfs_t
	must(t, syscall.Statfs(dir, &st))
	if st.Blocks*uint64(st.Bsize) != 1<<20 {
		t.Errorf("statfs: %d blocks of %d bytes", st.Blocks, st.Bsize)
	}
}

// TestQuota: statfs shows the quota of a directory.
func TestQuota(t *testing.T) {
	store, _ := newLocal(t)
	must(t, store.Mkdir(t.Context(), "/d", 0o755))
	must(t, store.SetQuota(t.Context(), "/d", 10<<20, 100))
	dir := mount(t, store, Options{})
	must(t, os.WriteFile(dir+"/d/f", make([]byte, 1<<20), 0o644))
	var st syscall.Statfs_t
	must(t, syscall.Statfs(dir+"/d", &st))
	if st.Blocks*uint64(st.Bsize) != 10<<20 || st.Bavail*uint64(st.Bsize) != 9<<20 || st.Files != 100 || st.Ffree != 99 {
		t.Errorf("statfs: %+v", st)
	}
	if err := os.WriteFile(dir+"/d/g", make([]byte, 10<<20), 0o644); !errors.Is(err, syscall.EDQUOT) {
		t.Errorf("write beyond the quota: %v", err)
	}
}

// TestSlowStatfs: a store that takes long to count a directory is not asked again by each statfs.
func TestSlowStatfs(t *testing.T) {
	var counts atomic.Int32
	slow := pfs.NewLayer(func(ctx context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if a == pfs.Measure {
			counts.Add(1)
			time.Sleep(50 * time.Millisecond)
		}
		return call(memfs.New(memfs.Options{}), name)
	})
	dir := mount(t, slow, Options{Timeout: time.Millisecond})
	var st syscall.Statfs_t
	must(t, syscall.Statfs(dir, &st))
	first := counts.Load()
	time.Sleep(10 * time.Millisecond)
	must(t, syscall.Statfs(dir, &st))
	if counts.Load() != first {
		t.Errorf("%d requests, and %d before", counts.Load(), first)
	}
}

// TestLocks: locks hold between the open files of a mount.
func TestLocks(t *testing.T) {
	dir := mount(t, memfs.New(memfs.Options{}), Options{})
	const ofdSetLock = 37 // F_OFD_SETLK: as F_SETLK, but between open files and not between processes
	for name, lock := range map[string]func(fd int) error{
		"flock": func(fd int) error { return syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) },
		"fcntl": func(fd int) error {
			return syscall.FcntlFlock(uintptr(fd), ofdSetLock, &syscall.Flock_t{Type: syscall.F_WRLCK, Len: 10})
		},
	} {
		a, err := os.Create(dir + "/" + name)
		must(t, err)
		b, err := os.OpenFile(dir+"/"+name, os.O_RDWR, 0)
		must(t, err)
		defer b.Close()
		must(t, lock(int(a.Fd())))
		if err := lock(int(b.Fd())); !errors.Is(err, syscall.EAGAIN) {
			t.Errorf("%s of a locked file: %v", name, err)
		}
		must(t, a.Close())
		must(t, lock(int(b.Fd())))
	}
}

// asUser runs a program as a user without rights.
func asUser(id uint32, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	return cmd.Run()
}

func asNobody(name string, args ...string) error { return asUser(65534, name, args...) }

// TestOtherUsers: other users have the permissions of the store's modes, and none in a mount of a service.
func TestOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has rights to give up")
	}
	store, local := newLocal(t)
	must(t, os.Chmod(local, 0o755))
	must(t, os.WriteFile(local+"/all", []byte("x"), 0o644))
	must(t, os.WriteFile(local+"/mine", []byte("x"), 0o600))
	dir, service := mount(t, store, Options{}), mount(t, store, Options{Squash: true})
	for d := filepath.Dir(dir); d != os.TempDir(); d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	if err := asNobody("cat", dir+"/all"); err != nil {
		t.Errorf("a file for all: %v", err)
	}
	pod := mount(t, store, Options{Squash: true, Owner: &Owner{65534, 65534}})
	for d := filepath.Dir(pod); d != os.TempDir(); d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	if err := asNobody("sh", "-c", "cat "+pod+"/mine && echo y > "+pod+"/theirs && chown 65534:65534 "+pod+"/theirs"); err != nil {
		t.Errorf("the user whose files a service has: %v", err)
	}
	if err := asUser(1, "cat", pod+"/mine"); err == nil {
		t.Error("another user reads it too")
	}
	for _, name := range []string{dir + "/mine", service + "/all"} {
		if err := asNobody("cat", name); err == nil {
			t.Errorf("another user reads %s", name)
		}
	}
}

// TestMadeByOther: a user who creates a file that another one has just made at the store has only the rights that its mode gives.
func TestMadeByOther(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has rights to give up")
	}
	store, local := newLocal(t)
	must(t, os.Chmod(local, 0o777))
	dir := mount(t, store, Options{Timeout: 10 * time.Second, StoreFiles: true})
	for d := filepath.Dir(dir); d != os.TempDir(); d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	for name, mode := range map[string]os.FileMode{"private": 0o600, "shared": 0o666} {
		if err := asNobody("test", "!", "-e", dir+"/"+name); err != nil { // the kernel remembers that
			t.Fatal(err)
		}
		must(t, os.WriteFile(local+"/"+name, []byte("x"), mode))
		must(t, os.Chmod(local+"/"+name, mode))
		if err := asNobody("sh", "-c", "echo y >> "+dir+"/"+name); (err == nil) != (name == "shared") {
			t.Errorf("another user writes to the %s file: %v", name, err)
		}
	}
	for name, want := range map[string]string{"private": "x", "shared": "xy\n"} {
		if got, err := os.ReadFile(local + "/" + name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestRunning: a process that has ended does not run, even if nobody has asked for its end.
func TestRunning(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	defer cmd.Wait()
	if !running(cmd.Process.Pid) {
		t.Error("it has ended")
	}
	must(t, in.Close())
	for end := time.Now().Add(10 * time.Second); running(cmd.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it still runs")
		}
	}
}

// TestInterrupt: a program that waits for a silent store can be ended.
func TestInterrupt(t *testing.T) {
	stat := make(chan struct{}, 10)
	below := memfs.New(memfs.Options{})
	fsys := pfs.NewLayer(func(ctx context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if name == "/silent" {
			stat <- struct{}{}
			<-ctx.Done()
			return pfs.CheckContext(ctx, "fuse.silent", name)
		}
		return call(below, name)
	})
	dir := mount(t, fsys, Options{})
	cat := exec.Command("cat", dir+"/silent")
	must(t, cat.Start())
	<-stat
	must(t, cat.Process.Kill())
	if err := cat.Wait(); err == nil {
		t.Error("cat has read a file of a silent store")
	}
}

// TestUnmountSilentStore: a mount whose store has become silent tells its status, and ends.
func TestUnmountSilentStore(t *testing.T) {
	var isSilent atomic.Bool
	below := memfs.New(memfs.Options{})
	fsys := pfs.NewLayer(func(ctx context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if isSilent.Load() {
			<-ctx.Done()
			return pfs.CheckContext(ctx, "fuse.silent", name)
		}
		return call(below, name)
	})
	dir := mount(t, fsys, Options{Timeout: time.Millisecond})
	_, err := os.Stat(dir)
	must(t, err)
	time.Sleep(100 * time.Millisecond) // the kernel's attributes are too old
	isSilent.Store(true)
	if st, err := MountAt(dir); err != nil || st.State != serving {
		t.Errorf("status %+v, %v", st, err)
	}
	must(t, Unmount(dir))
	isSilent.Store(false)
	_, err = Mount(t.Context(), below, dir, Options{}) // for the end of the test
	must(t, err)
}

// TestMountPoint checks the errors about unusable mount points.
func TestMountPoint(t *testing.T) {
	store := memfs.New(memfs.Options{})
	dir := mount(t, store, Options{Source: "here"})
	full := t.TempDir()
	must(t, os.WriteFile(full+"/f", nil, 0o644))
	for where, want := range map[string]pfs.Kind{
		dir: pfs.Exist, full: pfs.NotEmpty, full + "/f": pfs.NotDir, full + "/none": pfs.NotExist,
	} {
		if _, err := Mount(t.Context(), store, where, Options{}); pfs.KindOf(err) != want {
			t.Errorf("mount at %s: %v", where, err)
		}
	}
	for where, want := range map[string]pfs.Kind{full: pfs.NotExist, full + "/none": pfs.NotExist, "/proc": pfs.Invalid} {
		if err := Unmount(where); pfs.KindOf(err) != want {
			t.Errorf("unmount %s: %v", where, err)
		}
	}
	f, err := os.Create(dir + "/f")
	must(t, err)
	if err := Unmount(dir); pfs.KindOf(err) != pfs.Unavailable {
		t.Errorf("unmount while in use: %v", err)
	}
	must(t, f.Close())
	all, err := Mounts()
	must(t, err)
	found := false
	for _, m := range all {
		if m.MountPoint == dir {
			found = m.Source == "here" && m.State == serving && m.ServerPID == os.Getpid() && m.OpenMode == PageCache
		}
	}
	if !found {
		t.Errorf("%+v does not describe %s", all, dir)
	}
}

// TestUnmountBusy: a mount that is in use for a moment is unmounted after that.
func TestUnmountBusy(t *testing.T) {
	store := memfs.New(memfs.Options{})
	dir := mount(t, store, Options{})
	f, err := os.Create(dir + "/f")
	must(t, err)
	time.AfterFunc(busyWait/4, func() { f.Close() })
	must(t, Unmount(dir))
	_, err = Mount(t.Context(), store, dir, Options{}) // for the end of the test
	must(t, err)
}

// TestForget checks that the tree contains only the nodes that the kernel knows.
func TestForget(t *testing.T) {
	tr := newTree(pfs.Info{Mode: os.ModeDir})
	d := tr.enter(tr.root, "d", pfs.Info{Mode: os.ModeDir})
	f := tr.enter(d, "f", pfs.Info{ID: 7, Links: 2})
	g := tr.enter(tr.root, "g", pfs.Info{ID: 7, Links: 2})
	if f != g || f.refs != 2 {
		t.Errorf("a second name is node %d with %d references, not %d", g.num, g.refs, f.num)
	}
	if h := tr.enter(tr.root, "g", pfs.Info{ID: 8}); h == f {
		t.Error("another file is the same node")
	} else {
		tr.forget(h.num, 1)
	}
	tr.rename(d, "f", tr.root, "moved")
	if name, _ := tr.path(f); name != "/moved" {
		t.Errorf("path after rename: %s", name)
	}
	tr.forget(d.num, 1)
	tr.forget(f.num, 2)
	if f.extra != nil {
		t.Error("a file of one name that is not open has an extra")
	}
	if nodes := slices.Collect(tr.nodes.all()); len(nodes) != 1 || len(tr.nodes) != 1 || len(tr.linked) != 0 || tr.names.used != 0 || len(tr.more) != 0 || tr.root.asDir().children != 0 {
		t.Errorf("%d nodes, %d linked, children %v", len(tr.nodes), len(tr.linked), tr.names.slots)
	}
}

// TestMemoryOfNodes bounds the memory of a file that the kernel knows, and of one that is opened without a
// request.
func TestMemoryOfNodes(t *testing.T) {
	if !testbed.InOwnProcess(t) {
		return
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for p, most := range map[Protection]uint64{Unprotected: 140, Immutable: 215} {
		const n = 100_000
		before := heap()
		tr := newTree(pfs.Info{Mode: os.ModeDir})
		tr.learns = true
		tr.root.asDir().protection = p
		for i := range n {
			tr.enter(tr.root, fmt.Sprintf("n%08d.JPEG", i), pfs.Info{
				Size: int64(i), ModTime: time.Unix(1e9, int64(i)), Version: fmt.Sprintf("%x-%x", i, 1e18+i),
			})
		}
		if each := (heap() - before) / n; each > most {
			t.Errorf("a file takes %d bytes, more than %d", each, most)
		} else {
			t.Logf("a file takes %d bytes", each)
		}
		runtime.KeepAlive(tr)
	}
}

// TestModel does random operations on a mount and on a local directory.
func TestModel(t *testing.T) {
	t.Run("memfs", func(t *testing.T) { compareRandom(t, memfs.New(memfs.Options{}), Options{}) })
	t.Run("store files", func(t *testing.T) {
		f, _ := newLocal(t)
		compareRandom(t, f, storeFiles)
	})
}

func compareRandom(t *testing.T, store pfs.FileSystem, opts Options) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dir, local := mount(t, store, opts), t.TempDir()
	name := func() string {
		n := ""
		for range 1 + r.IntN(3) {
			n += "/" + string(rune('a'+r.IntN(3)))
		}
		return n
	}
	rounds := 20000
	if testing.Short() {
		rounds = 3000
	}
	for i := range rounds {
		a, b, off, size := name(), name(), r.Int64N(200_000), r.IntN(50_000)
		data := []byte(strings.Repeat(string(rune('A'+i%26)), size))
		op := r.IntN(9)
		do := func(dir string) (any, error) {
			switch op {
			case 0:
				return nil, os.Mkdir(dir+a, 0o755)
			case 1, 2:
				f, err := os.OpenFile(dir+a, os.O_CREATE|os.O_RDWR|[]int{0, 0, os.O_TRUNC, os.O_APPEND}[size%4], 0o644)
				if err != nil {
					return nil, err
				}
				defer f.Close()
				if size%4 == 3 {
					_, err = f.Write(data)
				} else {
					_, err = f.WriteAt(data, off)
				}
				return nil, err
			case 3:
				return nil, syscall.Rename(dir+a, dir+b)
			case 4:
				return nil, os.Truncate(dir+a, off)
			case 5:
				return nil, syscall.Unlink(dir + a)
			case 6:
				return nil, syscall.Rmdir(dir + a)
			case 7:
				return nil, os.Link(dir+a, dir+b)
			}
			return read(dir + a)
		}
		got, err := do(dir)
		want, wantErr := do(local)
		if got != want || errno(err) != errno(wantErr) {
			t.Fatalf("operation %d (%d of %s, %s): error %v, want %v; same result: %v", i, op, a, b, err, wantErr, got == want)
		}
	}
	got, err := allBelow(dir)
	want, wantErr := allBelow(local)
	if got != want || errors.Join(err, wantErr) != nil {
		t.Errorf("the mount has\n%v, %v\nwant\n%v, %v", got, err, want, wantErr)
	}
}

// TestStale: a mount whose server has died is replaced.
func TestStale(t *testing.T) {
	needFuse(t)
	if os.Geteuid() != 0 {
		t.Skip("only root mounts without a helper")
	}
	dir := t.TempDir()
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR, 0)
	must(t, err)
	must(t, syscall.Mount("gone", dir, fsType, 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)))
	must(t, syscall.Close(fd))
	if _, err := os.Stat(dir); !errors.Is(err, syscall.ENOTCONN) {
		t.Fatalf("stat of a dead mount: %v", err)
	}
	store, local := newLocal(t)
	must(t, os.WriteFile(filepath.Join(local, "f"), nil, 0o644))
	m, err := Mount(t.Context(), store, dir, Options{})
	must(t, err)
	if _, err := os.Stat(dir + "/f"); err != nil {
		t.Error(err)
	}
	must(t, m.Close(t.Context()))
	<-m.Done()
}

// TestSilentMount asks a mount that has no server. However often that is, one thread waits for the answer.
func TestSilentMount(t *testing.T) {
	needFuse(t)
	c, err := Connect(t.TempDir(), Options{})
	must(t, err)
	e, _ := find(c.Dir)
	q := e.ask()
	for range 10 {
		if e.ask() != q {
			t.Fatal("the mount was asked once more")
		}
	}
	must(t, c.Abort())
	c.close()
	if <-q.answered; q.err == nil {
		t.Errorf("the answer is %q", q.value)
	}
	if again := e.ask(); again == q {
		t.Error("an answered question is not asked again")
	}
}

// TestOpenWhileReplaced replaces a file again and again, by a rename, while programs open and read it. The store is slow. The kernel
// repeats an open that finds the file replaced; only on a busy machine can it be later than the next replacement waits.
func TestOpenWhileReplaced(t *testing.T) {
	mem := memfs.New(memfs.Options{})
	dir := mount(t, pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if name == "/model" {
			time.Sleep(rand.N(5 * time.Millisecond))
		}
		return call(mem, name)
	}), Options{})
	save := func(i int) {
		must(t, os.WriteFile(dir+"/new", bytes.Repeat([]byte{byte(i)}, 10_000), 0o644))
		must(t, os.Rename(dir+"/new", dir+"/model"))
	}
	save(0)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	var late atomic.Int64
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got, err := os.ReadFile(dir + "/model"); errors.Is(err, syscall.ESTALE) {
					late.Add(1)
				} else if err != nil || len(got) != 10_000 || bytes.Count(got, got[:1]) != len(got) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			}
		})
	}
	for i := range 60 {
		save(i)
	}
	close(stop)
	readers.Wait()
	if n := late.Load(); n > 0 {
		t.Errorf("%d opens found the file replaced twice", n)
	}
}

// oldKernel is a broker on a machine whose kernel has no passthrough.
type oldKernel struct{ Broker }

func (oldKernel) Connect(dir string, opts Options) (*Connection, error) {
	c, err := Connect(dir, opts)
	if err != nil {
		return nil, err
	}
	var hello raw.InitIn
	err = binary.Read(bytes.NewReader(c.Hello), binary.NativeEndian, &hello)
	hello.Flags2 &^= uint32(raw.CAP_PASSTHROUGH >> 32)
	var without bytes.Buffer
	err = errors.Join(err, binary.Write(&without, binary.NativeEndian, &hello))
	c.Hello, c.Broker = without.Bytes(), oldKernel{}
	return c, err
}

func (oldKernel) Replacements() int                { return 0 }
func (oldKernel) Session() string                  { return "" }
func (oldKernel) Register(*os.File) (int32, error) { return 0, syscall.ENOTTY }
func (oldKernel) Unmount() error                   { return errors.ErrUnsupported }
func (oldKernel) Serving(_, _ func()) error        { return nil }
func (oldKernel) PID() int                         { return 0 }
func (oldKernel) Refused() Refused                 { return Refused{} }

// TestKernelWithoutPassthrough reads a file that is whole in the cache.
func TestKernelWithoutPassthrough(t *testing.T) {
	store, want := memfs.New(memfs.Options{}), pfstest.Pattern(1, 9<<20)
	pfstest.WriteFile(t, store, "/f", want)
	dir, _ := mountCached(t, store, Options{OpenMode: Passthrough, Broker: oldKernel{}})
	for range 3 {
		got, err := os.ReadFile(dir + "/f")
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		time.Sleep(50 * time.Millisecond) // until it is on the disk
	}
	if st, err := MountAt(dir); err != nil || st.OpenMode != PageCache {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestWrongSizes reads files whose size the store states wrongly. A read returns the content that exists, or an error.
func TestWrongSizes(t *testing.T) {
	mem, want := memfs.New(memfs.Options{}), pfstest.Pattern(1, 10_000)
	sizes := map[string]int64{"smaller": 5000, "empty": 0, "larger": 20_000, "huge": 1 << 40}
	for name := range sizes {
		pfstest.WriteFile(t, mem, pfs.Root.Join(name), want)
	}
	lying := pfs.NewLayerWith(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		return call(mem, name)
	}, pfs.Hooks{Info: func(_ context.Context, name pfs.Path, info pfs.Info) (pfs.Info, error) {
		if size, ok := sizes[name.Base()]; ok {
			info.Size = size
		}
		return info, nil
	}, Open: func(ctx context.Context, below pfs.FileSystem, name pfs.Path) (pfs.File, error) {
		f, err := below.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		info := f.Info()
		info.Size = sizes[name.Base()]
		return lyingFile{f, info}, nil
	}})
	plain := mount(t, lying, Options{})
	cached, _ := mountCached(t, lying, Options{OpenMode: Passthrough})
	for _, dir := range []string{plain, cached} {
		for name, size := range sizes {
			f, err := os.Open(filepath.Join(dir, name))
			must(t, err)
			got, err := io.ReadAll(io.LimitReader(f, 1<<20))
			f.Close()
			if int64(len(got)) > max(size, int64(len(want))) || err == nil && len(got) > len(want) || !bytes.HasPrefix(want, got[:min(len(got), len(want))]) {
				t.Errorf("%s in %s: %d bytes, %v", name, dir, len(got), err)
			}
			if dir == cached && size > int64(len(want)) && err == nil {
				t.Errorf("%s in the cache: %d bytes and no error", name, len(got))
			}
		}
	}
}

// lyingFile is a file with another size.
type lyingFile struct {
	pfs.File
	info pfs.Info
}

func (f lyingFile) Info() pfs.Info { return f.info }
