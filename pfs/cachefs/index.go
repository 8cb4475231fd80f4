package cachefs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

const (
	magic      = "pfscache"
	headerSize = 64
	sumSize    = int64(len(pfs.LeafDigest{}))

	dataSuffix, indexSuffix = ".data", ".index"

	// attrName is the extended attribute of a data file of one block that replaces the index: a
	// second file would double the price of a small one. It holds a bootID and a checksum.
	attrName = "user.pfs"
	attrSize = 32
)

// header begins an index. It binds the index to its data file, in case only one of them was
// removed by others.
type header struct {
	size int64
	data fileID
	boot bootID // when every block in the index was known to be right
}

// bootID identifies a run of the system.
type bootID [16]byte

func (h header) encode() []byte {
	p := append(make([]byte, 0, headerSize), magic...)
	p = binary.LittleEndian.AppendUint64(p, uint64(h.size))
	p = binary.LittleEndian.AppendUint64(p, h.data.inode)
	p = binary.LittleEndian.AppendUint64(p, uint64(h.data.born))
	p = append(p, h.boot[:]...)
	sum := digest.Leaf(p)
	return append(p, sum[:]...)
}

// decodeHeader returns false for bytes that encode did not make.
func decodeHeader(p []byte) (h header, ok bool) {
	const sumAt = headerSize - 16
	if len(p) != headerSize || string(p[:8]) != magic || digest.Leaf(p[:sumAt]) != pfs.LeafDigest(p[sumAt:]) {
		return h, false
	}
	h.size = int64(binary.LittleEndian.Uint64(p[8:]))
	h.data.inode = binary.LittleEndian.Uint64(p[16:])
	h.data.born = int64(binary.LittleEndian.Uint64(p[24:]))
	h.boot = bootID(p[32:48])
	return h, true
}

// disk is an open file of the cache. Its data file has a shared lock until close.
type disk struct {
	data  *os.File
	index *os.File // nil if the data file has an attribute in place of it
	head  header
	sums  []pfs.LeafDigest // as the index had them when it was opened; zero if the block is missing
}

// openDisk opens or makes the file with that path, without suffix, for content of size bytes.
func openDisk(path string, size int64, boot bootID) (*disk, error) {
	var err error
	for range 8 { // against other processes that evict or make the file
		var k *disk
		k, err = tryOpenDisk(path, size, boot)
		switch {
		case err == nil && k != nil:
			return k, nil
		case errors.Is(err, fs.ErrNotExist): // the directory of a sixteenth of the files
			if made := os.Mkdir(filepath.Dir(path), 0o700); made != nil && !errors.Is(made, fs.ErrExist) {
				return nil, err
			}
		case err != nil:
			return nil, err
		}
	}
	return nil, errors.Join(fmt.Errorf("%s: other processes remove or change it all the time", path), err)
}

