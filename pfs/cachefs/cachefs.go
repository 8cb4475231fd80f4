package cachefs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Options are the options of New. The zero value of each field but Dirs has a default.
type Options struct {
	// Dirs are the cache directories, on one disk each. They are made if they are missing.
	Dirs []string

	// Size bounds the bytes of all directories together; 0 means a tenth of their disks.
	Size int64

	// Reserve is how many free bytes each disk keeps; 0 means a twentieth of it.
	Reserve int64

	// Identity names the store, such as the URL of its service. Mounts that share a
	// directory share content only if their identities are equal.
	Identity string

	// User is the account that reads. Files that are not Public are cached only for this account.
	User string

	// Public reports whether every account may read name. nil means that none is public.
	Public func(name pfs.Path) bool

	// Requests is the number of concurrent requests, 32 by default.
	Requests int

	// Memory bounds the buffers, in bytes. The default is 128 MiB, or a quarter of the
	// process's control group if that is less.
	Memory int64

	// Settle is how long a file must be unchanged before it is cached, 2 s by default, because
	// two changes within one tick of a store's clock have the same time. Less than 0 means that
	// files are cached at once.
	Settle time.Duration

	Logger *slog.Logger // default: discard
}

// FS is a file system with a cache. Its operations are those of the file system below.
type FS struct {
	*pfs.Layer
	below pfs.FileSystem
	opts  Options
	dirs  []*dir
	boot  bootID
	queue *queue
	slow  latency
	stats stats

	ctx    context.Context // done after Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	buffers chan []byte // of blockSize, not used now
	batches bool        // below is a pfs.BatchReader

	mu      sync.Mutex
	closed  bool
	entries map[string]*entry
	folders map[pfs.Path]*folder

	unread      map[string]int64 // sizes of the files that Warm has fetched, until they are opened; by key
	unreadBytes int64
}

type stats struct{ hit, missed, fetched, ahead, wasted, passed, hedged atomic.Int64 }

// Status has the size and the counters of a cache.
type Status struct {
	Dirs  []DirStatus `json:"dirs"`
	Files int         `json:"open_files"`

	Hit     int64 `json:"hit_bytes"`       // read from the disk at once
	Missed  int64 `json:"missed_bytes"`    // read after waiting for the store
	Passed  int64 `json:"passed_bytes"`    // read from the store past the cache
	Fetched int64 `json:"fetched_bytes"`   // that came from the store into the cache
	Ahead   int64 `json:"ahead_blocks"`    // requested before a reader did
	Wasted  int64 `json:"wasted_blocks"`   // of these, not read before their file was closed
	Hedged  int64 `json:"hedged_requests"` // sent a second time
	Unread  int64 `json:"unread_bytes"`    // of files that Warm has fetched and no program has opened since
}

// DirStatus describes one cache directory.
type DirStatus struct {
	Path    string `json:"path"`
	Used    int64  `json:"used_bytes"`
	Limit   int64  `json:"limit_bytes"`
	Evicted int64  `json:"evicted_files"`
	Failing bool   `json:"failing"`
}

// New returns fsys with a cache. A directory that others can change answers Permission. A directory
// that cannot be used for another reason is tried again later.
func New(fsys pfs.FileSystem, opts Options) (*FS, error) {
	const op = "cachefs.New"
	if len(opts.Dirs) == 0 {
		return nil, pfs.Errorf(op, "", pfs.Invalid, "no cache directory")
	}
	if opts.Requests <= 0 {
		opts.Requests = 32
	}
	if opts.Memory <= 0 {
		opts.Memory = memoryBudget()
	}
	opts.Memory = max(opts.Memory, 2*blockSize) // one request, and a second one if it is slow
	if opts.Settle == 0 {
		opts.Settle = 2 * time.Second
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	f := &FS{
		below: fsys, opts: opts, boot: readBoot(), queue: newQueue(opts.Requests, opts.Memory),
		buffers: make(chan []byte, opts.Memory/blockSize), entries: map[string]*entry{}, folders: map[pfs.Path]*folder{}, unread: map[string]int64{},
	}
	_, f.batches = fsys.(pfs.BatchReader)
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.Layer = pfs.NewLayerWith(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		return call(fsys, name)
	}, pfs.Hooks{Open: f.open})
	for _, top := range opts.Dirs {
		d := &dir{
			top: top, path: filepath.Join(top, layoutVersion+"-"+strconv.Itoa(os.Getuid())),
			limit: opts.Size / int64(len(opts.Dirs)), reserve: opts.Reserve, log: opts.Logger, kick: make(chan struct{}, 1),
		}
		err := d.prepare()
		if errors.Is(err, errRefused) {
			f.cancel()
			f.closeDirs()
			return nil, pfs.E(op, "", pfs.Permission, err)
		}
		if err != nil {
			d.fail(err)
		}
		total, _, _ := diskSpace(existing(d.path))
		if opts.Size == 0 {
			d.limit = total / 10
		}
		if opts.Reserve == 0 {
			d.reserve = total / 20
		}
		f.dirs = append(f.dirs, d)
	}
	for _, d := range f.dirs {
		f.work.Go(func() { d.evictor(f.ctx) })
		f.work.Go(func() { d.scrubber(f.ctx) })
	}
	return f, nil
}

