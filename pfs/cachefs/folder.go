package cachefs

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	mostFolders = 4      // directories whose listings are kept
	mostNames   = 30_000 // of one of them: some 250 bytes each
	folderAge   = time.Minute
)

// folder is a directory whose small files are being read.
type folder struct {
	used time.Time // guarded by FS.mu

	mu      sync.Mutex
	opens   int
	listing bool
	listed  time.Time        // when the last listing began
	files   []sibling        // in the order of the store
	at      map[string]int32 // name to index in files
	sorted  []int32          // indices by name; nil if files are sorted
	rank    []int32          // position in sorted of each file

	inOrder, byName sessions // of readers in the order of the store, and by name
}

// sibling is one small file of a directory.
type sibling struct {
	name, version string
	size          int64
	modTime       time.Time
}

func (s sibling) info() pfs.Info {
	return pfs.Info{Name: s.name, Version: s.version, Size: s.size, ModTime: s.modTime}
}

// readFolder notes that the small file of e is opened, and fetches the next ones of its directory if
// they are opened in order.
func (f *FS) readFolder(ctx context.Context, e *entry) {
	dirName := e.name.Parent()
	d := f.folder(dirName)
	d.mu.Lock()
	d.opens++
	if d.opens > 1 && !d.listing && time.Since(d.listed) > folderAge {
		d.listing = e.inBackground(ctx, func(ctx context.Context) { f.listFolder(ctx, dirName, d) })
	}
	next := d.next(e.name.Base())
	d.mu.Unlock()
	if len(next) > 0 {
		e.inBackground(ctx, func(ctx context.Context) { f.fetchFiles(ctx, dirName, next) })
	}
}

// inBackground runs do unless the file system is closed.
func (e *entry) inBackground(ctx context.Context, do func(ctx context.Context)) bool {
	if !e.hold() {
		return false
	}
	go func() {
		defer e.drop()
		ctx, cancel := e.fs.detach(ctx)
		defer cancel()
		do(ctx)
	}()
	return true
}

// next returns the files to fetch after name was opened.
func (d *folder) next(name string) (next []pfs.Info) {
	i, ok := d.at[name]
	if !ok {
		return nil
	}
	from, to := d.inOrder.touch(int64(i), filesAhead, int64(len(d.files)))
	for ; from < to; from++ {
		next = append(next, d.files[from].info())
	}
	if d.sorted != nil {
		from, to := d.byName.touch(int64(d.rank[i]), filesAhead, int64(len(d.files)))
		for ; from < to; from++ {
			next = append(next, d.files[d.sorted[from]].info())
		}
	}
	return next
}

// folder returns the known listing of the directory.
func (f *FS) folder(name pfs.Path) *folder {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.folders[name]
	if d == nil {
		if len(f.folders) >= mostFolders {
			var oldest pfs.Path
			for n, other := range f.folders {
				if oldest == "" || other.used.Before(f.folders[oldest].used) {
					oldest = n
				}
			}
			delete(f.folders, oldest)
		}
		d = &folder{}
		f.folders[name] = d
	}
	d.used = time.Now()
	return d
}

// listFolder lists the small files of the directory.
func (f *FS) listFolder(ctx context.Context, name pfs.Path, d *folder) {
	began := time.Now()
	var files []sibling
	err := pfs.Guard("cachefs.listFolder", name, func() error {
		for info, err := range pfs.Entries(ctx, f.below, name, nil) {
			if err != nil || len(files) == mostNames {
				return err
			}
			if info.Size <= smallFile && f.cacheable(info) {
				files = append(files, sibling{info.Name, info.Version, info.Size, info.ModTime})
			}
		}
		return nil
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listing, d.listed = false, began
	if err != nil {
		return // reads go on without
	}
	d.files, d.at, d.sorted, d.rank = files, make(map[string]int32, len(files)), nil, nil
	for i, s := range files {
		d.at[s.name] = int32(i)
	}
	if slices.IsSortedFunc(files, func(a, b sibling) int { return strings.Compare(a.name, b.name) }) {
		return
	}
	d.sorted, d.rank = make([]int32, len(files)), make([]int32, len(files))
	for i := range d.sorted {
		d.sorted[i] = int32(i)
	}
	slices.SortFunc(d.sorted, func(a, b int32) int { return strings.Compare(files[a].name, files[b].name) })
	for r, i := range d.sorted {
		d.rank[i] = int32(r)
	}
}
