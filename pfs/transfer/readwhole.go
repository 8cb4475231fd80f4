package transfer

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// errOdd says that a small file is not what its directory said.
var errOdd = errors.New("not what was listed")

// readWhole reads a file of len(p) bytes and returns its digest and description. It
// fails if the file has another length, is damaged, or changed meanwhile.
func (j *Job) readWhole(ctx context.Context, source End, p []byte) (sum string, info pfs.Info, err error) {
	f, err := source.FS.Open(ctx, source.Path)
	if err != nil {
		return "", info, err
	}
	defer f.Close()
	info = f.Info()
	if info.Size != int64(len(p)) {
		return "", info, errOdd
	}
	if err := pfs.ReadFull(ctx, f, p, 0); err != nil {
		return "", info, err
	}
	sum = digest.Bytes(p)
	if digest.Algorithm(info.Digest) == digest.XXH3 {
		if sum != info.Digest {
			return "", info, errOdd
		}
		return sum, info, nil // the bytes are what was stored: that is the version
	}
	now, err := source.FS.Stat(ctx, source.Path)
	if err == nil && !sameVersion(info, now) {
		err = errOdd
	}
	return sum, info, err
}