// Close ends background work. Open files then pass their reads to the store.
func (f *FS) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.work.Wait()
	f.closeDirs()
	return nil
}

func (f *FS) closeDirs() {
	for _, d := range f.dirs {
		d.close()
	}
}

// Status returns the size of the cache, and its counters since New.
func (f *FS) Status() Status {
	f.mu.Lock()
	s := Status{Files: len(f.entries), Unread: f.unreadBytes}
	f.mu.Unlock()
	s.Hit, s.Missed, s.Passed, s.Fetched = f.stats.hit.Load(), f.stats.missed.Load(), f.stats.passed.Load(), f.stats.fetched.Load()
	s.Ahead, s.Wasted, s.Hedged = f.stats.ahead.Load(), f.stats.wasted.Load(), f.stats.hedged.Load()
	for _, d := range f.dirs {
		d.mu.Lock()
		s.Dirs = append(s.Dirs, DirStatus{d.top, d.used.Load(), d.limit, d.evicted.Load(), d.failing})
		d.mu.Unlock()
	}
	return s
}

// open implements Open. It opens the file of the store, so that the store checks the access and
// returns the current version.
func (f *FS) open(ctx context.Context, below pfs.FileSystem, name pfs.Path) (pfs.File, error) {
	src, err := below.Open(ctx, name)
	if err != nil || !f.cacheable(src.Info()) {
		return src, err
	}
	e := f.acquire(name, src.Info())
	e.offer(src)
	return f.newFile(ctx, e, src.Info()), nil
}

// OpenInfo is Open without a request to the store, for a caller that knows the Info of name from
// Stat or List. Blocks that are cached are then read even if the store cannot be reached. If the
// file has changed since, reads of other blocks answer Conflict. The caller has checked that the
// user may read name.
func (f *FS) OpenInfo(ctx context.Context, name pfs.Path, info pfs.Info) (pfs.File, error) {
	const op = "cachefs.OpenInfo"
	if !f.cacheable(info) {
		return f.Open(ctx, name)
	}
	if err := pfs.CheckPath(op, name); err != nil {
		return nil, err
	}
	if err := pfs.CheckContext(ctx, op, name); err != nil {
		return nil, err
	}
	return f.newFile(ctx, f.acquire(name, info), info), nil
}

// cacheable reports whether a version can be distinguished from others.
func (f *FS) cacheable(info pfs.Info) bool {
	if !info.IsRegular() || info.Version == "" || info.Size <= 0 || f.ctx.Err() != nil {
		return false
	}
	changed := info.ModTime
	if info.ChangeTime.After(changed) {
		changed = info.ChangeTime
	}
	age := time.Since(changed)
	return age >= f.opts.Settle || f.opts.Settle < 0 || age < -time.Hour // a user has set a time in the future
}

// acquire returns the entry of a version. The caller releases it.
func (f *FS) acquire(name pfs.Path, info pfs.Info) *entry {
	sub := subOf(f.opts.User)
	if f.opts.Public != nil && f.opts.Public(name) {
		sub = "public"
	}
	sum := keyHash(fmt.Sprintf("%q %q %q %d %d", f.opts.Identity, name, info.Version, info.Size, info.ModTime.UnixNano()))
	key := hex.EncodeToString(sum[:])
	f.mu.Lock()
	e := f.entries[key]
	if e == nil {
		e = &entry{
			fs: f, name: name, info: info, key: key, dir: f.dirs[int(sum[15])%len(f.dirs)], sub: sub,
			fetches: map[int64]*fetch{}, opening: make(chan struct{}, 1),
		}
		f.entries[key] = e
	}
	e.refs++
	f.mu.Unlock()
	e.learn(info)
	e.once.Do(e.openDisk)
	return e
}

// release gives an entry back.
func (f *FS) release(e *entry) {
	f.mu.Lock()
	e.refs--
	last := e.refs == 0
	if last {
		delete(f.entries, e.key)
	}
	f.mu.Unlock()
	if last {
		e.close()
	}
}

// existing returns the deepest directory of path that exists.
func existing(path string) string {
	for path != filepath.Dir(path) {
		if _, err := os.Stat(path); err == nil {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}

// keyHash returns 128 bits of SHA-256.
func keyHash(s string) [16]byte {
	sum := sha256.Sum256([]byte(s))
	return [16]byte(sum[:])
}
