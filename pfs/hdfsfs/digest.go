package hdfsfs

import (
	"context"
	"net/http"
	"runtime"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// ChecksumAlgorithm is the store's own checksum as an algorithm of Digest: the MD5 over the blocks
// of the MD5s of the CRC-32C of their chunks. The text after ":" is the output of "hdfs dfs
// -checksum". The DataNodes answer from their stored checksums and read no data.
const ChecksumAlgorithm = "md5-of-md5-of-crc32c"

// Digest computes a digest from the stored bytes, never from a stored digest.
func (f *FS) Digest(ctx context.Context, name pfs.Path, algorithm string, progress func(done int64)) (string, error) {
	const op = "hdfsfs.Digest"
	if algorithm == ChecksumAlgorithm {
		return f.storeChecksum(ctx, op, name)
	}
	h, err := f.open(ctx, op, name)
	if err != nil {
		return "", err
	}
	defer h.Close()
	d, err := digest.OfFile(ctx, h, algorithm, runtime.GOMAXPROCS(0), progress)
	return d, fail(op, name, err)
}

// storeChecksum asks HDFS for its checksum of a file. It needs WebHDFS.
func (f *FS) storeChecksum(ctx context.Context, op string, name pfs.Path) (string, error) {
	st, err := f.look(ctx, op, name)
	switch {
	case err != nil:
		return "", err
	case st.IsDir():
		return "", pfs.E(op, name, pfs.IsDir, nil)
	}
	var reply struct {
		FileChecksum struct {
			Algorithm, Bytes string
			Length           int
		}
	}
	err = f.web(ctx, webCall{method: http.MethodGet, op: "GETFILECHECKSUM", path: inode(st.id), repeat: idempotent}, &reply)
	if err != nil {
		return "", fail(op, name, err)
	}
	sum := reply.FileChecksum
	if !strings.HasPrefix(sum.Algorithm, "MD5-of-") || !strings.HasSuffix(sum.Algorithm, "CRC32C") || len(sum.Bytes) < 2*sum.Length {
		return "", pfs.Errorf(op, name, pfs.Unsupported, "its checksum in HDFS is of another kind: %.80q", sum.Algorithm)
	}
	return ChecksumAlgorithm + ":" + sum.Bytes[:2*sum.Length], nil
}
