package server

import (
	"context"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

const (
	// idleFile is how long a file stays open for the request of its next chunk.
	idleFile = time.Second
	// mostIdleFiles and mostIdleOfFile bound the files that wait for one, in all and of
	// one version of one file: who reads it by several requests at a time has about so
	// many.
	mostIdleFiles, mostIdleOfFile = 128, 4
)

// openFiles keeps files open between the requests of somebody who reads them chunk by
// chunk. Opening costs a store questions to its cluster, and what was read ahead is lost
// with the file. Each is used by one request at a time, and goes on where it was.
type openFiles struct {
	mu     sync.Mutex
	idle   []*openFile // the one that was used last at the end
	closed bool
}

// fileKey names one version of a file as somebody sees it.
type fileKey struct {
	who     auth.Identity
	alias   string // of the current datacenter
	path    pfs.Path
	version string
}

// openFile is a file that is read from front to back.
type openFile struct {
	pfs.File
	key   fileKey
	files *openFiles
	at    int64 // where the next chunk begins
	over  bool  // nobody goes on there
	timer *time.Timer
}

// take returns a file that is at off, nil if none is. Whoever takes it finds out whether
// key's path still leads to that version.
func (fs *openFiles) take(key fileKey, off int64) *openFile {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for i, f := range fs.idle {
		if f.key == key && f.at == off && f.timer.Stop() {
			fs.remove(i)
			return f
		}
	}
	return nil
}

// put keeps f for a while, or closes it.
func (fs *openFiles) put(f *openFile) {
	for _, f := range fs.keep(f) {
		_ = f.File.Close()
	}
}

// keep adds f and returns those that have to be closed for that.
func (fs *openFiles) keep(f *openFile) (spare []*openFile) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed || f.over || f.key.version == "" {
		return []*openFile{f}
	}
	f.timer = time.AfterFunc(idleFile, func() { fs.expire(f) })
	fs.idle = append(fs.idle, f)
	first, of := 0, 0
	for i, other := range fs.idle {
		if other.key == f.key {
			if of++; of == 1 {
				first = i
			}
		}
	}
	if of <= mostIdleOfFile {
		first = 0
	}
	if of > mostIdleOfFile || len(fs.idle) > mostIdleFiles {
		oldest := fs.idle[first]
		oldest.timer.Stop()
		fs.remove(first)
		spare = append(spare, oldest)
	}
	return spare
}

// remove takes out number i. fs.mu is held.
func (fs *openFiles) remove(i int) { fs.idle = append(fs.idle[:i], fs.idle[i+1:]...) }

// expire closes f, which nobody took.
func (fs *openFiles) expire(f *openFile) {
	fs.mu.Lock()
	for i, other := range fs.idle {
		if other == f {
			fs.remove(i)
			fs.mu.Unlock()
			_ = f.File.Close()
			return
		}
	}
	fs.mu.Unlock()
}

// closeAll closes what is kept; nothing is kept from then on.
func (fs *openFiles) closeAll() {
	fs.mu.Lock()
	idle := fs.idle
	fs.idle, fs.closed = nil, true
	fs.mu.Unlock()
	for _, f := range idle {
		f.timer.Stop()
		_ = f.File.Close()
	}
}

// ReadAt notes how far it came.
func (f *openFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(ctx, p, off)
	f.at = off + int64(n)
	f.over = err != nil || f.at >= f.Info().Size
	return n, err
}

// Close keeps the file for the next chunk, if there is one.
func (f *openFile) Close() error {
	f.files.put(f)
	return nil
}
