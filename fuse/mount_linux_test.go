package fuse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// needFuse skips the test where there is no FUSE, except in continuous integration.
func needFuse(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err == nil {
		return
	} else if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	t.Skip("no /dev/fuse")
}

// mount mounts fsys until the end of the test and returns where.
func mount(t testing.TB, fsys pfs.FileSystem, opts Options) string {
	t.Helper()
	needFuse(t)
	dir := t.TempDir()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	m, err := Mount(t.Context(), fsys, dir, opts)
	must(t, err)
	t.Cleanup(func() {
		if err := Unmount(dir); err != nil {
			t.Error(err)
			m.Close(context.Background())
		}
		<-m.Done()
	})
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newLocal(t testing.TB) (*localfs.FS, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := localfs.New(dir, localfs.Options{NoSync: true})
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f, dir
}

// eachStore runs a test over each store.
func eachStore(t *testing.T, test func(t *testing.T, fsys pfs.FileSystem)) {
	t.Run("memfs", func(t *testing.T) { test(t, memfs.New(memfs.Options{})) })
	t.Run("localfs", func(t *testing.T) {
		f, _ := newLocal(t)
		test(t, f)
	})
}

// operations are done in order, on the mount and on a local directory; results must be the same.
var operations = []struct {
	name string
	do   func(dir string) (any, error)
}{
	{"create", func(d string) (any, error) { return nil, os.WriteFile(d+"/f", []byte("hello, world"), 0o644) }},
	{"read", func(d string) (any, error) { return read(d + "/f") }},
	{"exclusive", func(d string) (any, error) {
		_, err := os.OpenFile(d+"/f", os.O_CREATE|os.O_EXCL, 0o644)
		return nil, err
	}},
	{"append", func(d string) (any, error) { return write(d+"/f", os.O_APPEND, "!") }},
	{"appended", func(d string) (any, error) { return read(d + "/f") }},
	{"overwrite", func(d string) (any, error) { return write(d+"/f", 0, "J") }},
	{"overwritten", func(d string) (any, error) { return read(d + "/f") }},
	{"truncate", func(d string) (any, error) { return nil, os.Truncate(d+"/f", 5) }},
	{"truncated", func(d string) (any, error) { return read(d + "/f") }},
	{"lengthen", func(d string) (any, error) { return nil, os.Truncate(d+"/f", 9) }},
	{"lengthened", func(d string) (any, error) { return read(d + "/f") }},
	{"open with truncation", func(d string) (any, error) { return write(d+"/f", os.O_TRUNC, "new") }},
	{"new", func(d string) (any, error) { return read(d + "/f") }},
	{"mkdir", func(d string) (any, error) { return nil, os.Mkdir(d+"/d", 0o750) }},
	{"mkdir again", func(d string) (any, error) { return nil, os.Mkdir(d+"/d", 0o750) }},
	{"mkdir in nothing", func(d string) (any, error) { return nil, os.Mkdir(d+"/none/d", 0o750) }},
	{"mkdir in a file", func(d string) (any, error) { return nil, os.Mkdir(d+"/f/d", 0o750) }},
	{"chmod", func(d string) (any, error) { return nil, os.Chmod(d+"/f", 0o600) }},
	{"chtimes", func(d string) (any, error) {
		return nil, os.Chtimes(d+"/f", time.Unix(1e9, 123456789), time.Unix(2e9, 987654321))
	}},
	{"stat", func(d string) (any, error) { return stat(d + "/f") }},
	{"stat of a directory", func(d string) (any, error) { i, err := os.Stat(d + "/d"); return i.Mode(), err }},
	{"symlink", func(d string) (any, error) { return nil, os.Symlink("f", d+"/s") }},
	{"readlink", func(d string) (any, error) { return os.Readlink(d + "/s") }},
	{"through a link", func(d string) (any, error) { return read(d + "/s") }},
	{"link", func(d string) (any, error) { return nil, os.Link(d+"/f", d+"/d/g") }},
	{"names", func(d string) (any, error) {
		i, err := os.Stat(d + "/d/g")
		return i.Sys().(*syscall.Stat_t).Nlink, err
	}},
	{"same file", func(d string) (any, error) {
		a, err := os.Stat(d + "/f")
		b, err2 := os.Stat(d + "/d/g")
		return os.SameFile(a, b), errors.Join(err, err2)
	}},
	{"fifo", func(d string) (any, error) { return nil, syscall.Mkfifo(d+"/p", 0o640) }},
	{"mode of a fifo", func(d string) (any, error) { i, err := os.Lstat(d + "/p"); return i.Mode(), err }},
	{"list", func(d string) (any, error) { return allBelow(d) }},
	{"rmdir of a full one", func(d string) (any, error) { return nil, syscall.Rmdir(d + "/d") }},
	{"rmdir of a file", func(d string) (any, error) { return nil, syscall.Rmdir(d + "/f") }},
	{"unlink of a directory", func(d string) (any, error) { return nil, syscall.Unlink(d + "/d") }},
	{"rename", func(d string) (any, error) { return nil, os.Rename(d+"/f", d+"/d/h") }},
	{"old name", func(d string) (any, error) { return read(d + "/f") }},
	{"new name", func(d string) (any, error) { return read(d + "/d/h") }},
	{"rename over", func(d string) (any, error) {
		if err := os.WriteFile(d+"/over", []byte("over"), 0o644); err != nil {
			return nil, err
		}
		return nil, os.Rename(d+"/over", d+"/d/h")
	}},
	{"replaced", func(d string) (any, error) { return read(d + "/d/h") }},
	{"rename over an empty directory", func(d string) (any, error) {
		return nil, errors.Join(os.Mkdir(d+"/e", 0o700), os.Mkdir(d+"/e2", 0o755), syscall.Rename(d+"/e", d+"/e2"))
	}},
	{"rename over a full directory", func(d string) (any, error) { return nil, syscall.Rename(d+"/e2", d+"/d") }},
	{"rename over a directory", func(d string) (any, error) { return nil, syscall.Rename(d+"/s", d+"/e2") }},
	{"rename a directory", func(d string) (any, error) { return nil, os.Rename(d+"/d", d+"/e2/d") }},
	{"below it", func(d string) (any, error) { return read(d + "/e2/d/g") }},
	{"into itself", func(d string) (any, error) { return nil, syscall.Rename(d+"/e2", d+"/e2/d/x") }},
	{"unlink", func(d string) (any, error) { return nil, os.Remove(d + "/e2/d/g") }},
	{"unlinked", func(d string) (any, error) { return read(d + "/e2/d/g") }},
	{"name too long", func(d string) (any, error) { _, err := os.Stat(d + "/" + strings.Repeat("x", 256)); return nil, err }},
	{"unlinked while open", func(d string) (any, error) {
		f, err := os.Create(d + "/u")
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r, err := os.Open(d + "/u")
		if err != nil {
			return nil, err
		}
		defer r.Close()
		_, err = f.WriteString("still here")
		err = errors.Join(err, os.Remove(d+"/u"), f.Truncate(8), f.Chmod(0o600))
		_, err2 := f.WriteAt([]byte("S"), 0)
		got := make([]byte, 20)
		n, _ := r.ReadAt(got, 0)
		info, err3 := f.Stat()
		return fmt.Sprint(string(got[:n]), info.Size(), info.Mode(), info.Sys().(*syscall.Stat_t).Nlink), errors.Join(err, err2, err3)
	}},
	{"reader sees writer", func(d string) (any, error) {
		err := os.WriteFile(d+"/w", []byte("one"), 0o644)
		r, err2 := os.Open(d + "/w")
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		defer r.Close()
		before, _ := io.ReadAll(r)
		_, err = write(d+"/w", os.O_APPEND, "two")
		after := make([]byte, 10)
		n, _ := r.ReadAt(after, 0)
		return fmt.Sprint(string(before), string(after[:n])), err
	}},
	{"directory removed while open", func(d string) (any, error) {
		err := os.Mkdir(d+"/gone", 0o750)
		f, err2 := os.Open(d + "/gone")
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		defer f.Close()
		err = os.Remove(d + "/gone")
		names, err2 := f.Readdirnames(-1)
		info, err3 := f.Stat()
		if err := errors.Join(err, err2, err3); err != nil {
			return nil, err
		}
		_, err = syscall.Openat(int(f.Fd()), "x", syscall.O_CREAT|syscall.O_WRONLY, 0o600)
		return fmt.Sprint(names, info.Mode(), info.Sys().(*syscall.Stat_t).Nlink), err
	}},
	{"handle after rename", func(d string) (any, error) {
		f, err := os.Create(d + "/r")
		if err != nil {
			return nil, err
		}
		defer f.Close()
		err = os.Rename(d+"/r", d+"/r2")
		_, err2 := f.WriteString("late")
		got, err3 := read(d + "/r2")
		return got, errors.Join(err, err2, err3)
	}},
	{"xattr", func(d string) (any, error) { return nil, syscall.Setxattr(d+"/w", "user.a", []byte("value"), 0) }},
	{"xattr again", func(d string) (any, error) { return nil, syscall.Setxattr(d+"/w", "user.a", []byte("x"), 1) }},
	{"xattrs", func(d string) (any, error) {
		b := make([]byte, 100)
		n, err := syscall.Listxattr(d+"/w", b)
		v := make([]byte, 100)
		m, err2 := syscall.Getxattr(d+"/w", "user.a", v)
		return string(b[:max(0, n)]) + string(v[:max(0, m)]), errors.Join(err, err2)
	}},
	{"no xattr", func(d string) (any, error) { _, err := syscall.Getxattr(d+"/w", "user.b", nil); return nil, err }},
	{"remove xattr", func(d string) (any, error) { return nil, syscall.Removexattr(d+"/w", "user.a") }},
	{"large", func(d string) (any, error) { return nil, os.WriteFile(d+"/large", large(), 0o644) }},
	{"read large", func(d string) (any, error) { b, err := os.ReadFile(d + "/large"); return bytes.Equal(b, large()), err }},
	{"fsync", func(d string) (any, error) {
		f, err := os.OpenFile(d+"/large", os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return nil, f.Sync()
	}},
	{"everything", func(d string) (any, error) { return allBelow(d) }},
}

// TestAllocate: the length of a file whose space is reserved.
func TestAllocate(t *testing.T) {
	dir := mount(t, memfs.New(memfs.Options{}), Options{})
	f, err := os.Create(dir + "/f")
	must(t, err)
	defer f.Close()
	must(t, syscall.Fallocate(int(f.Fd()), 0, 0, 6<<20))
	if info, err := f.Stat(); err != nil || info.Size() != 6<<20 {
		t.Errorf("%v, %v", info, err)
	}
}

var large = sync.OnceValue(func() []byte {
	b := make([]byte, 5<<20+123)
	for i := range b {
		b[i] = byte(i * i >> 7)
	}
	return b
})

func read(name string) (any, error) {
	b, err := os.ReadFile(name)
	return string(b), err
}

func write(name string, flags int, text string) (any, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|flags, 0)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(text)
	return nil, errors.Join(err, f.Close())
}

func stat(name string) (any, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano(), st.Atim.Nano(), st.Nlink, st.Uid, st.Gid), nil
}

