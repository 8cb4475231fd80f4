// Package recordfile opens files of records on any file system, and streams. It reads ahead on
// remote file systems, uses the index beside a file, and compares shards with their manifest.
package recordfile

import (
	"context"
	"errors"
	"io"

	"github.com/paddlecloud/pfs/internal/tempfile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// File names a file of a file system, or a stream that can be read once.
type File struct {
	Title  string       // its name in messages
	End    transfer.End // not of a stream
	Stream io.Reader    // nil for a file
	Remote bool         // the file is on the network: Open reads ahead

	Listed *pfs.Info // its Info from a directory listing; nil if unknown
	Stated *Stated   // nil unless it is a shard of a dataset
}

// Stated is the description of a shard in its manifest.
type Stated struct {
	Bytes, Records int64
	Dataset        string // the name of the dataset in messages
	Payload        string // how its records are encoded
}

// DatasetError reports a shard that differs from its manifest.
type DatasetError struct {
	Dataset string
	Err     error
}

func (e *DatasetError) Error() string { return e.Err.Error() }
func (e *DatasetError) Unwrap() error { return e.Err }

func (s *Stated) differs(e transfer.End, n int64, one, many string, want int64) error {
	if n == 1 {
		many = one
	}
	return &DatasetError{s.Dataset, pfs.Errorf("recordfile.Open", e.Path, pfs.Integrity, "the shard has %d %s, the manifest says %d", n, many, want)}
}

// OfSize returns an error unless the shard at e has the given size. A nil Stated, for a file
// without a manifest, accepts any size.
func (s *Stated) OfSize(e transfer.End, bytes int64) error {
	if s == nil || bytes == s.Bytes {
		return nil
	}
	return s.differs(e, bytes, "byte", "bytes", s.Bytes)
}

// OfRecords is OfSize for the number of records.
func (s *Stated) OfRecords(e transfer.End, records int64) error {
	if s == nil || records == s.Records {
		return nil
	}
	return s.differs(e, records, "record", "records", s.Records)
}

// Meter receives the progress of reading. Its methods are safe for concurrent use.
type Meter interface {
	Begin(title string) // this file is read now
	Add(bytes int64)
	Finished() // one more file
	End()      // no more is read; a second call does nothing
}

// NoMeter shows nothing.
type NoMeter struct{}

func (NoMeter) Begin(string) {}
func (NoMeter) Add(int64)    {}
func (NoMeter) Finished()    {}
func (NoMeter) End()         {}

type meteredReader struct {
	r io.Reader
	m Meter
}

func (r *meteredReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.m.Add(int64(n))
	return n, err
}

// Input is an open File. It reads one version of the file: if that is replaced meanwhile,
// reads go on with the old one or answer Conflict.
type Input struct {
	File
	io.Reader // from the beginning to the end, once; counted by the meter

	// ReaderAt reads at random, as io.ReaderAt does; nil for a stream that is not kept.
	ReaderAt io.ReaderAt

	Size   int64    // -1 for a stream
	Info   pfs.Info // of the version that is open; zero for a stream
	Opened pfs.File // nil for a stream
	stop   func()   // ends the reading ahead

	fetched *fetched // of a remote file: the ReaderAt, which Prefetch fills
}

// ErrNotRegular is why a pipe, a device and the like are not opened by their names.
var ErrNotRegular = errors.New("not a regular file")

// Open opens f. m, which may be nil, counts the bytes read through Input.Reader.
func Open(ctx context.Context, f File, m Meter) (*Input, error) {
	if m == nil {
		m = NoMeter{}
	}
	if f.Stream != nil {
		r, stop := stoppable(ctx, f.Stream)
		return &Input{File: f, Reader: &meteredReader{r, m}, Size: -1, stop: stop}, nil
	}
	end, info, err := f.End.Follow(ctx)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, pfs.E("recordfile.Open", f.End.Path, pfs.IsDir, nil)
	case !info.IsRegular():
		return nil, pfs.E("recordfile.Open", f.End.Path, pfs.Invalid, ErrNotRegular)
	}
	file, err := end.FS.Open(ctx, end.Path)
	if err != nil {
		return nil, err
	}
	f.End = end
	in := &Input{File: f, Info: file.Info(), Size: file.Info().Size, Opened: file, stop: func() {}}
	at := pfs.NewReader(ctx, file)
	in.Reader, in.ReaderAt = &meteredReader{at, m}, at
	if f.Remote {
		ahead := transfer.NewReadAhead(ctx, file, 0, in.Size)
		in.Reader, in.stop = &meteredReader{ahead, m}, ahead.Stop
		in.fetched = &fetched{ReaderAt: at}
		in.ReaderAt = in.fetched
	}
	return in, nil
}

// Keep reads all of a stream into a temporary file, so that it can be read at random
// until Close. After an error in is closed.
func (in *Input) Keep() error {
	file, err := tempfile.New()
	if err != nil {
		in.stop()
		return err
	}
	stop := in.stop
	in.stop = func() { stop(); file.Close() } // a file that cannot be removed stays in the temporary directory
	if in.Size, err = io.Copy(file, in.Reader); err != nil {
		in.stop()
		return err
	}
	in.Reader, in.ReaderAt = io.NewSectionReader(file, 0, in.Size), file
	return nil
}

// Close ends the use of the file.
func (in *Input) Close() error {
	in.stop()
	if in.Opened == nil {
		return nil
	}
	return in.Opened.Close()
}

// IsDir reports whether f is a directory or a link to one.
func (f File) IsDir(ctx context.Context) (bool, error) {
	switch {
	case f.Stream != nil:
		return false, nil
	case f.Listed != nil && !f.Listed.IsLink():
		return f.Listed.IsDir(), nil
	}
	_, info, err := f.End.Follow(ctx)
	return info.IsDir(), err
}

// LeadsTo reports whether f is e, or both lead to the same file.
func (f File) LeadsTo(ctx context.Context, e transfer.End) bool {
	if f.Stream != nil || f.End.FS != e.FS {
		return false
	}
	if f.End.Path == e.Path {
		return true
	}
	a, _, errA := f.End.Follow(ctx)
	b, _, errB := e.Follow(ctx)
	return errA == nil && errB == nil && a.Path == b.Path // a missing file equals none
}

// SizeOf returns the total size of all files, or -1 if one is a stream. Files whose size is not
// available count as 0: opening them reports the error.
func SizeOf(ctx context.Context, files []File) int64 {
	total := int64(0)
	for _, f := range files {
		if f.Stream != nil {
			return -1
		}
		if _, info, err := f.End.Follow(ctx); err == nil {
			total += info.Size
		}
	}
	return total
}

// ReadSmall reads at most the first most bytes of a file.
func ReadSmall(ctx context.Context, fsys pfs.FileSystem, name pfs.Path, most int64) (text []byte, err error) {
	const tries = 10 // of a file that is replaced while it is read
	for range tries {
		if text, err = readSmall(ctx, fsys, name, most); !errors.Is(err, pfs.Conflict) {
			break
		}
	}
	return text, err
}

func readSmall(ctx context.Context, fsys pfs.FileSystem, name pfs.Path, most int64) ([]byte, error) {
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, min(most, f.Info().Size))
	return text, pfs.ReadFull(ctx, f, text, 0)
}
