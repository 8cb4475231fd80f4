package fuse

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// storeFiles lets the kernel use the files of the store.
var storeFiles = Options{OpenMode: Passthrough, StoreFiles: true}

// TestStoreFiles writes, reads and maps files of a store that the kernel uses itself.
func TestStoreFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can register files")
	}
	var mu sync.Mutex
	seen := map[string]int{}
	opts := storeFiles
	opts.Observe = func(r Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Op]++
	}
	store, back := newLocal(t)
	dir := mount(t, store, opts)
	if st := (entry{dir: dir}).status(); st.OpenMode != Passthrough {
		t.Errorf("status %+v", st)
	}
	name, behind := filepath.Join(dir, "f"), filepath.Join(back, "f")
	want := pfstest.Pattern(1, 3<<20)
	f, err := os.Create(name)
	must(t, err)
	defer f.Close()
	for i := 0; i < len(want); i += 1 << 16 {
		_, err := f.Write(want[i:][:1<<16])
		must(t, err)
	}
	same := func(what, name string) {
		t.Helper()
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
	same("behind the mount", behind)
	same("in the mount", name)
	must(t, f.Sync())
	if info, err := os.Stat(name); err != nil || info.Size() != int64(len(want)) {
		t.Errorf("%v, %v", info, err)
	}

	// A mapping outlives its open file, and has the bytes that others write: through the mount, and behind it.
	g, err := os.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	m, err := syscall.Mmap(int(g.Fd()), 0, len(want), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	must(t, err)
	must(t, errors.Join(g.Close(), f.Close()))
	for i, at := range []string{name, behind} {
		h, err := os.OpenFile(at, os.O_WRONLY, 0)
		must(t, err)
		_, err = h.WriteAt([]byte{7}, int64(i))
		must(t, errors.Join(err, h.Close()))
		want[i] = 7
	}
	m[100], want[100] = 9, 9
	if !bytes.Equal(m, want) {
		t.Error("the mapping does not show what others write")
	}
	same("after a write through the mapping", name)
	must(t, syscall.Munmap(m))

	// A removed file goes on, and another file of its name is another one.
	f, err = os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	must(t, err)
	defer f.Close()
	must(t, os.Remove(name))
	must(t, os.WriteFile(name, []byte("another"), 0o600))
	_, err = f.Write([]byte("more"))
	must(t, err)
	must(t, f.Sync())
	got := make([]byte, 4)
	if _, err := f.ReadAt(got, int64(len(want))); err != nil || string(got) != "more" {
		t.Errorf("a removed file: %q, %v", got, err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != int64(len(want))+4 {
		t.Errorf("a removed file: %v, %v", info, err)
	}
	want = []byte("another")
	same("another file of the name", name)
	mu.Lock()
	defer mu.Unlock()
	if seen["read"] > 0 || seen["write"] > 0 {
		t.Errorf("requests %v: the kernel does not use the files itself", seen)
	}
}

// TestPassthroughQuota: the kernel does not write files below a quota itself, whoever opens them first.
func TestPassthroughQuota(t *testing.T) {
	store, _ := newLocal(t)
	dir := mount(t, store, storeFiles)
	must(t, os.Mkdir(filepath.Join(dir, "q"), 0o755))
	must(t, store.SetQuota(t.Context(), "/q", 100_000, 0))
	name := filepath.Join(dir, "q/f")
	must(t, os.WriteFile(name, make([]byte, 1000), 0o600))
	r, err := os.Open(name)
	must(t, err)
	defer r.Close()
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	must(t, err)
	defer f.Close()
	if _, err := f.Write(make([]byte, 90_000)); err != nil {
		t.Error(err)
	}
	n, err := f.Write(make([]byte, 90_000))
	if !errors.Is(err, syscall.EDQUOT) {
		t.Errorf("%d bytes beyond the quota: %v", n, err)
	}
	if u, err := store.Usage(t.Context(), "/q"); err != nil || u.Bytes != 91_000+int64(n) || u.Bytes > 100_000 {
		t.Errorf("usage %+v, %v", u, err)
	}
	if there, _ := r.ReadAt(make([]byte, 200_000), 0); there != 91_000+n {
		t.Errorf("who has it open reads %d bytes", there)
	}

	// A file that is open when its directory gets a quota: who opens it now keeps the quota.
	must(t, os.Mkdir(filepath.Join(dir, "later"), 0o755))
	name = filepath.Join(dir, "later/f")
	old, err := os.Create(name)
	must(t, err)
	defer old.Close()
	must(t, store.SetQuota(t.Context(), "/later", 1000, 0))
	f, err = os.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	if n, err := f.Write(make([]byte, 90_000)); !errors.Is(err, syscall.EDQUOT) {
		t.Errorf("%d bytes beyond the new quota: %v", n, err)
	}
}

// TestTruncateRunning: a program that runs cannot be truncated, even by an open for reading.
func TestTruncateRunning(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	must(t, err)
	program, err := os.Stat(sleep)
	must(t, err)
	for name, opts := range map[string]Options{"page cache": {}, "store files": storeFiles} {
		t.Run(name, func(t *testing.T) {
			fsys, _ := newLocal(t)
			file := mount(t, fsys, opts) + "/sleep"
			must(t, exec.Command("cp", sleep, file).Run())            // a process that starts meanwhile must not inherit the file
			running := exec.Command("sh", "-c", "exec "+file+" 1000") // this process serves the mount, and would wait for itself
			must(t, running.Start())
			defer running.Wait()
			defer running.Process.Kill()
			for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", running.Process.Pid)); exe == file {
					break
				}
				if time.Now().After(end) {
					t.Fatal("the program does not run")
				}
			}
			f, err := os.OpenFile(file, os.O_RDONLY|os.O_TRUNC, 0)
			if !errors.Is(err, syscall.ETXTBSY) {
				t.Errorf("open: %v, %v; want ETXTBSY", f, err)
			}
			if info, err := os.Stat(file); err != nil || info.Size() != program.Size() {
				t.Errorf("afterwards: %v, %v", info, err)
			}
		})
	}
}
