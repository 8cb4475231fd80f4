package cachefs

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestModel does random operations on a cache over a store with faults: reads through files that stay
// open while others replace them, restarts, evictions, and damage to the cache's files. Every read
// must return the bytes of the version that was opened, or an error that the store gave.
func TestModel(t *testing.T) {
	steps := 1500
	if testing.Short() {
		steps = 300
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runModel(t, seed, steps) })
	}
}

type modelFile struct {
	f       pfs.File
	content []byte
}

func runModel(t *testing.T, seed uint64, steps int) {
	r := rand.New(rand.NewPCG(seed, 1))
	sizes := []int{0, 1, 5000, 200_000, blockSize, 2*blockSize + 77, 5 * blockSize}
	s := &slowStore{FileSystem: memfs.New(memfs.Options{})}
	var faults, count atomic.Uint64
	s.fault = func(_ context.Context, name pfs.Path, p []byte, _ int64) error {
		// Requests of the background come at any time, so a counter decides and not r.
		switch n := count.Add(1) * 2654435761 >> 8; {
		case faults.Load() == 0:
			return nil
		case n%11 == 0:
			return pfs.E("test", name, pfs.Unavailable, nil)
		case n%13 == 0: // cut
			clear(p[len(p)/2:])
			return pfs.E("test", name, pfs.Integrity, nil)
		case n%17 == 0:
			time.Sleep(5 * time.Millisecond)
		}
		return nil
	}
	contents := map[pfs.Path][]byte{}
	write := func(name pfs.Path) {
		data := pfstest.Pattern(r.Uint64(), sizes[r.IntN(len(sizes))])
		opts := pfs.CommitOptions{Size: int64(len(data)), ModTime: time.Unix(1, 0)}
		if r.IntN(2) == 0 {
			opts.Digest = digest.Bytes(data)
		}
		pfstest.WriteFileWith(t, s.FileSystem, name, data, opts)
		contents[name] = data
	}
	name := func() pfs.Path { return pfs.Path(fmt.Sprintf("/d/f%d", r.IntN(8))) }
	pfstest.MustMkdir(t, s.FileSystem, "/d")
	for i := range 8 {
		write(pfs.Path(fmt.Sprintf("/d/f%d", i)))
	}
	dir := t.TempDir()
	start := func() *FS {
		var fsys pfs.FileSystem = s
		if r.IntN(2) == 0 {
			fsys = slowService{s}
		}
		return newCache(t, fsys, func(o *Options) { o.Dirs, o.Size = []string{dir}, int64(20+r.IntN(40))*mib })
	}
	c := start()
	open := []*modelFile{}
	shut := func(i int) {
		open[i].f.Close()
		open[i] = open[len(open)-1]
		open = open[:len(open)-1]
	}
	for range steps {
		switch r.IntN(20) {
		case 0:
			write(name())
		case 1:
			from, to := name(), name()
			if from != to && contents[from] != nil {
				if err := s.FileSystem.Rename(t.Context(), from, to); err != nil {
					t.Fatal(err)
				}
				contents[to] = contents[from]
				write(from)
			}
		case 2:
			c.dirs[0].evict(t.Context())
		case 3:
			files := filesOf(t, dir)
			if len(files) > 0 { // others remove files of the cache
				os.Remove(files[r.IntN(len(files))] + []string{dataSuffix, indexSuffix}[r.IntN(2)])
			}
		case 4:
			if r.IntN(5) == 0 { // a restart
				for len(open) > 0 {
					shut(0)
				}
				c.Close()
				boot := c.boot
				c = start()
				c.boot = boot
				if r.IntN(2) == 0 { // of the system, which loses a page
					c.boot[0]++
					for _, path := range filesOf(t, dir) {
						damage(t, r, path+dataSuffix)
						damage(t, r, path+indexSuffix)
					}
				}
			}
		case 5:
			faults.Store(uint64(r.IntN(2)))
		case 6, 7, 8, 9, 10:
			n := name()
			var f pfs.File
			var err error
			if info := pfstest.MustStat(t, s.FileSystem, n); r.IntN(2) == 0 {
				f, err = c.OpenInfo(t.Context(), n, info)
			} else {
				f, err = c.Open(t.Context(), n)
			}
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, &modelFile{f, contents[n]})
			if len(open) > 12 {
				shut(r.IntN(len(open)))
			}
		case 11:
			if len(open) > 0 {
				shut(r.IntN(len(open)))
			}
		default:
			if len(open) == 0 {
				continue
			}
			m := open[r.IntN(len(open))]
			if len(m.content) == 0 {
				continue
			}
			off := r.IntN(len(m.content))
			buf := make([]byte, min(len(m.content)-off, 1+r.IntN(3*blockSize)))
			n, err := m.f.ReadAt(t.Context(), buf, int64(off))
			if !bytes.Equal(buf[:n], m.content[off:off+n]) {
				t.Fatalf("wrong bytes at %d", off)
			}
			kind := pfs.KindOf(err)
			if err != nil && kind != pfs.Unavailable && kind != pfs.Integrity && kind != pfs.Conflict {
				t.Fatal(err)
			}
			if err == nil && n < len(buf) {
				t.Fatalf("%d of %d bytes and no error", n, len(buf))
			}
			if f, ok := m.f.(*File); ok && f.Local() != nil {
				got := make([]byte, len(m.content))
				if _, err := f.Local().ReadAt(got, 0); err != nil || !bytes.Equal(got, m.content) {
					t.Fatalf("the local file has other bytes, %v", err)
				}
			}
		}
	}
	for len(open) > 0 {
		shut(0)
	}
}
