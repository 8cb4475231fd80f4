package localfs

import (
	"context"
	"runtime"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// Digest computes a digest from the bytes on the disk, not from a stored digest.
func (f *FS) Digest(ctx context.Context, name pfs.Path, algorithm string, progress func(done int64)) (string, error) {
	const op = "localfs.Digest"
	r, err := f.openFile(ctx, op, name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	d, err := digest.OfFile(ctx, r, algorithm, runtime.GOMAXPROCS(0), progress)
	return d, fail(op, name, err)
}

// smallFile is the size up to which DigestSmall reads a file.
const smallFile = 64 << 10

// DigestSmall returns the XXH3 digest of the bytes on the disk of each file. It returns "" for a
// file that is not small or cannot be read; Digest reports why. Consecutive files of one directory
// cost little more than their bytes.
func (f *FS) DigestSmall(ctx context.Context, names []pfs.Path) []string {
	sums := make([]string, len(names))
	buf := make([]byte, smallFile)
	for first, end := 0, 0; first < len(names); first = end {
		parent := names[first].Parent()
		for end < len(names) && names[end].Parent() == parent {
			end++
		}
		_ = f.in(ctx, "localfs.Digest", parent, func(d dir) error {
			return pfs.InTurn(ctx, func() error {
				for i := first; i < end; i++ {
					sums[i] = f.digestSmall(d, lastName(names[i]), buf)
				}
				return nil
			})
		})
	}
	return sums
}

func (f *FS) digestSmall(d dir, base string, buf []byte) string {
	st, err := f.look(d, base)
	if err != nil || !st.mode.IsRegular() || st.size > int64(len(buf)) {
		return ""
	}
	n, err := d.readFile(base, buf[:st.size])
	if err != nil || int64(n) < st.size {
		return ""
	}
	return digest.Bytes(buf[:n])
}
