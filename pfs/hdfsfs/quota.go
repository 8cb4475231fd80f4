package hdfsfs

import (
	"context"
	"errors"
	"math"
	"path"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"google.golang.org/protobuf/proto"
)

// Staged bytes do not count against the target's quota, so the NameNode would refuse a file only
// at Commit, after all of it was sent. Create therefore checks the remaining quota first.

// quotaless is how long a directory is assumed to have no quota after the NameNode reported none
// or gave no answer. The question is expensive: the NameNode counts the whole tree for it.
const quotaless = time.Hour

// maxQuotaless bounds the directories in withoutQuota.
const maxQuotaless = 10_000

// withoutQuota caches which directories have no quota.
type withoutQuota struct {
	mu    sync.Mutex
	until map[string]time.Time // by path in HDFS
}

// has reports whether the directory at is known to have no quota.
func (w *withoutQuota) has(at string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Before(w.until[at])
}

// add records that the directory at has no quota.
func (w *withoutQuota) add(at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.until == nil || len(w.until) >= maxQuotaless {
		w.until = map[string]time.Time{}
	}
	w.until[at] = time.Now().Add(quotaless)
}

// forget removes the directory at, which may have a quota now.
func (w *withoutQuota) forget(at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.until, at)
}

// checkQuota returns Quota if a file of size bytes at name would exceed a quota. If the user may
// not count the directory, or the answer is late, only Commit finds out.
func (f *FS) checkQuota(ctx context.Context, op string, name pfs.Path, size int64, l layout) error {
	dir, limit, used := f.nearestQuota(ctx, name.Parent())
	if limit == 0 || l.stored(size) <= limit-used {
		return nil
	}
	if st, err := f.status(ctx, name); err == nil {
		size -= st.Size // the new file replaces this one
	}
	if l.stored(size) <= limit-used {
		return nil
	}
	replicas := int64(l.replicas)
	return pfs.E(op, name, pfs.Quota, &pfs.OverQuota{Dir: dir.Base(), Limit: limit / replicas, Used: used / replicas, Need: size})
}

// nearestQuota returns the nearest directory with a quota of bytes, from dir upwards, with the quota and
// its use in all block replicas. The limit is 0 if there is none. Quotas of the root and above are the
// administrator's concern and not checked.
func (f *FS) nearestQuota(ctx context.Context, dir pfs.Path) (_ pfs.Path, limit, used int64) {
	for ; dir != pfs.Root; dir = dir.Parent() {
		at := f.at(dir)
		if f.quotaless.has(at) {
			continue
		}
		sum, err := f.summary(ctx, at)
		switch {
		case ctx.Err() != nil:
			return dir, 0, 0
		case err == nil && sum.GetSpaceQuota() > 0:
			return dir, sum.GetSpaceQuota(), int64(sum.GetSpace())
		default:
			f.quotaless.add(at)
		}
	}
	return dir, 0, 0
}

// quotaWords matches the NameNode's message about an exceeded quota, such as "The DiskSpace quota of /d
// is exceeded: quota = 4194304 B = 4 MB but diskspace consumed = 6291456 B = 6 MB".
var quotaWords = regexp.MustCompile(`quota.* of (?:directory )?(/.*) is exceeded: quota ?= ?(\d+).* (?:count|consumed) ?= ?(\d+)`)

// enforced parses the NameNode's error about an exceeded quota: dir is the limited directory in HDFS,
// and would is the use that was refused.
func enforced(err error) (dir string, files bool, limit, would int64, ok bool) {
	var remote *rpc.RemoteError
	if !errors.As(err, &remote) {
		return "", false, 0, 0, false
	}
	switch remote.Class {
	case nameQuotaException:
		files = true
	case spaceQuotaException:
	default:
		return "", false, 0, 0, false
	}
	m := quotaWords.FindStringSubmatch(remote.Text)
	if m == nil {
		return "", false, 0, 0, false
	}
	limit, lerr := strconv.ParseInt(m[2], 10, 64)
	would, werr := strconv.ParseInt(m[3], 10, 64)
	return m[1], files, limit, would, lerr == nil && werr == nil && limit > 0
}

// overQuota adds the remaining quota to an error about an exceeded one. It returns other errors unchanged.
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

// quotaUsage returns how much of its quotas a directory in HDFS uses: names, and bytes in all block
// replicas. A NameNode that has no answer at hand counts the whole tree.
func (f *FS) quotaUsage(ctx context.Context, dir string) (names, space int64, err error) {
	var answer hdfsproto.GetQuotaUsageResponse
	err = f.ask(ctx, "getQuotaUsage", &hdfsproto.PathRequest{Path: &dir}, &answer, rpc.Idempotent)
	if !is(err, pfs.Unsupported) {
		return int64(answer.Usage.GetNames()), int64(answer.Usage.GetSpace()), err
	}
	sum, err := f.summary(ctx, dir)
	return int64(sum.GetFiles() + sum.GetDirectories()), int64(sum.GetSpace()), err
}

// SetQuota sets the HDFS quotas of the directory name. It needs the rights of a superuser.
func (f *FS) SetQuota(ctx context.Context, name pfs.Path, maxBytes, maxFiles int64) error {
	const op = "hdfsfs.SetQuota"
	if err := f.check(ctx, op, name); err != nil {
		return err
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
	at := f.at(name)
	// The directory itself counts as a name.
	request := &hdfsproto.SetQuotaRequest{Path: &at, Quota: proto.Int64(quota(maxFiles, 1, 1)), SpaceQuota: proto.Int64(quota(maxBytes, replicas, 0))}
	return fail(op, name, f.tell(ctx, "setQuota", request, rpc.Idempotent))
}

// quota returns a limit as HDFS expects it; -1 removes the quota.
func quota(limit, times, more int64) int64 {
	if limit == 0 {
		return -1
	}
	if limit > (math.MaxInt64-more)/times-1 {
		return math.MaxInt64 - 1
	}
	return limit*times + more
}
