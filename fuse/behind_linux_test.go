package fuse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// gated is a store whose writes wait while the gate is closed, and may fail.
type gated struct {
	*memfs.FS
	gate sync.RWMutex // is closed while it is locked
	full atomic.Bool

	syncs atomic.Int32
}

func (g *gated) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (pfs.Handle, error) {
	h, err := g.FS.OpenHandle(ctx, name, flags, perm)
	if err != nil {
		return nil, err
	}
	return gatedHandle{h, g}, nil
}

type gatedHandle struct {
	pfs.Handle
	g *gated
}

func (h gatedHandle) Sync(ctx context.Context) error {
	h.g.syncs.Add(1)
	return h.Handle.Sync(ctx)
}

func (h gatedHandle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	h.g.gate.RLock()
	defer h.g.gate.RUnlock()
	if h.g.full.Load() {
		return 0, pfs.E("gated.WriteAt", "", pfs.NoSpace, nil)
	}
	return h.Handle.WriteAt(ctx, p, off)
}

// TestWriteBehind: a program that writes a file from start to end does not wait for the store; whoever looks
// at the file does.
func TestWriteBehind(t *testing.T) {
	g := &gated{FS: memfs.New(memfs.Options{})}
	dir := mount(t, g, Options{WriteBehind: t.TempDir()})
	content := pfstest.Pattern(1, 10<<20+12345)
	for name, look := range map[string]func(f *os.File) (int64, error){
		"fsync": func(f *os.File) (int64, error) { return int64(len(content)), f.Sync() },
		"close": func(f *os.File) (int64, error) { return int64(len(content)), f.Close() },
		"flush": func(f *os.File) (int64, error) {
			if err := Control(dir, "flush"); !errors.Is(err, pfs.Unsupported) { // nothing is staged
				return 0, err
			}
			return pfstest.MustStat(t, g.FS, "/flush").Size, nil
		},
		"stat": func(f *os.File) (int64, error) {
			info, err := os.Stat(f.Name())
			if err != nil {
				return 0, err
			}
			return info.Size(), nil
		},
		"link": func(f *os.File) (int64, error) {
			if err := os.Link(f.Name(), dir+"/other"); err != nil {
				return 0, err
			}
			b, err := os.ReadFile(dir + "/other")
			return int64(len(b)), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Create(dir + "/" + name)
			must(t, err)
			defer f.Close()
			_, err = f.Write(content[:1<<20])
			must(t, err)
			g.gate.Lock()
			_, err = f.Write(content[1<<20:])
			if size := pfstest.MustStat(t, g.FS, pfs.Path("/"+name)).Size; err != nil || size != 1<<20 {
				t.Errorf("written with %v; the store has %d bytes", err, size)
			}
			if st, err := MountAt(dir); err != nil || st.Behind != int64(len(content)-1<<20) {
				t.Errorf("the status has %d bytes, %v", st.Behind, err)
			}
			time.AfterFunc(50*time.Millisecond, g.gate.Unlock)
			if size, err := look(f); err != nil || size != int64(len(content)) {
				t.Errorf("%d bytes, %v", size, err)
			}
			if b := pfstest.ReadFile(t, g.FS, pfs.Path("/"+name)); !bytes.Equal(b, content) {
				t.Errorf("the store has %d bytes of %d, or other ones", len(b), len(content))
			}
		})
	}
}

// TestWriteBehindFails: the writer gets the error of the store once, also if another program was first to wait.
func TestWriteBehindFails(t *testing.T) {
	g := &gated{FS: memfs.New(memfs.Options{})}
	dir := mount(t, g, Options{WriteBehind: t.TempDir()})
	content := pfstest.Pattern(1, 5<<20)
	for name, end := range map[string]func(f *os.File) error{
		"fsync": (*os.File).Sync,
		"close": func(f *os.File) error {
			fd, err := syscall.Dup(int(f.Fd()))
			if err != nil {
				return err
			}
			return syscall.Close(fd)
		},
		"stat": func(f *os.File) error {
			if _, err := os.Stat(f.Name()); err != nil {
				return err
			}
			_, err := f.Write([]byte("x"))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Create(dir + "/" + name)
			must(t, err)
			defer f.Close()
			_, err = f.Write(content[:1<<20])
			must(t, err)
			g.full.Store(true)
			_, err = f.Write(content[1<<20:])
			if err == nil { // else a part has failed before the last write
				err = end(f)
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("error %v, want ENOSPC", err)
			}
			g.full.Store(false)
			_, err = f.WriteAt(content, 0)
			if err = errors.Join(err, f.Sync()); err != nil {
				t.Errorf("when there is room again: %v", err)
			}
			if b := pfstest.ReadFile(t, g.FS, pfs.Path("/"+name)); !bytes.Equal(b, content) {
				t.Errorf("the store has %d bytes of %d, or other ones", len(b), len(content))
			}
		})
	}
}

