package cachefs

import (
	"context"
	"errors"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Warmed tells how much of a file is cached.
type Warmed struct {
	Size   int64 `json:"size"`
	Cached int64 `json:"cached"`

	// Unread is the number of bytes of all files that Warm has fetched and that no program has opened since. If it
	// approaches Limit, the size of the cache, the next calls evict files that no program has read yet.
	Unread int64 `json:"unread"`
	Limit  int64 `json:"limit"`
}

// A call of Warm takes about warmTime, with up to warmBlocks requests for a file at a time.
const (
	warmTime   = time.Second
	warmBlocks = 16
)

// mostUnread bounds the list of files that were fetched by Warm and not opened since.
const mostUnread = 1 << 20

// Warm fetches the missing blocks of the version info of name. Requests of readers and of read-ahead take
// precedence. Warm returns after about a second; the caller repeats it until the file is cached.
func (f *FS) Warm(ctx context.Context, name pfs.Path, info pfs.Info) (Warmed, error) {
	const op = "cachefs.Warm"
	if !f.cacheable(info) {
		if info.IsRegular() && info.Size == 0 {
			return f.warmed(0, 0), nil
		}
		return Warmed{}, pfs.Errorf(op, name, pfs.Unsupported, "it cannot be cached: it has just been changed, or its store does not tell versions apart")
	}
	e := f.acquire(name, info)
	defer f.release(e)
	if e.disk == nil {
		return Warmed{}, pfs.Errorf(op, name, pfs.NoSpace, "the cache in %s cannot be used", e.dir.top)
	}
	e.readers.Add(1) // else the requests are given up
	defer e.readers.Add(-1)
	end := time.Now().Add(warmTime)
	var running []*fetch
	var err error
	for b := 0; b < len(e.states) && err == nil && time.Now().Before(end); b++ {
		w := e.want(ctx, int64(b), background)
		if w == nil {
			continue
		}
		f.unreadAdd(e.key, info.Size)
		if running = append(running, w); len(running) == warmBlocks {
			err = e.awaitWarm(ctx, running[0])
			running = running[1:]
		}
	}
	for _, w := range running {
		err = errors.Join(err, e.awaitWarm(ctx, w))
	}
	var cached int64
	for b := range e.states {
		if e.states[b].Load() == good {
			cached += e.length(int64(b))
		}
	}
	return f.warmed(info.Size, cached), err
}

// awaitWarm returns the error of a fetch that Warm waits for.
func (e *entry) awaitWarm(ctx context.Context, w *fetch) error {
	select {
	case <-w.done:
	case <-ctx.Done():
		return pfs.CheckContext(ctx, "cachefs.Warm", e.name)
	}
	switch {
	case errors.Is(w.err, errAgain):
		return nil
	case errors.Is(w.err, errPassed):
		return pfs.Errorf("cachefs.Warm", e.name, pfs.NoSpace, "the cache in %s has no room for it", e.dir.top)
	}
	return w.err
}

// warmed completes a result.
func (f *FS) warmed(size, cached int64) Warmed {
	w := Warmed{Size: size, Cached: cached}
	for _, d := range f.dirs {
		w.Limit += d.limit
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Unread = f.unreadBytes
	return w
}

// unreadAdd notes that Warm fetches a file.
func (f *FS) unreadAdd(key string, size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, again := f.unread[key]; again {
		return
	}
	if len(f.unread) >= mostUnread {
		clear(f.unread)
		f.unreadBytes = 0
	}
	f.unread[key] = size
	f.unreadBytes += size
}

// unreadTake notes that a program opens a file.
func (f *FS) unreadTake(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unreadBytes -= f.unread[key]
	delete(f.unread, key)
}
