package server

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// idleUpload is how long an upload stays open without a request. After
	// that it is suspended, and opened again when one comes.
	idleUpload = time.Minute
	// maxUploads bounds the uploads held open; the least recently used one
	// that is idle is suspended first.
	maxUploads = 1024
)

// uploadCache holds the open uploads.
type uploadCache struct {
	openCache[uploadKey, *upload]
}

func newUploadCache() *uploadCache {
	return &uploadCache{openCache[uploadKey, *upload]{life: idleUpload, most: maxUploads, close: (*upload).finish}}
}

// finish ends the use of the staged write. What it loses is found when it is opened again.
func (u *upload) finish() {
	if u.ended {
		_ = u.staged.Close(context.Background()) // nothing of it is left but the handle
		return
	}
	_ = u.staged.Suspend(context.Background())
}

// acquire returns the upload of key, opening it if it is not open. Call release when
// the request is done.
func (us *uploadCache) acquire(key uploadKey, open func() (pfs.Staged, error)) (*upload, error) {
	if u, ok := us.find(key); ok {
		return u, nil
	}
	staged, err := open()
	if err != nil {
		return nil, err
	}
	return us.begin(key, staged), nil
}

// begin returns the upload of key over staged, or, if requests are at work on it
// already, the one that they use. What an idle one knew of its chunks goes with it: it is
// suspended, and what it loses then nobody learns. Call release when the request is done.
func (us *uploadCache) begin(key uploadKey, staged pfs.Staged) *upload {
	u := &upload{kept: kept[uploadKey]{key: key}, staged: staged}
	us.mu.Lock()
	u.staging = us.stagingOf(key, staged)
	u, spare := us.put(u, true)
	us.mu.Unlock()
	us.closeEach(spare)
	return u
}

// stagingOf returns the staging of the upload to be opened under key. us.mu is held.
func (us *uploadCache) stagingOf(key uploadKey, staged pfs.Staged) *staging {
	identity := pfs.IdentityOf(staged)
	for _, u := range us.open {
		if u.key.id == key.id && u.identity == identity && (u.key != key || u.users > 0) {
			return u.staging
		}
	}
	return newStaging(identity)
}

// end forgets u, which was committed or discarded by a request that still uses it, and
// the other uploads of its staging. The next requests for those open them again, and
// find them gone if they were the same staged write.
func (us *uploadCache) end(u *upload) {
	us.mu.Lock()
	u.ended = true
	spare := us.drop(u, nil)
	for _, other := range us.open {
		if other.staging == u.staging {
			spare = us.drop(other, spare)
		}
	}
	us.mu.Unlock()
	us.closeEach(spare)
}

// suspendBelow suspends the uploads below dir that no request uses now. dir is a path
// as clients wrote it.
func (us *uploadCache) suspendBelow(dir pfs.Path) {
	us.dropIdle(func(key uploadKey) bool { return key.path.Within(dir) })
}