// allBelow describes everything below dir.
func allBelow(dir string) (any, error) {
	var all []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		size := info.Size()
		if info.IsDir() {
			size = 0
		}
		all = append(all, fmt.Sprint(strings.TrimPrefix(name, dir), " ", info.Mode().Type(), size))
		return nil
	})
	return strings.Join(all, "\n"), err
}

// TestOperations compares the mount with a local directory.
func TestOperations(t *testing.T) {
	eachStore(t, func(t *testing.T, fsys pfs.FileSystem) { compareOperations(t, fsys, Options{}) })
	t.Run("store files", func(t *testing.T) {
		f, _ := newLocal(t)
		compareOperations(t, f, storeFiles)
	})
}

func compareOperations(t *testing.T, fsys pfs.FileSystem, opts Options) {
	dir, local := mount(t, fsys, opts), t.TempDir()
	for _, op := range operations {
		got, err := op.do(dir)
		want, wantErr := op.do(local)
		if got != want || errno(err) != errno(wantErr) {
			t.Errorf("%s: %v, error %v; a local directory has %v, error %v", op.name, got, err, want, wantErr)
		}
	}
}

// errno returns the system's error in err.
func errno(err error) syscall.Errno {
	var e syscall.Errno
	if err != nil && !errors.As(err, &e) {
		return ^syscall.Errno(0)
	}
	return e
}

