package main

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/recordio"
)

// countingFS counts opens and reads.
type countingFS struct {
	pfs.FileSystem

	mu    sync.Mutex
	opens map[pfs.Path]int
	bytes int64
}

func (c *countingFS) Open(ctx context.Context, p pfs.Path) (pfs.File, error) {
	f, err := c.FileSystem.Open(ctx, p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opens[p]++
	return &countingFile{f, c}, err
}

type countingFile struct {
	pfs.File
	fs *countingFS
}

func (f *countingFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(ctx, p, off)
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.fs.bytes += int64(n)
	return n, err
}

// In an order, each file is opened once and each chunk read once, not for every batch.
func TestOrderReadsEachChunkOnce(t *testing.T) {
	const records, files = 3 << 16, 4 // three batches that are ordered at once
	store := newHome(t)
	var size int64
	for i := range files {
		var file bytes.Buffer
		w := recordio.NewWriter(&file, recordio.WriterOptions{ChunkBytes: 64 << 10})
		for n := i; n < records; n += files {
			if err := w.Write(fmt.Appendf(nil, "%d", n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		size += int64(file.Len())
		pfstest.WriteFile(t, store, orderFile(i), file.Bytes())
	}
	for _, shuffle := range []string{"none", "global", "block:4:1"} {
		fsys := &countingFS{FileSystem: store, opens: map[pfs.Path]int{}}
		got := run(t, testMain(t, fsys, "dataset", "shard", "--shuffle", shuffle, "--trainers", "1", "--trainer", "0", "--read", "--payload", "raw",
			home+"/part-*"))
		if lines := bytes.Count([]byte(got.stdout), []byte("\n")); got.code != 0 || lines != records {
			t.Fatalf("%s: code %d, %d records, want %d: %s", shuffle, got.code, lines, records, got.stderr)
		}
		for i := range files {
			if n := fsys.opens[orderFile(i)]; n > 3 {
				t.Errorf("%s: %s was opened %d times, want 3 at most: to count, for its chunks, to read", shuffle, orderFile(i), n)
			}
		}
		if fsys.bytes > 2*size {
			t.Errorf("%s: %d bytes read of files of %d", shuffle, fsys.bytes, size)
		}
	}
}

func orderFile(i int) pfs.Path {
	return pfs.Path(home).Join(fmt.Sprintf("part-%05d-of-00004", i))
}
