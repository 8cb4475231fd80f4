//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
)

const (
	mib = 1 << 20

	warmFiles  = 10_000
	namesFound = 100_000
	randoms    = 100_000
)

var warmRows = []row{
	{name: "warm: 1 GiB in steps of 128 KiB", unit: "MB/s", goal: 0.95, rehearse: true},
	{name: "warm: 1 GiB through mmap", unit: "MB/s", goal: 0.9, rehearse: true},
	{name: "warm: 4 KiB at random", unit: "a second", goal: 0.9, rehearse: true},
	{name: "warm: 10,000 files of 100 KiB, one reader", unit: "MB/s", goal: 0.95, rehearse: true},
	{name: "warm: 10,000 files of 100 KiB, four readers", unit: "MB/s", goal: 0.95, rehearse: true},
	{name: "warm: find over 100,000 files", unit: "s", goal: 1, least: true, rehearse: true},
	{name: "warm: stat", unit: "a second", goal: 0.85, rehearse: true},
	{name: "page cache dropped: 1 GiB", unit: "MB/s", goal: 0.9, drops: true},
}

var coldRows = []row{
	{name: "cold: 1 GiB", unit: "MB/s", goal: 0.9},
	{name: "cold: 3,000 files of 100 KiB, four readers", unit: "MB/s", goal: 130, absolute: true},
	{name: "cold: listing of 110,000 entries", unit: "s", goal: 0.7, absolute: true, least: true},
}

var writeRows = []row{
	{name: "write: 512 MiB, then fsync", unit: "MB/s"},
	{name: "write: 5,000 files of 16 KiB, until they are on the store", unit: "files/s", peerGoal: 3},
	{name: "write: 5,000 files of 16 KiB, four writers, until they are on the store", unit: "files/s"},
	{name: "write: 512 MiB through pfsd, then fsync (rclone: without a service)", unit: "MB/s"},
	{name: "write: 1,000 files of 16 KiB through pfsd (rclone: without a service)", unit: "files/s"},
	{name: "write: 1,000 files of 16 KiB through pfsd, four writers (rclone: without a service)", unit: "files/s"},
}

var storeWrite = row{name: "write: 512 MiB, then fsync, against the store package", unit: "MB/s", goal: 0.8}

// warm measures the second epoch: everything is cached.
func warm(b *bench) {
	const big, small = bigSize / 1e6, warmFiles * smallSize / 1e6
	work := []func(dir string, round int) (float64, error){
		func(dir string, _ int) (float64, error) {
			return rate(big, func() error { return readFile(dir + "/big") })
		},
		func(dir string, _ int) (float64, error) {
			return rate(big, func() error { return mapFile(dir + "/big") })
		},
		func(dir string, round int) (float64, error) {
			return rate(randoms, func() error { return readRandom(dir+"/big", randoms, uint64(round)) })
		},
		func(dir string, _ int) (float64, error) {
			return rate(small, func() error { return readFiles(dir+"/small", 1, warmFiles, smallSize) })
		},
		func(dir string, _ int) (float64, error) {
			return rate(small, func() error { return readFiles(dir+"/small", 4, warmFiles, smallSize) })
		},
		func(dir string, _ int) (float64, error) { return timed(func() error { return find(dir + "/names") }) },
		func(dir string, _ int) (float64, error) {
			return rate(namesFound, func() error { return statAll(dir+"/names", namesFound) })
		},
		func(dir string, _ int) (float64, error) {
			if err := dropCaches(); err != nil {
				return 0, err
			}
			return rate(big, func() error { return readFile(dir + "/big") })
		},
	}
	var names []string
	for _, r := range warmRows {
		names = append(names, r.name)
	}
	names = append(names, cpuRow)
	if !b.wants(names...) {
		return
	}
	passthrough, noOpen, rclone, err := b.warmMounts()
	if err != nil {
		b.fail("warm", err)
		return
	}
	b.table("the second time", "native", "mount", "rclone mount")
	for i, r := range warmRows {
		dir := passthrough.dir
		if i >= 3 && i < 7 {
			dir = noOpen.dir
		}
		at := func(dir string) func(int) (float64, error) {
			return func(round int) (float64, error) { return work[i](dir, round) }
		}
		r.ways = []way{{"native", at(b.path("data"))}, {"mount", at(dir)}, {name: "rclone"}}
		if rclone != nil {
			r.ways[2].do = at(rclone.dir)
		}
		b.run(r)
	}
	b.epochCPU(passthrough, noOpen, rclone)
}

const (
	cpuRow  = "warm: processor time of the server"
	cpuGoal = 0.05 // of the time of the epoch

	cpuEpochs = 10 // that are measured together: the kernel counts hundredths of a second
)

