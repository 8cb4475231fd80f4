package hdfsfs

import (
	"context"
	"math"
	"net/http"
	"net/url"
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
	left, limited := f.room(ctx, name.Parent())
	need := size * int64(l.replicas)
	if !limited || need <= left {
		return nil
	}
	st, err := f.status(ctx, name)
	if err == nil && need <= left+st.Size*int64(l.replicas) {
		return nil // it takes the place of what is there
	}
	return pfs.Errorf(op, name, pfs.Quota, "the file has %d bytes, and the quota of its directory has %d left", size, max(0, left)/int64(l.replicas))
}

// room returns how many bytes, in all replicas, the nearest directory with a quota has
// left, from dir on upwards. The root, and what is above, is the administrator's.
func (f *FS) room(ctx context.Context, dir pfs.Path) (left int64, limited bool) {
	for ; dir != pfs.Root; dir = dir.Parent() {
		at := f.at(dir)
		if f.quotaless.has(at) {
			continue
		}
		sum, err := f.summary(ctx, at)
		switch {
		case ctx.Err() != nil:
			return 0, false
		case err == nil && sum.SpaceQuota() > 0:
			return sum.SpaceQuota() - sum.SizeAfterReplication(), true
		default:
			f.quotaless.add(at)
		}
	}
	return 0, false
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
