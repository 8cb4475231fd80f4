package transfer

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// same reports whether the files of an item, which have one size, have one digest.
func (j *Job) same(ctx context.Context, it *item) (bool, error) {
	theirs, err := j.digestOf(ctx, it.target, it.old)
	if err != nil {
		return false, err
	}
	ours, err := j.digestOf(ctx, it.source, it.info)
	return err == nil && ours == theirs, err
}

// digestOf returns the XXH3 digest of a file: the one that the store keeps, or else
// one computed where the bytes are, or else here.
func (j *Job) digestOf(ctx context.Context, e End, info pfs.Info) (string, error) {
	// Listings of an older service have no digests. A Stat costs less than reading a
	// large file.
	if info.Digest == "" && info.Size > maxSmall {
		var err error
		if info, err = j.stat(ctx, e); err != nil {
			return "", err
		}
	}
	if digest.Algorithm(info.Digest) == digest.XXH3 {
		return info.Digest, nil
	}
	return j.compute(ctx, e, digest.XXH3, nil)
}

// compute returns the digest of the bytes of a file as they are stored now. progress
// may be nil.
func (j *Job) compute(ctx context.Context, e End, algorithm string, progress func(done int64)) (sum string, err error) {
	if d, ok := e.FS.(pfs.Digester); ok {
		err = j.retryTemporary(ctx, e.Path, func() error {
			sum, err = d.Digest(ctx, e.Path, algorithm, progress)
			return err
		})
		if !errors.Is(err, pfs.Unsupported) {
			return sum, err
		}
	}
	err = j.retry(ctx, e.Path, func() error {
		sum, err = j.readDigest(ctx, e, algorithm, progress)
		return err
	})
	return sum, err
}

// readDigest reads a file for its digest, as many leaves at a time as there is
// memory for.
func (j *Job) readDigest(ctx context.Context, e End, algorithm string, progress func(done int64)) (string, error) {
	f, err := e.FS.Open(ctx, e.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := j.pool.reserve(ctx); err != nil {
		return "", err
	}
	defer j.pool.cancel()
	jobs := 1
	for int64(jobs) < min(int64(j.opts.Parallel), pfs.Leaves(f.Info().Size)) && j.pool.tryReserve() {
		defer j.pool.cancel()
		jobs++
	}
	return digest.OfFile(ctx, f, algorithm, jobs, progress)
}
