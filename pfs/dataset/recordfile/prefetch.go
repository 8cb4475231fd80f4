package recordfile

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// Want are records of a file, by number.
type Want struct {
	File    *Records
	Numbers []int64
}

// Prefetch reads what ReadBatch needs of these records, of all files on a service in as few requests
// as possible, and keeps it until release is called. Files that are not on a service need no
// prefetch. What cannot be read is left to ReadBatch, which reports the error.
func Prefetch(ctx context.Context, wants []Want) (release func()) {
	byService := map[pfs.RangeReader][]pfs.Range{}
	owners := map[pfs.RangeReader][]*fetched{}
	for _, w := range wants {
		in := w.File.Input
		service, ok := in.End.FS.(pfs.RangeReader)
		if !ok || in.fetched == nil {
			continue
		}
		for _, e := range w.File.Extents(w.Numbers) {
			byService[service] = append(byService[service], pfs.Range{Path: in.End.Path, Version: in.Info.Version, Off: e.Off, Data: make([]byte, e.Len)})
			owners[service] = append(owners[service], in.fetched)
		}
	}
	for service, ranges := range byService {
		parts := map[*fetched][]pfs.Range{}
		for i, err := range service.ReadRanges(ctx, ranges) {
			if err == nil {
				parts[owners[service][i]] = append(parts[owners[service][i]], ranges[i])
			}
		}
		for f, list := range parts {
			f.set(list)
		}
	}
	return func() {
		for _, w := range wants {
			if f := w.File.Input.fetched; f != nil {
				f.set(nil)
			}
		}
	}
}

// fetched is a file of which parts are in memory.
type fetched struct {
	io.ReaderAt

	mu    sync.Mutex
	parts []pfs.Range // ascending
}

func (f *fetched) set(parts []pfs.Range) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parts = parts
}

func (f *fetched) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	parts := f.parts
	f.mu.Unlock()
	// The last part that begins at off or before.
	i, found := slices.BinarySearchFunc(parts, off, func(r pfs.Range, off int64) int { return cmp.Compare(r.Off, off) })
	if !found {
		i--
	}
	if i >= 0 && off+int64(len(p)) <= parts[i].Off+int64(len(parts[i].Data)) {
		return copy(p, parts[i].Data[off-parts[i].Off:]), nil
	}
	return f.ReaderAt.ReadAt(p, off)
}