// epochCPU prints the processor time of the servers for a warm epoch.
func (b *bench) epochCPU(passthrough, noOpen, rclone *mounted) {
	if !b.wants(cpuRow) {
		return
	}
	fmt.Printf("\n| %s | 1 GiB | 10,000 files of 100 KiB |\n|---|---|---|\n", cpuRow)
	for _, server := range []struct {
		name       string
		big, small *mounted
	}{{"mount", passthrough, noOpen}, {"rclone mount", rclone, rclone}} {
		if server.big == nil {
			continue
		}
		epoch := func(m *mounted, do func() error) (used, took float64, err error) {
			if err = do(); err != nil { // an epoch before
				return 0, 0, err
			}
			before, err := m.cpu()
			took, failed := timed(func() (err error) {
				for range cpuEpochs {
					err = errors.Join(err, do())
				}
				return err
			})
			after, err2 := m.cpu()
			return (after - before) / cpuEpochs, took / cpuEpochs, errors.Join(err, failed, err2)
		}
		big, bigTook, err := epoch(server.big, func() error { return readFile(server.big.dir + "/big") })
		small, smallTook, err2 := epoch(server.small, func() error { return readFiles(server.small.dir+"/small", 4, warmFiles, smallSize) })
		if err := errors.Join(err, err2); err != nil {
			b.fail(cpuRow, err)
			return
		}
		fmt.Printf("| %s | %.3f s of %.2f s | %.3f s of %.2f s |\n", server.name, big, bigTook, small, smallTook)
		if share := max(big/bigTook, small/smallTook); server.big == passthrough {
			b.note(cpuRow, number(share)+" of the time", "<= "+number(cpuGoal), share <= cpuGoal)
		}
	}
}

