package hdfsfs

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// What is staged lies outside the directory whose quota it will count for: the NameNode
// refuses it when it is published, after all of it was sent. So Create asks before.

// quotaless is how long a directory is taken to have no quota after the NameNode said so,
// or did not say: it counts all that is below for that.
const quotaless = time.Hour

// maxQuotaless bounds the directories that are remembered.
const maxQuotaless = 10_000

// withoutQuota remembers directories that have no quota of their own.
type withoutQuota struct {
	mu    sync.Mutex
	until map[string]time.Time // by path in HDFS
}

// has reports whether the directory is known to have no quota.
func (w *withoutQuota) has(at string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Before(w.until[at])
}

// add notes that the directory has none.
func (w *withoutQuota) add(at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.until == nil || len(w.until) >= maxQuotaless {
		w.until = map[string]time.Time{}
	}
	w.until[at] = time.Now().Add(quotaless)
}

// forget notes that the directory may have one.
func (w *withoutQuota) forget(at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.until, at)
}

// checkRoom answers Quota if a file of size bytes has no room as name. Who may not count the
// directory, and who gets no answer in time, learns at Commit.
func (f *FS) checkRoom(ctx context.Context, op string, name pfs.Path, size int64, l layout) error {
	dir, limit, used := f.room(ctx, name.Parent())
	replicas := int64(l.replicas)
	if limit == 0 || size*replicas <= limit-used {
		return nil
	}
	if st, err := f.status(ctx, name); err == nil {
		size -= st.Size // it takes the place of what is there
	}
	if size*replicas <= limit-used {
		return nil
	}
	return pfs.E(op, name, pfs.Quota, &pfs.OverQuota{Dir: dir.Base(), Limit: limit / replicas, Used: used / replicas, Need: size})
}

// room finds the nearest directory with a limit of bytes, from dir on upwards, and what is used of it, in
// all replicas. Without one the limit is 0. The root, and what is above, is the administrator's.
func (f *FS) room(ctx context.Context, dir pfs.Path) (_ pfs.Path, limit, used int64) {
	for ; dir != pfs.Root; dir = dir.Parent() {
		at := f.at(dir)
		if f.quotaless.has(at) {
			continue
		}
		sum, err := f.summary(ctx, at)
		switch {
		case ctx.Err() != nil:
			return dir, 0, 0
		case err == nil && sum.SpaceQuota() > 0:
			return dir, sum.SpaceQuota(), sum.SizeAfterReplication()
		default:
			f.quotaless.add(at)
		}
	}
	return dir, 0, 0
}

// quotaWords matches what a NameNode says that enforces a limit, such as "The DiskSpace quota of /d
// is exceeded: quota = 4194304 B = 4 MB but diskspace consumed = 6291456 B = 6 MB".
var quotaWords = regexp.MustCompile(`quota.* of (?:directory )?(/.*) is exceeded: quota ?= ?(\d+).* (?:count|consumed) ?= ?(\d+)`)

// enforced parses the error of a NameNode about a limit: dir is the limited directory in HDFS, and
// would is what it would hold.
func enforced(err error) (dir string, files bool, limit, would int64, ok bool) {
	var remote remoteError
	if !errors.As(err, &remote) {
		return "", false, 0, 0, false
	}
	switch remote.Exception() {
	case nameQuotaException:
		files = true
	case spaceQuotaException:
	default:
		return "", false, 0, 0, false
	}
	m := quotaWords.FindStringSubmatch(remote.Message())
	if m == nil {
		return "", false, 0, 0, false
	}
	limit, lerr := strconv.ParseInt(m[2], 10, 64)
	would, werr := strconv.ParseInt(m[3], 10, 64)
	return m[1], files, limit, would, lerr == nil && werr == nil && limit > 0
}

// overQuota adds to an error about a limit how much is left of it. It returns other errors as they are.
func (f *FS) overQuota(ctx context.Context, err error) error {
	dir, files, limit, would, ok := enforced(err)
	if !ok {
		return err
	}
	names, space, uerr := f.service.quotaUsage(ctx, dir)
	replicas, rerr := f.replication(ctx)
	switch {
	case uerr != nil || rerr != nil:
		return err
	case files: // the directory itself counts as a name
		return pfs.E("hdfsfs.overQuota", "", pfs.Quota, &pfs.OverQuota{Dir: path.Base(dir), Files: true, Limit: limit - 1, Used: names - 1, Need: would - names})
	}
	return pfs.E("hdfsfs.overQuota", "", pfs.Quota, &pfs.OverQuota{Dir: path.Base(dir), Limit: limit / replicas, Used: space / replicas, Need: (would - space) / replicas})
}

// quotaUsage returns what a directory in HDFS uses of its limits: names, and bytes in all replicas.
// Without WebHDFS the NameNode counts all that is below.
func (f *FS) quotaUsage(ctx context.Context, dir string) (names, space int64, err error) {
	if f.hasWeb() {
		var reply struct {
			QuotaUsage struct{ FileAndDirectoryCount, SpaceConsumed int64 }
		}
		err = f.web(ctx, webCall{method: http.MethodGet, op: "GETQUOTAUSAGE", path: dir, repeat: idempotent}, &reply)
		if err == nil {
			return reply.QuotaUsage.FileAndDirectoryCount, reply.QuotaUsage.SpaceConsumed, nil
		}
	}
	sum, err := f.summary(ctx, dir)
	if err != nil {
		return 0, 0, err
	}
	return int64(sum.FileCount()) + int64(sum.DirectoryCount()), sum.SizeAfterReplication(), nil
}

// SetQuota limits the tree below name, by HDFS's own quotas. It needs WebHDFS, and the
// rights of a superuser.
func (f *FS) SetQuota(ctx context.Context, name pfs.Path, maxBytes, maxFiles int64) error {
	const op = "hdfsfs.SetQuota"
	if err := f.check(ctx, op, name); err != nil {
		return err
	}
	if !f.hasWeb() {
		return fail(op, name, errWebOff)
	}
	replicas, err := f.replication(ctx)
	if err != nil {
		return fail(op, name, err)
	}
	st, err := f.status(ctx, name)
	switch {
	case err != nil:
		return f.placeError(ctx, op, name, err)
	case !st.IsDir():
		return pfs.E(op, name, pfs.NotDir, nil)
	}
	defer f.quotaless.forget(f.at(name))
	// The directory itself counts as a name.
	q := url.Values{"namespacequota": {quota(maxFiles, 1, 1)}, "storagespacequota": {quota(maxBytes, replicas, 0)}}
	return fail(op, name, f.web(ctx, webCall{method: http.MethodPut, op: "SETQUOTA", path: f.at(name), query: q, repeat: idempotent}, nil))
}

// quota is a limit as HDFS has it; -1 lifts it.
func quota(limit, times, more int64) string {
	if limit == 0 {
		return "-1"
	}
	if limit > (math.MaxInt64-more)/times-1 {
		return strconv.FormatInt(math.MaxInt64-1, 10)
	}
	return strconv.FormatInt(limit*times+more, 10)
}
