package pfs

import (
	"context"
	"sync"
	"sync/atomic"
)

// readers is the number of files of a batch that are read at a time.
const readers = 16

// BatchFile is one small file of ReadBatch.
type BatchFile struct {
	Path Path
	Data []byte // filled with the content; its length is the expected length of the file
	Info Info   // of the version that was read
}

// BatchReader reads many small files for little more than the price of one. It saves round trips,
// so only clients implement it; a Layer does not.
type BatchReader interface {
	// ReadBatch reads each file whole into its Data and sets its Info. It returns one error
	// a file, in order; nil means that the file was read.
	//
	// A file whose length is not that of Data answers Conflict. So does a file that changed
	// during the read, unless it has a stored digest, with which the reader can tell.
	ReadBatch(ctx context.Context, files []BatchFile) []error
}

// ReadBatch reads the files, several at a time if fsys is not a BatchReader.
// len(errs) == len(files). A panic of a store fails only the file that it occurred at. After
// readers unreachable files in a row, ReadBatch does not try the rest: each could take as long
// as the store's timeout.
func ReadBatch(ctx context.Context, fsys FileSystem, files []BatchFile) (errs []error) {
	if c, ok := fsys.(BatchReader); ok {
		return c.ReadBatch(ctx, files)
	}
	errs = make([]error, len(files))
	each("pfs.ReadBatch", len(files), func(i int) Path { return files[i].Path },
		func(i int) error { return readWhole(ctx, fsys, &files[i]) },
		func(i int, err error) { errs[i] = err })
	return errs
}

// each calls read for each of n items of a batch, readers at a time, and result with its error.
func each(op string, n int, name func(i int) Path, read func(i int) error, result func(i int, err error)) {
	var next, vain atomic.Int64
	var work sync.WaitGroup
	for range min(readers, n) {
		work.Go(func() {
			for i := int(next.Add(1) - 1); i < n; i = int(next.Add(1) - 1) {
				if n := vain.Load(); n >= readers {
					result(i, Errorf(op, name(i), Unavailable, "not tried, because %d others could not be reached", n))
					continue
				}
				err := Guard(op, name(i), func() error { return read(i) })
				if result(i, err); temporary(err) {
					vain.Add(1)
				} else {
					vain.Store(0)
				}
			}
		})
	}
	work.Wait()
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
