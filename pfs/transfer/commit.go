package transfer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// commit publishes the staged bytes and checks that the target is the published file.
func (c *fileCopy) commit(ctx context.Context) (pfs.Info, error) {
	opts := pfs.CommitOptions{
		Size: c.info.Size, Mode: c.info.Mode, ModTime: c.info.ModTime,
		Digest: c.digest, NoReplace: c.opts.NoReplace,
	}
	if c.plainMode {
		opts.Mode = 0
	}
	if c.opts.NewTime {
		opts.ModTime = time.Time{}
	}
	info, err := c.j.commit(ctx, c.staged, c.target, opts)
	if err != nil {
		return info, &endError{err: err}
	}
	return info, nil
}

// commit publishes w as the file target and retries temporary errors.
func (j *Job) commit(ctx context.Context, w pfs.Staged, target End, opts pfs.CommitOptions) (info pfs.Info, err error) {
	tries := 0
	err = j.retry(ctx, target.Path, func(ctx context.Context) (err error) {
		tries++
		info, err = w.Commit(ctx, opts)
		return err
	})
	switch {
	case opts.NoReplace && errors.Is(err, pfs.Unsupported):
		return j.commitChecked(ctx, w, target, opts)
	case opts.NoReplace && errors.Is(err, pfs.Exist) && tries > 1:
		// It may exist because an earlier attempt succeeded and the answer was lost.
		if now, ok := j.published(ctx, target, opts.Size, opts.Digest); ok {
			return now, nil
		}
	}
	other := digest.Algorithm(info.Digest) == digest.XXH3 && info.Digest != opts.Digest
	if err == nil && (info.Size != opts.Size || other) {
		err = pfs.E("transfer.Copy", target.Path, pfs.Conflict, &overtaken{opts, info})
	}
	return info, err
}

// overtaken is the error if another writer replaced the file after it was published. It is a
// Conflict after which nothing is sent again.
type overtaken struct {
	ours pfs.CommitOptions
	now  pfs.Info
}

func (e *overtaken) Error() string {
	return fmt.Sprintf("%d bytes %s were published and %d bytes %s are there now: somebody else writes it too",
		e.ours.Size, e.ours.Digest, e.now.Size, e.now.Digest)
}

// commitChecked publishes if the target does not exist, for stores that cannot check and
// publish in one step. A file that appears in between is replaced.
func (j *Job) commitChecked(ctx context.Context, w pfs.Staged, target End, opts pfs.CommitOptions) (pfs.Info, error) {
	there, err := pfs.Exists(ctx, target.FS, target.Path)
	if err != nil {
		return pfs.Info{}, err
	}
	if there {
		return pfs.Info{}, pfs.E("transfer.Copy", target.Path, pfs.Exist, nil)
	}
	opts.NoReplace = false
	return j.commit(ctx, w, target, opts)
}

// published describes target, and reports whether it is a file of that size and
// digest.
func (j *Job) published(ctx context.Context, target End, size int64, sum string) (pfs.Info, bool) {
	now, err := target.FS.Stat(ctx, target.Path)
	return now, err == nil && now.Size == size && now.Digest == sum
}