// TestSyncOfOther: fsync of a file covers what was written to it through other open files.
func TestSyncOfOther(t *testing.T) {
	g := &gated{FS: memfs.New(memfs.Options{})}
	dir := mount(t, g, Options{WriteBehind: t.TempDir()})
	w, err := os.Create(dir + "/f")
	must(t, err)
	defer w.Close()
	r, err := os.Open(dir + "/f")
	must(t, err)
	defer r.Close()
	for n := range int32(2) {
		_, err = w.Write([]byte("x"))
		must(t, err)
		for range 2 { // the second has nothing to do
			must(t, r.Sync())
		}
		if got := g.syncs.Load(); got != n+1 {
			t.Errorf("%d syncs of the store, want %d", got, n+1)
		}
	}
	_, err = w.Write(make([]byte, 2<<20))
	must(t, err)
	g.full.Store(true)
	_, err = w.Write(make([]byte, 1<<20)) // no part is full, so none is sent yet
	must(t, err)
	for range 2 {
		if err := r.Sync(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("fsync of another open file: %v, want ENOSPC", err)
		}
	}
	if err := w.Sync(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("fsync of the one that was written: %v, want ENOSPC", err)
	}
	if err := r.Sync(); err != nil {
		t.Errorf("once its program knows: %v", err)
	}
}

// TestWriteBehindModel compares files that stay open, and what is done to them meanwhile, with a local directory.
func TestWriteBehindModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dir, local := mount(t, memfs.New(memfs.Options{}), Options{WriteBehind: t.TempDir(), BehindAfter: 1}), t.TempDir()
	var files [3][2]*os.File
	name := func(i int) string { return fmt.Sprintf("/f%d", i) }
	create := func(i int) {
		for k, d := range []string{dir, local} {
			f, err := os.Create(d + name(i))
			must(t, err)
			if files[i][k] != nil {
				must(t, files[i][k].Close())
			}
			files[i][k] = f
		}
	}
	for i := range files {
		create(i)
	}
	defer func() {
		for _, f := range files {
			f[0].Close()
			f[1].Close()
		}
	}()
	rounds := 10_000
	if testing.Short() {
		rounds = 600
	}
	for i := range rounds {
		k, op, off, other := r.IntN(len(files)), r.IntN(24), r.Int64N(3_000_000), r.IntN(len(files))
		data := pfstest.Pattern(uint64(i), r.IntN(200_000)+1)
		do := func(at int, d string) (any, error) {
			f := files[k][at]
			switch op {
			case 0:
				return nil, f.Truncate(off)
			case 1:
				return nil, os.Truncate(d+name(k), off)
			case 2:
				info, err := os.Stat(d + name(k))
				return info.Size(), err
			case 12:
				to := time.Unix(1e9+off, 0)
				if err := os.Chtimes(d+name(k), to, to); err != nil {
					return nil, err
				}
				info, err := os.Stat(d + name(k))
				return fmt.Sprint(info.Size(), info.ModTime()), err
			case 3:
				return read(d + name(k))
			case 4:
				_, err := f.WriteAt(data, off)
				return nil, err
			case 5:
				_, err := f.Seek(off%1_000_000, 0)
				return nil, err
			case 6:
				return nil, f.Sync()
			case 7:
				return nil, os.Rename(d+name(k), d+name(other))
			case 8:
				_ = os.Remove(d + "/link")
				if err := os.Link(d+name(k), d+"/link"); err != nil {
					return nil, err
				}
				return read(d + "/link")
			case 9:
				return allBelow(d)
			case 10:
				w, err := os.OpenFile(d+name(k), os.O_WRONLY, 0)
				if err != nil {
					return nil, err
				}
				defer w.Close()
				for range 3 {
					if _, err := w.Write(data); err != nil {
						return nil, err
					}
				}
				return nil, nil
			case 11:
				w, err := os.OpenFile(d+name(k), os.O_WRONLY|os.O_APPEND, 0)
				if err != nil {
					return nil, err
				}
				defer w.Close()
				_, err = w.Write(data)
				return nil, err
			}
			_, err := f.Write(data)
			return nil, err
		}
		got, err := do(0, dir)
		want, wantErr := do(1, local)
		if got != want || errno(err) != errno(wantErr) {
			t.Fatalf("operation %d (%d of %s): %.200v, %v, want %.200v, %v", i, op, name(k), got, err, want, wantErr)
		}
		if op == 7 && k != other && err == nil {
			create(k)
		}
		if info, err := files[k][1].Stat(); err == nil && info.Size() > 8_000_000 {
			create(k)
		}
	}
}