// TestSetuidIsCleared: a write or truncation by another user clears the setuid and setgid bits, which root keeps.
func TestSetuidIsCleared(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it needs another user")
	}
	for _, opts := range []Options{{}, storeFiles} {
		setuidIsCleared(t, opts)
	}
}

func setuidIsCleared(t *testing.T, opts Options) {
	store, back := newLocal(t)
	dir := mount(t, store, opts)
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chmod(back, 0o755))
	for _, script := range []string{"echo more >> $0", ": > $0", "truncate -s 3 $0", "fallocate -l 5000 $0"} {
		for uid, want := range map[uint32]fs.FileMode{0: 0o777 | fs.ModeSetuid | fs.ModeSetgid, 65534: 0o777} {
			name := filepath.Join(dir, "f")
			must(t, os.WriteFile(name, []byte("content"), 0o600))
			must(t, os.Chmod(name, 0o777|fs.ModeSetuid|fs.ModeSetgid))
			c := exec.Command("sh", "-c", script, name)
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%s as %d: %v\n%s", script, uid, err, out)
			}
			if info, err := os.Stat(name); err != nil || info.Mode() != want {
				t.Errorf("%s as %d: mode %v, %v", script, uid, info.Mode(), err)
			}
			must(t, os.Remove(name))
		}
	}
}

// TestWriteIsOneRequest: the kernel asks for no attribute before each write of a user.
func TestWriteIsOneRequest(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it needs another user")
	}
	var mu sync.Mutex
	seen := map[string]int{}
	store, back := newLocal(t)
	must(t, os.Chmod(back, 0o777))
	dir := mount(t, store, Options{Observe: func(r Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Op]++
	}})
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	for _, uid := range []uint32{0, 65534} {
		clear(seen)
		c := exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(dir, fmt.Sprint("f", uid)), "bs=4096", "count=100")
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("as %d: %v\n%s", uid, err, out)
		}
		mu.Lock()
		if seen["write"] != 100 || seen["getxattr"] > 2 || seen["setattr"] > 2 || seen["getattr"] > 5 {
			t.Errorf("as %d: requests %v", uid, seen)
		}
		mu.Unlock()
	}
}
