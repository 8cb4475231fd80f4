package cachefs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

const (
	scrubEvery = 24 * time.Hour
	scrubName  = "scrub"                // locked by the process that checks; its time is when that began
	scrubPause = 100 * time.Millisecond // after each block, so that readers have the disk
)

// scrubber checks the directory once a day until ctx is done. Only one of the processes that share the directory does this. If
// the last check seems to be a day in the future, the clock was set back, and a check is due.
func (d *dir) scrubber(ctx context.Context) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		f, err := os.OpenFile(filepath.Join(d.path, scrubName), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			continue
		}
		if is, err := describe(f); err == nil && (is.size == 0 || time.Since(is.modified).Abs() >= scrubEvery) && lock(f, true) == nil {
			if _, err := f.WriteAt([]byte{'1'}, 0); err == nil {
				d.scrub(ctx, scrubPause)
			}
		}
		_ = f.Close()
	}
}

// scrub compares every block in the directory with its checksum, and removes the files that have a
// wrong one. It returns their number.
func (d *dir) scrub(ctx context.Context, pause time.Duration) (removed int) {
	files, _ := d.scan(ctx)
	buf := make([]byte, blockSize)
	for _, f := range files {
		if ctx.Err() != nil {
			return removed
		}
		if right, err := checkFile(ctx, f.path, buf, pause); err == nil && !right && removeFiles(f.path) == nil {
			removed++
			d.log.Warn("a damaged file was removed from the cache; it is fetched again", "file", f.path)
		}
	}
	return removed
}

// checkFile reports whether the blocks of one file of the cache are right.
func checkFile(ctx context.Context, path string, buf []byte, pause time.Duration) (bool, error) {
	data, err := os.Open(path + dataSuffix)
	if err != nil {
		return false, err
	}
	defer data.Close()
	sums, err := os.ReadFile(path + indexSuffix)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, sum, none := readAttr(data)
		sums, err = sum[:], none
	case len(sums) < headerSize:
		return true, err // no process trusts it
	default:
		sums = sums[headerSize:]
	}
	if err != nil {
		return false, err
	}
	for b := int64(0); int64(len(sums)) >= sumSize; b, sums = b+1, sums[sumSize:] {
		sum := pfs.LeafDigest(sums)
		if sum == (pfs.LeafDigest{}) {
			continue
		}
		n, err := data.ReadAt(buf, b*blockSize)
		if err != nil && err != io.EOF || digest.Leaf(buf[:n]) != sum {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(pause):
		}
	}
	return true, nil
}
