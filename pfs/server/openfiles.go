package server

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/wire"
)

const (
	// idleFile is how long a file stays open for the request of its next chunk.
	idleFile = time.Second
	// maxIdleFiles bounds the files that are kept open.
	maxIdleFiles = 128
)

// openFiles keeps files open between the requests of a client that reads them chunk by chunk.
// Reopening a file would cost requests to the cluster and lose its read-ahead. An open file
// serves one request at a time, and only the chunk after its last one.
type openFiles struct {
	openCache[fileKey, *openFile]
}

func newOpenFiles() *openFiles {
	return &openFiles{openCache[fileKey, *openFile]{
		life: idleFile, most: maxIdleFiles, close: func(f *openFile) { _ = f.File.Close() },
	}}
}

// fileKey names one version of a file as one user sees it, read up to at.
type fileKey struct {
	who     auth.Identity
	alias   string // of the current datacenter
	path    pfs.Path
	version string
	at      int64 // where the next chunk begins
}

// fileKey names a version of a file as the request's user sees it.
func (r *request) fileKey(name pfs.Path, version string, at int64) fileKey {
	return fileKey{r.id, r.Header.Get(wire.HeaderDatacenter), name, version, at}
}

// openFile is a file that is read from front to back.
type openFile struct {
	kept[fileKey]
	pfs.File
	files *openFiles
	more  bool // the file goes on after key.at, and the last read succeeded
}

// take returns the open file of key, or nil. The caller checks that the path of key still
// leads to that version.
func (fs *openFiles) take(key fileKey) *openFile {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.open[key]
	if f == nil || f.users > 0 {
		return nil
	}
	fs.drop(f, nil)
	return f
}

// ReadAt records how far it read.
func (f *openFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(ctx, p, off)
	f.key.at = off + int64(n)
	f.more = err == nil && f.key.at < f.Info().Size
	return n, err
}

// Close keeps the file for the next chunk, if there is one.
func (f *openFile) Close() error {
	if !f.more || f.key.version == "" {
		return f.File.Close()
	}
	f.files.release(f.files.install(&openFile{kept: kept[fileKey]{key: f.key}, File: f.File, files: f.files}))
	return nil
}
