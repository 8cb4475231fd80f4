package transfer

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// CopyFile copies one file, as pfs.Copier does, but between any two file systems: the
// service copies between two of its stores with it. progress, if not nil, is called now
// and then with the bytes done so far. opts.ID, if not empty, replaces the ID that the
// job would choose. Whether to replace, and which time to set, is in opts alone.
func (j *Job) CopyFile(ctx context.Context, source, target End, opts pfs.CopyOptions, progress func(done int64)) (pfs.Info, error) {
	j.spend(ctx)
	c := &fileCopy{upload: newUpload(j, source.Path, target), source: source, opts: opts, plainMode: j.opts.NewMode, progress: progress}
	j.count.files.Add(1)
	j.count.complete.Store(true)
	info, err := c.run(ctx)
	if err != nil {
		j.count.failed.Add(1)
		return info, err
	}
	j.count.filesDone.Add(1)
	return info, nil
}
