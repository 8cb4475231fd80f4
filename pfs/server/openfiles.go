package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/wire"
)

const (
	// idleFile is how long a file stays open for the request of its next chunk.
	idleFile = time.Second
	// maxIdleFiles and maxIdleOfFile bound the files that are kept open, in all and of
	// one version of one file: a client reads a file by about so many requests at a
	// time.
	maxIdleFiles, maxIdleOfFile = 128, 4
)

// openFiles keeps files open between the requests of a client that reads them chunk by
// chunk. Opening a file again would cost requests to the cluster, and lose what was
// read ahead. An open file serves one request at a time, and only the chunk after its
// last one.
type openFiles struct {
	mu     sync.Mutex
	idle   []*openFile // the one that was used last at the end
	closed bool
}

// fileKey names one version of a file as one user sees it.
type fileKey struct {
	who     auth.Identity
	alias   string // of the current datacenter
	path    pfs.Path
	version string
}

// fileKey names a version of a file as the request's user sees it.
func (r *request) fileKey(name pfs.Path, version string) fileKey {
	return fileKey{r.id, r.Header.Get(wire.HeaderDatacenter), name, version}
}

// openFile is a file that is read from front to back.
type openFile struct {
	pfs.File
	key   fileKey
	files *openFiles
	at    int64 // where the next chunk begins
	more  bool  // is there, and was read up to there
	timer *time.Timer
}

// take returns an open file whose next chunk begins at off, or nil. The caller checks
// that the path of key still leads to that version.
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
	if spare := fs.keep(f); spare != nil {
		_ = spare.File.Close()
	}
}

// keep adds f and returns the file that has to be closed for that, nil if none has.
func (fs *openFiles) keep(f *openFile) *openFile {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed || !f.more || f.key.version == "" {
		return f
	}
	f.timer = time.AfterFunc(idleFile, func() { fs.expire(f) })
	fs.idle = append(fs.idle, f)
	if i := fs.tooMany(f.key); i >= 0 {
		spare := fs.idle[i]
		spare.timer.Stop()
		fs.remove(i)
		return spare
	}
	return nil
}

// tooMany returns the index of the oldest file of key, or of all, if more are kept than
// allowed, and else a negative one. fs.mu is held.
func (fs *openFiles) tooMany(key fileKey) int {
	oldest, n := -1, 0
	for i, f := range slices.Backward(fs.idle) {
		if f.key == key {
			oldest = i
			n++
		}
	}
	switch {
	case n > maxIdleOfFile:
		return oldest
	case len(fs.idle) > maxIdleFiles:
		return 0
	}
	return -1
}

// remove takes out number i. fs.mu is held.
func (fs *openFiles) remove(i int) { fs.idle = slices.Delete(fs.idle, i, i+1) }

// expire closes f, unless a request took it.
func (fs *openFiles) expire(f *openFile) {
	fs.mu.Lock()
	i := slices.Index(fs.idle, f)
	if i >= 0 {
		fs.remove(i)
	}
	fs.mu.Unlock()
	if i >= 0 {
		_ = pfs.Guard("server.expire", f.key.path, f.File.Close)
	}
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
	f.more = err == nil && f.at < f.Info().Size
	return n, err
}

// Close keeps the file for the next chunk, if there is one.
func (f *openFile) Close() error {
	f.files.put(f)
	return nil
}
