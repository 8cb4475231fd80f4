package transfer

import (
	"encoding/hex"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// maxBesides bounds the entries in the tables of a job.
const maxBesides = 256 << 10

// besides is a table of directory entries, so that further windows need no further listing of the
// directory. All entries are added before the first lookup. An entry takes about 90 bytes.
type besides struct {
	room    *semaphore.Weighted // entries of all tables of the job
	entries []compactInfo
	sorted  bool
}

// compactInfo is the part of a pfs.Info that a comparison needs.
type compactInfo struct {
	name   pfs.LeafDigest // a 128-bit hash of the name, without collisions in practice
	mtime  time.Time
	size   int64
	mode   fs.FileMode
	target string
	digest pfs.LeafDigest // of an XXH3 digest; 0: none
}

// add adds an entry, or returns false if the memory is used up.
func (b *besides) add(info pfs.Info) bool {
	if !b.room.TryAcquire(1) {
		return false
	}
	c := compactInfo{name: digest.Leaf([]byte(info.Name)), mtime: info.ModTime, size: info.Size, mode: info.Mode, target: info.Target}
	if sum, ok := strings.CutPrefix(info.Digest, digest.XXH3+":"); ok && len(sum) == hex.EncodedLen(len(c.digest)) {
		if _, err := hex.Decode(c.digest[:], []byte(sum)); err != nil {
			c.digest = pfs.LeafDigest{}
		}
	}
	b.entries = append(b.entries, c)
	return true
}

// find returns the entry of that name.
func (b *besides) find(name string) (info pfs.Info, ok bool) {
	if !b.sorted {
		slices.SortFunc(b.entries, func(x, y compactInfo) int { return compareHashes(x.name, y.name) })
		b.sorted = true
	}
	i, ok := slices.BinarySearchFunc(b.entries, digest.Leaf([]byte(name)), func(c compactInfo, h pfs.LeafDigest) int {
		return compareHashes(c.name, h)
	})
	if !ok {
		return pfs.Info{}, false
	}
	c := b.entries[i]
	info = pfs.Info{Name: name, ModTime: c.mtime, Size: c.size, Mode: c.mode, Target: c.target}
	if c.digest != (pfs.LeafDigest{}) {
		info.Digest = digest.XXH3 + ":" + hex.EncodeToString(c.digest[:])
	}
	return info, true
}

// drop releases the table.
func (b *besides) drop() {
	if b != nil {
		b.room.Release(int64(len(b.entries)))
		b.entries = nil
	}
}
