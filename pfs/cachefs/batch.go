package cachefs

import (
	"context"
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

const (
	smallFile  = 1 << 20 // the longest file that is read ahead together with others of its directory
	batchFiles = 32
)

// member is one file of a batch.
type member struct {
	e *entry
	f *fetch
}

// fetchFiles brings small files of a directory into the cache, several with one request where the
// file system below can do that.
func (f *FS) fetchFiles(ctx context.Context, dirName pfs.Path, infos []pfs.Info) {
	var batch []pfs.Info
	var size int64
	for _, info := range infos {
		if len(batch) == batchFiles || size+info.Size > blockSize || !f.batches && len(batch) > 0 {
			f.fetchBatch(ctx, dirName, batch, size)
			batch, size = nil, 0
		}
		batch, size = append(batch, info), size+info.Size
	}
	if len(batch) > 0 {
		f.fetchBatch(ctx, dirName, batch, size)
	}
}

// fetchBatch begins to fetch the files that are neither cached nor being fetched. size is the total
// length of the files.
func (f *FS) fetchBatch(ctx context.Context, dirName pfs.Path, infos []pfs.Info, size int64) {
	var shared *ticket
	var members []member
	enter := func() *ticket {
		if shared == nil {
			shared = f.queue.enter(prefetch, size)
		}
		return shared
	}
	for _, info := range infos {
		e := f.acquire(dirName.Join(info.Name), info)
		if e.disk != nil && e.dir.begin(info.Size) {
			if got, run := e.claim(0, prefetch, enter); run {
				members = append(members, member{e, got})
			} else {
				e.dir.end(info.Size)
			}
		}
		f.release(e)
	}
	if len(members) == 0 {
		return
	}
	f.stats.ahead.Add(int64(len(members)))
	go func() {
		ctx, cancel := f.detach(ctx)
		defer cancel()
		errs := f.readMembers(ctx, shared, members)
		for i, m := range members {
			m.e.dir.end(m.e.info.Size)
			m.e.finished(m.f, 0, errs[i])
		}
	}()
}

// readMembers reads the members and puts them into the cache.
func (f *FS) readMembers(ctx context.Context, t *ticket, members []member) []error {
	errs := make([]error, len(members))
	if f.queue.wait(ctx, t) != nil {
		for i := range errs {
			errs[i] = errPassed
		}
		return errs
	}
	defer f.queue.leave(t)
	var files []pfs.BatchFile
	var at []int
	for i, m := range members {
		if !m.e.check(0) {
			files = append(files, pfs.BatchFile{Path: m.e.name, Data: make([]byte, m.e.info.Size)})
			at = append(at, i)
		}
	}
	if !f.batches && len(files) == 1 {
		e := members[at[0]].e
		err := pfs.Guard("cachefs.readMembers", e.name, func() error { return e.read(ctx, files[0].Data, 0) })
		if err == nil {
			err = members[at[0]].fill(f, files[0].Data)
		}
		errs[at[0]] = err
		return errs
	}
	for k, err := range f.readBatch(ctx, files) {
		e := members[at[k]].e
		switch {
		case err == nil && !e.is(files[k].Info) || errors.Is(err, pfs.Conflict):
			err = errAgain // it changed since it was listed: readers look again
		case err == nil:
			e.learn(files[k].Info)
			err = members[at[k]].fill(f, files[k].Data)
		}
		errs[at[k]] = err
	}
	return errs
}

// fill checks the content of the file and puts it into the cache.
func (m member) fill(f *FS, p []byte) error {
	sum := digest.Leaf(p)
	if err := m.e.checkOnly(sum); err != nil {
		return err
	}
	m.f.publish(p)
	defer m.f.release(f)
	return m.e.fill(0, p, sum)
}

// readBatch reads files with one request, or a single one.
func (f *FS) readBatch(ctx context.Context, files []pfs.BatchFile) (errs []error) {
	if len(files) == 0 {
		return nil
	}
	err := pfs.Guard("cachefs.readBatch", files[0].Path, func() error {
		errs = pfs.ReadBatch(ctx, f.below, files)
		return nil
	})
	if err != nil {
		errs = make([]error, len(files))
		for i := range errs {
			errs[i] = err
		}
	}
	return errs
}