// tryOpenDisk returns nil and no error if it must be tried again.
func tryOpenDisk(path string, size int64, boot bootID) (k *disk, err error) {
	data, err := os.OpenFile(path+dataSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	k = &disk{data: data}
	ready := false
	defer func() {
		if err != nil || !ready {
			k.close()
			k = nil
		}
	}()
	if err := lock(data, false); err != nil {
		return k, err
	}
	is, err := describe(data)
	switch {
	case err != nil:
		return k, err
	case is.links == 0:
		return k, nil // evicted meanwhile
	case is.size != size && is.size != 0:
		return k, os.Remove(data.Name())
	}
	fresh := header{size, is.id, boot}
	if pfs.Leaves(size) == 1 {
		ready, err = k.openAttr(fresh, is.size == 0)
	}
	if err == nil && is.size == 0 {
		if err = os.Remove(path + indexSuffix); err == nil || errors.Is(err, fs.ErrNotExist) {
			err = data.Truncate(size) // now that no checksum of an emptied file is left
		}
	}
	if err == nil && !ready {
		ready, err = k.openIndex(path+indexSuffix, fresh)
	}
	if err == nil && time.Since(is.modified).Abs() > time.Minute { // in the future if the clock was set back
		now := time.Now() // the time of the last use
		_ = os.Chtimes(data.Name(), now, now)
	}
	return k, err
}

// openAttr reads the attribute of a data file of one block, and removes it if the file is empty. It
// returns false where the disk has no attributes.
func (k *disk) openAttr(fresh header, empty bool) (bool, error) {
	boot, sum, err := readAttr(k.data)
	if empty && err == nil && sum != (pfs.LeafDigest{}) {
		sum, err = pfs.LeafDigest{}, removeAttr(k.data)
	}
	if err != nil {
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
		return false, err
	}
	k.head, k.sums = fresh, []pfs.LeafDigest{sum}
	if sum != (pfs.LeafDigest{}) {
		k.head.boot = boot
	}
	return true, nil
}

// readAttr returns zeros if f has no attribute that setAttr made.
func readAttr(f *os.File) (boot bootID, sum pfs.LeafDigest, err error) {
	var p [attrSize + 1]byte
	n, err := getXattr(f, attrName, p[:])
	if err == nil && n == attrSize {
		boot, sum = bootID(p[:16]), pfs.LeafDigest(p[16:attrSize])
	}
	return boot, sum, err
}

// setAttr writes the attribute for sum.
func (k *disk) setAttr(sum pfs.LeafDigest) error {
	return setXattr(k.data, attrName, slices.Concat(k.head.boot[:], sum[:]))
}

// openIndex opens the index, or makes one with the header fresh. It returns false if it must be tried
// again.
func (k *disk) openIndex(name string, fresh header) (bool, error) {
	index, err := os.OpenFile(name, os.O_RDWR, 0)
	made := errors.Is(err, fs.ErrNotExist)
	if made {
		index, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	p := make([]byte, headerSize+pfs.Leaves(fresh.size)*sumSize)
	if made {
		copy(p, fresh.encode())
		_, err = index.WriteAt(p, 0)
	} else {
		_, err = index.ReadAt(p, 0)
	}
	head, ok := decodeHeader(p[:headerSize])
	if err != nil || !ok || head.size != fresh.size || head.data != fresh.data {
		// Unfinished by a process that has ended, damaged, or of another data file. If a process
		// still writes to it, only that process's progress is lost.
		_ = index.Close()
		if removed := os.Remove(name); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			return false, removed
		}
		if made {
			return false, err
		}
		return false, nil
	}
	k.index, k.head = index, head
	k.sums = make([]pfs.LeafDigest, pfs.Leaves(head.size))
	for b := range k.sums {
		k.sums[b] = pfs.LeafDigest(p[headerSize+int64(b)*sumSize:])
	}
	return true, nil
}

// sum returns the checksum of a block as the index has it now.
func (k *disk) sum(b int64) (sum pfs.LeafDigest, err error) {
	if k.index == nil {
		_, sum, err = readAttr(k.data)
		return sum, err
	}
	_, err = k.index.ReadAt(sum[:], headerSize+b*sumSize)
	return sum, err
}

// read fills p with content. It bypasses the page cache for large files: their readers keep the bytes in memory, or the
// kernel reads the file itself the next time, with larger pages.
func (k *disk) read(p []byte, off int64) error {
	if len(k.sums) > 1 {
		if done, err := readUncached(k.data, p, off); done {
			return err
		}
	}
	_, err := k.data.ReadAt(p, off)
	return err
}

// fill writes a block and then its checksum.
func (k *disk) fill(b int64, p []byte, sum pfs.LeafDigest) error {
	// A large file would fill the page cache twice, and wait for its dirty pages.
	if len(p) < blockSize || writeDirect(k.data, p, b*blockSize) != nil {
		if _, err := k.data.WriteAt(p, b*blockSize); err != nil {
			return err
		}
	}
	if k.index == nil {
		return k.setAttr(sum)
	}
	_, err := k.index.WriteAt(sum[:], headerSize+b*sumSize)
	return err
}

// checked records that every block in the index is right in this run of the system.
func (k *disk) checked(boot bootID) error {
	k.head.boot = boot
	if k.index == nil {
		sum, err := k.sum(0)
		if err == nil {
			err = k.setAttr(sum)
		}
		return err
	}
	_, err := k.index.WriteAt(k.head.encode(), 0)
	return err
}

// forget removes all checksums.
func (k *disk) forget() error {
	if k.index == nil {
		return removeAttr(k.data)
	}
	size := headerSize + int64(len(k.sums))*sumSize
	return errors.Join(k.index.Truncate(headerSize), k.index.Truncate(size))
}

// remove removes the files. Processes that have them open can still read them.
func (k *disk) remove() error {
	return removeFiles(k.data.Name()[:len(k.data.Name())-len(dataSuffix)])
}

// removeFiles removes the index first, because data without an index is not used.
func removeFiles(path string) error {
	if err := os.Remove(path + indexSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Remove(path + dataSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// close closes the files and drops the lock.
func (k *disk) close() {
	_ = k.data.Close() // nothing is written behind: a failed write is a block that fails its check
	if k.index != nil {
		_ = k.index.Close()
	}
}
