package cachefs

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cached is a file of the cache as a scan found it.
type cached struct {
	path  string // without suffix
	bytes int64
	used  time.Time
}

// evictor keeps d within its bounds until ctx is done.
func (d *dir) evictor(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		if d.prepare() == nil {
			d.evict(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-d.kick:
		case <-tick.C:
			if d.used.Load() < d.limit && !d.short() {
				continue
			}
		}
	}
}

// short reports whether the disk has less free space than it should keep.
func (d *dir) short() bool {
	_, free, err := diskSpace(d.path)
	return err == nil && free < d.reserve
}

// evict measures the directory and removes the least recently used files, until a sixteenth more than
// necessary is free. Files that are open in any process stay.
func (d *dir) evict(ctx context.Context) {
	d.evictMu.Lock()
	defer d.evictMu.Unlock()
	d.filled.Store(0)
	before := d.used.Load()
	files, total := d.scan(ctx)
	if ctx.Err() != nil {
		return
	}
	d.used.Add(total - before) // what was filled meanwhile counts, some of it twice
	goal := total
	if total > d.limit {
		goal = d.limit - d.limit/16
	}
	if _, free, err := diskSpace(d.path); err == nil && free < d.reserve {
		goal = min(goal, total-(d.reserve-free)-min(d.limit, total)/16)
	}
	slices.SortFunc(files, func(a, b cached) int { return a.used.Compare(b.used) })
	for _, f := range files {
		if total <= goal || ctx.Err() != nil {
			break
		}
		if removeUnused(f.path) {
			total -= f.bytes
			d.used.Add(-f.bytes)
			d.evicted.Add(1)
		}
	}
	if crowded := total > goal; d.crowded.Swap(crowded) != crowded && crowded && d.usable() {
		d.log.Warn("the cache is full of open files; other reads go to the store", "dir", d.top, "bytes", total)
	}
}

// removeUnused removes a file of the cache unless it is open.
func removeUnused(path string) bool {
	data, err := os.Open(path + dataSuffix)
	if err != nil {
		return false
	}
	defer data.Close()
	return lock(data, true) == nil && removeFiles(path) == nil
}

// scan returns the files in the directory and the bytes that they take.
func (d *dir) scan(ctx context.Context) (files []cached, total int64) {
	_ = filepath.WalkDir(d.path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return ctx.Err() // what cannot be listed is not counted
		}
		path, isData := strings.CutSuffix(name, dataSuffix)
		if !isData {
			if path, isIndex := strings.CutSuffix(name, indexSuffix); isIndex {
				if _, err := os.Lstat(path + dataSuffix); os.IsNotExist(err) {
					_ = os.Remove(name) // its data file was removed by others
				}
			}
			return nil
		}
		if info, err := e.Info(); err == nil {
			n := blocksOf(info) + 4096 // and the index
			files = append(files, cached{path, n, info.ModTime()})
			total += n
		}
		return nil
	})
	return files, total
}
