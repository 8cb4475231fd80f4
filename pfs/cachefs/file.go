package cachefs

import (
	"context"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
)

// File is an open file of an FS.
type File struct {
	e    *entry
	info pfs.Info
	seen atomic.Int64 // entry.damaged when ReadAt last looked

	mu     sync.Mutex
	users  int // calls of ReadAt
	closed bool
	ahead  sessions
}

func (f *FS) newFile(ctx context.Context, e *entry, info pfs.Info) *File {
	e.readers.Add(1)
	f.unreadTake(e.key)
	info.Name = e.name.Base()
	if info.Size <= smallFile {
		f.readFolder(ctx, e)
	}
	file := &File{e: e, info: info}
	file.seen.Store(e.damaged.Load())
	return file
}

// Info describes the version that this File reads.
func (f *File) Info() pfs.Info { return f.info }

// Local returns the file of the local disk that holds the whole content, or nil if not all of it
// is cached and checked. It is for reading, and open until Close.
func (f *File) Local() *os.File {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	return f.e.local()
}

// Close releases the file.
func (f *File) Close() error {
	f.mu.Lock()
	again := f.closed
	f.closed = true
	idle := f.users == 0
	f.mu.Unlock()
	if !again {
		f.e.readers.Add(-1)
		if !f.e.whole.Load() {
			f.e.fs.stats.wasted.Add(f.ahead.waste())
		}
		if idle {
			f.e.fs.release(f.e)
		}
	}
	return nil
}

// begin counts a call of ReadAt. It returns false after Close.
func (f *File) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.users++
	}
	return !f.closed
}

// end ends what begin began.
func (f *File) end() {
	f.mu.Lock()
	f.users--
	last := f.closed && f.users == 0
	f.mu.Unlock()
	if last {
		f.e.fs.release(f.e)
	}
}

// ReadAt reads from the cache, and reads missing blocks from the store.
func (f *File) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	const op = "cachefs.File.ReadAt"
	e := f.e
	if !f.begin() {
		return 0, pfs.E(op, e.name, pfs.Closed, nil)
	}
	defer f.end()
	if err := pfs.CheckRange(op, e.name, off, len(p)); err != nil {
		return 0, err
	}
	if err := pfs.CheckContext(ctx, op, e.name); err != nil {
		return 0, err
	}
	want := p[:max(0, min(int64(len(p)), f.info.Size-off))]
	for n < len(want) {
		at := off + int64(n)
		b := at / blockSize
		part := want[n:min(int64(len(want)), int64(n)+(b+1)*blockSize-at)]
		if e.disk == nil {
			part = want[n:]
		} else {
			f.readAhead(ctx, b)
		}
		err := e.readBlock(ctx, part, at, b)
		if found := e.damaged.Load(); f.seen.Swap(found) != found && err == nil {
			// A block that was read before the last one came may be wrong.
			err = pfs.Errorf(op, e.name, pfs.Integrity, "the blocks that were read do not match the digest of the file: read it again")
		}
		if err != nil {
			return n, err
		}
		n += len(part)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// readBlock fills p with bytes of block b.
func (e *entry) readBlock(ctx context.Context, p []byte, off, b int64) error {
	if e.disk != nil {
		count := &e.fs.stats.missed
		if e.states[b].Load() == good {
			count = &e.fs.stats.hit
		}
		cached, err := e.need(ctx, b, p, off)
		if err != nil {
			return err
		}
		if cached {
			count.Add(int64(len(p)))
			return nil
		}
	}
	e.fs.stats.passed.Add(int64(len(p)))
	return e.read(ctx, p, off)
}

// lose forgets a block that cannot be read from the disk.
func (e *entry) lose(b int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.proven = false
	if !e.whole.Swap(false) && e.states[b].Load() == good {
		e.remember(b, e.sums[b])
	}
	e.setState(b, missing)
}
