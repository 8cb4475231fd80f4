package pfs

import (
	"context"
	"sync"
	"sync/atomic"
)

// readers is how many files of a batch are read at one time.
const readers = 16

// BatchFile is one small file of ReadBatch.
type BatchFile struct {
	Path Path
	Data []byte // as long as the file is taken to be; its content is put here
	Info Info   // of the version that was read
}

// BatchReader reads many small files for little more than the price of one. It is for
// clients, which save round trips: a Layer has none to save and leaves it to ReadBatch.
type BatchReader interface {
	// ReadBatch reads each file whole into its Data and describes it in its Info. The
	// errors stand in the order of the files, nil for those that were read.
	//
	// A file of another length than its Data answers Conflict, and so does one that
	// changed meanwhile, unless it has a kept digest, which tells the reader.
	ReadBatch(ctx context.Context, files []BatchFile) []error
}

// ReadBatch reads the files, some at a time where fsys is no BatchReader.
// len(errs) == len(files). A panic of a store's code fails the one file that it was met at.
// When as many files in a row as are read at one time could not be reached, the rest is not
// asked for: each could take as long as the store's timeout.
func ReadBatch(ctx context.Context, fsys FileSystem, files []BatchFile) (errs []error) {
	if c, ok := fsys.(BatchReader); ok {
		return c.ReadBatch(ctx, files)
	}
	errs = make([]error, len(files))
	var next, vain atomic.Int64
	var work sync.WaitGroup
	for range min(readers, len(files)) {
		work.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				if n := vain.Load(); n >= readers {
					errs[i] = Errorf("pfs.ReadBatch", files[i].Path, Unavailable, "not asked for, since %d others could not be reached", n)
					continue
				}
				errs[i] = Guard("pfs.ReadBatch", files[i].Path, func() error { return readWhole(ctx, fsys, &files[i]) })
				if temporary(errs[i]) {
					vain.Add(1)
				} else {
					vain.Store(0)
				}
			}
		})
	}
	work.Wait()
	return errs
}

// readWhole reads one file of a batch with the core operations.
func readWhole(ctx context.Context, fsys FileSystem, b *BatchFile) error {
	const op = "pfs.ReadBatch"
	f, err := fsys.Open(ctx, b.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	b.Info = f.Info()
	if b.Info.Size != int64(len(b.Data)) {
		return Errorf(op, b.Path, Conflict, "the file has %d bytes now, not %d", b.Info.Size, len(b.Data))
	}
	if err := ReadFull(ctx, f, b.Data, 0); err != nil || b.Info.Digest != "" {
		return err
	}
	now, err := fsys.Stat(ctx, b.Path)
	if err == nil && b.Info.Version != now.Version {
		err = Errorf(op, b.Path, Conflict, "the file changed while it was read")
	}
	return err
}
