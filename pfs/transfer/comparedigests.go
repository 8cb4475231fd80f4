package transfer

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// smallDigester is a file system that computes the digests of many small files at little more
// than the price of reading them.
type smallDigester interface {
	// DigestSmall returns the XXH3 digest of the stored bytes of each file, or "" for one that only
	// pfs.Digester can tell of.
	DigestSmall(ctx context.Context, names []pfs.Path) []string
}

const (
	maxCompared      = 128      // files of one group
	maxComparedBytes = 64 << 10 // of one file
)

// compareLater hands an item to the comparers, in one group with others of its directory if its
// digest is computed with theirs.
func (r *run) compareLater(ctx context.Context, it *item) {
	_, small := it.source.FS.(smallDigester)
	if !small || it.dir == nil || it.info.Digest != "" || it.info.Size > maxComparedBytes {
		r.putGroup(ctx, []*item{it})
		return
	}
	it.dir.group = append(it.dir.group, it)
	if len(it.dir.group) >= maxCompared {
		r.compareGroup(ctx, it.dir)
	}
}

// compareGroup hands the group of d to the comparers.
func (r *run) compareGroup(ctx context.Context, d *directory) {
	if len(d.group) > 0 {
		r.putGroup(ctx, d.group)
	}
	d.group = nil
}

func (r *run) putGroup(ctx context.Context, group []*item) {
	select {
	case r.compare <- group:
	case <-ctx.Done():
		for _, it := range group {
			r.release(ctx, it)
		}
	}
}

// compareItems finds out which items of a group need a copy.
func (r *run) compareItems(ctx context.Context, group []*item) {
	if fsys, ok := group[0].source.FS.(smallDigester); ok && len(group) > 1 && ctx.Err() == nil {
		names := make([]pfs.Path, len(group))
		for i, it := range group {
			names[i] = it.source.Path
		}
		_ = pfs.Guard("transfer.compare", group[0].name, func() error {
			for i, sum := range fsys.DigestSmall(ctx, names) {
				group[i].info.Digest = sum
			}
			return nil
		})
	}
	for _, it := range group {
		if ctx.Err() != nil {
			r.release(ctx, it)
			continue
		}
		r.guard(it.name, it.target.Path, func() { r.compareItem(ctx, it) })
	}
}

// same reports whether the files of an item, which have one size, have one digest.
func (j *Job) same(ctx context.Context, it *item) (bool, error) {
	theirs, err := j.digestOf(ctx, it.target, it.old)
	if err != nil {
		return false, err
	}
	ours, err := j.digestOf(ctx, it.source, it.info)
	return err == nil && ours == theirs, err
}

// kept reports whether info has the digest by which files are compared.
func kept(info pfs.Info) bool { return digest.Algorithm(info.Digest) == digest.XXH3 }

// digestOf returns the XXH3 digest of a file: the stored one, or one computed by the store, or one
// computed here.
func (j *Job) digestOf(ctx context.Context, e End, info pfs.Info) (string, error) {
	// Listings of an older service have no digests. A Stat costs less than reading a
	// large file.
	if info.Digest == "" && info.Size > maxSmall {
		var err error
		if info, err = j.stat(ctx, e); err != nil {
			return "", err
		}
	}
	if kept(info) {
		return info.Digest, nil
	}
	return j.compute(ctx, e, digest.XXH3, nil)
}

// compute returns the digest of the stored bytes of a file. progress may be nil.
func (j *Job) compute(ctx context.Context, e End, algorithm string, progress func(done int64)) (sum string, err error) {
	if d, ok := e.FS.(pfs.Digester); ok {
		err = j.retry(ctx, e.Path, func(ctx context.Context) error {
			sum, err = d.Digest(ctx, e.Path, algorithm, progress)
			return err
		})
		if !errors.Is(err, pfs.Unsupported) {
			return sum, err
		}
	}
	err = j.retry(ctx, e.Path, func(ctx context.Context) error {
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