// warmMounts makes the files and mounts them.
func (b *bench) warmMounts() (passthrough, noOpen, rclone *mounted, err error) {
	data := b.path("data")
	err = os.MkdirAll(data, 0o755)
	if _, there := os.Stat(data + "/names"); err == nil && there != nil {
		err = errors.Join(writeFile(data+"/big", bigSize), writeFiles(data+"/small", 4, warmFiles, smallSize), makeNames(data+"/names", namesFound))
		time.Sleep(3 * time.Second) // younger files are not cached
	}
	if err == nil {
		// A file just written is read faster from the page cache than one that came from the disk, as those of a cache do.
		err = dropCaches()
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if passthrough, err = b.mount("file "+data, "cache-passthrough", "-read-only", "-mode", "passthrough", "-timeout", "24h"); err != nil {
		return nil, nil, nil, err
	}
	if noOpen, err = b.mount("file "+data, "cache-no-open", "-read-only", "-mode", "no-open", "-timeout", "24h"); err != nil {
		return nil, nil, nil, err
	}
	if b.rclone != "" {
		rclone, err = b.rcloneMount(data, "cache-rclone", "--read-only")
	}
	return passthrough, noOpen, rclone, err
}

// cold measures the first epoch over the simulated store.
func cold(b *bench) {
	work := []func(dir string) (float64, error){
		func(dir string) (float64, error) {
			return rate(bigSize/1e6, func() error { return readSized(dir+"/big", bigSize) })
		},
		func(dir string) (float64, error) {
			return rate(smallFiles*smallSize/1e6, func() error { return readFiles(dir+"/small", 4, smallFiles, smallSize) })
		},
		func(dir string) (float64, error) {
			return timed(func() error {
				names, err := list(dir + "/list")
				if err == nil && len(names) != listFiles {
					err = fmt.Errorf("%d names", len(names))
				}
				return err
			})
		},
	}
	if !b.wants(coldRows[0].name, coldRows[1].name, coldRows[2].name) {
		return
	}
	remote, err := dav()
	if err != nil {
		b.fail("cold", err)
		return
	}
	b.table("the first time, 20 ms a request, 100 MB/s a stream, 500 MB/s in all", "the store", "mount", "rclone mount")
	for i, r := range coldRows {
		// fresh measures a new mount with an empty cache, which is removed if it holds few files: after
		// many were removed, new ones are slow on some disks.
		fresh := func(kind string, begin func(cache string) (*mounted, error)) func(int) (float64, error) {
			return func(round int) (float64, error) {
				cache := fmt.Sprintf("cold-%s-%d-%d", kind, i, round)
				m, err := begin(cache)
				if err != nil {
					return 0, err
				}
				v, err := work[i](m.dir)
				err = errors.Join(err, m.stop())
				if i == 0 {
					err = errors.Join(err, os.RemoveAll(b.path(cache)))
				}
				return v, errors.Join(err, flush())
			}
		}
		mode := "passthrough"
		if i == 1 {
			mode = "no-open"
		}
		r.ways = []way{{name: "store"}, {"mount", fresh("mount", func(cache string) (*mounted, error) {
			return b.mount("simulated", cache, "-read-only", "-mode", mode, "-timeout", "24h")
		})}, {name: "rclone"}}
		if i == 0 {
			r.ways[0].do = func(int) (float64, error) { return rate(bigSize/1e6, readStore) }
		}
		if b.rclone != "" {
			r.ways[2].do = fresh("rclone", func(cache string) (*mounted, error) { return b.rcloneMount(remote, cache, "--read-only") })
		}
		b.run(r)
	}
}

// readStore reads the large file of the simulated store with 32 readers.
func readStore() error {
	ctx := context.Background()
	f, err := newSimulated().Open(ctx, "/big")
	if err != nil {
		return err
	}
	return inParallel(32, bigSize/pfs.ChunkSize, func(i int) error {
		return pfs.ReadFull(ctx, f, make([]byte, pfs.ChunkSize), int64(i)*pfs.ChunkSize)
	})
}

const (
	writeSize              = 512 * mib
	writtenFiles, writeOne = 5000, 16 << 10
	writtenSlowly          = 1000 // files through pfsd
)

// writes measures writing to a directory, and to the home of a service.
func writes(b *bench) {
	var names []string
	for _, r := range writeRows {
		names = append(names, r.name)
	}
	if !b.wants(append(names, storeWrite.name)...) {
		return
	}
	base := b.path("written")
	err := os.MkdirAll(base, 0o755)
	var m, home, rclone *mounted
	if err == nil {
		m, err = b.mount("file "+base, "")
	}
	if err == nil && b.rclone != "" {
		rclone, err = b.rcloneMount(base, "cache-write", "--vfs-write-back", "0s")
	}
	if err == nil && b.service != "" {
		home, err = b.program(strings.Fields(b.service)...)
	}
	if err != nil {
		b.fail("write", err)
		return
	}
	b.table("writing to a directory", "native", "mount", "rclone mount")
	for i, r := range writeRows {
		writers := []int{0, 1, 4}[i%3]
		// into writes to dir, and waits until the bytes are below store.
		into := func(kind, dir, store string) func(int) (float64, error) {
			return func(round int) (float64, error) {
				name := fmt.Sprintf("%s-%d-%d", kind, i, round)
				if writers == 0 {
					defer os.Remove(filepath.Join(store, name))
					return rate(writeSize/1e6, func() error {
						return errors.Join(writeFile(filepath.Join(dir, name), writeSize), arrived(filepath.Join(store, name), writeSize))
					})
				}
				files := writtenFiles
				if i >= 3 {
					files = writtenSlowly
				}
				v, err := rate(float64(files), func() error {
					if err := writeFiles(filepath.Join(dir, name), writers, files, writeOne); err != nil {
						return err
					}
					for k := range files {
						if err := arrived(fmt.Sprintf("%s/%s/f%05d", store, name, k), writeOne); err != nil {
							return err
						}
					}
					return nil
				})
				return v, errors.Join(err, flush())
			}
		}
		r.ways = []way{{"native", into("native", base, base)}, {"mount", into("mount", m.dir, base)}, {name: "rclone"}}
		if i >= 3 {
			if home == nil {
				continue
			}
			r.ways[1].do = into("mount", home.dir, b.home)
		}
		if rclone != nil {
			r.ways[2].do = into("rclone", rclone.dir, base)
		}
		b.run(r)
	}
	fsys, err := localfs.New(base, localfs.Options{})
	if err != nil {
		b.fail(storeWrite.name, err)
		return
	}
	r := storeWrite
	r.ways = []way{{"store", func(int) (float64, error) {
		defer os.Remove(base + "/store")
		return rate(writeSize/1e6, func() error { return writeStore(fsys, "/store") })
	}}, {"mount", func(int) (float64, error) {
		defer os.Remove(base + "/mount")
		return rate(writeSize/1e6, func() error { return writeFile(m.dir+"/mount", writeSize) })
	}}}
	b.table("writing to a directory", "the store package", "mount")
	b.run(r)
}

// writeStore is writeFile by the calls of a store that a mount makes.
func writeStore(fsys pfs.FileSystem, name pfs.Path) error {
	ctx := context.Background()
	h, err := pfs.OpenHandle(ctx, fsys, name, pfs.OpenWrite|pfs.OpenCreate, 0o644)
	if err != nil {
		return err
	}
	for n := int64(0); n < writeSize && err == nil; n += step {
		_, err = h.WriteAt(ctx, pattern[n%step:][:step], n)
	}
	if err == nil {
		err = h.Sync(ctx)
	}
	return errors.Join(err, h.Close(ctx))
}

// arrived waits until a file is on the store.
func arrived(name string, size int64) error {
	for range 6000 {
		if info, err := os.Stat(name); err == nil && info.Size() == size {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("%s did not come within a minute", name)
}

const (
	memoryRow  = "server: memory with 1,000,000 known files"
	memoryGoal = 256 // MiB
)

// server measures the memory of the process of a mount that knows many files.
func server(b *bench) {
	if !b.wants(memoryRow) {
		return
	}
	m, err := b.mount("simulated", "cache-many", "-read-only", "-timeout", "24h")
	if err == nil {
		err = find(m.dir + "/many")
	}
	var now, most float64
	if err == nil {
		now, most, err = m.memory()
	}
	fmt.Println()
	if err != nil {
		b.fail(memoryRow, err)
		return
	}
	verdict := b.note(memoryRow, fmt.Sprintf("%.0f MiB", most), fmt.Sprintf("<= %d MiB", memoryGoal), most <= memoryGoal)
	fmt.Printf("%s: %.0f MiB, at most %.0f MiB (%s).\n", memoryRow, now, most, verdict)
}
