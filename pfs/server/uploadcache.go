package server

import (
	"context"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// idleUpload is how long an upload stays open without a request. Then it is suspended;
	// the next request opens it again.
	idleUpload = time.Minute
	// maxUploads bounds the open uploads. Beyond it, the least recently used idle one is
	// suspended.
	maxUploads = 1024
)

// uploadCache holds the open uploads.
type uploadCache struct {
	openCache[uploadKey, *upload]
}

func newUploadCache() *uploadCache {
	return &uploadCache{openCache[uploadKey, *upload]{life: idleUpload, most: maxUploads, close: (*upload).finish}}
}

// finish closes or suspends the upload. The next request that opens it notices bytes that the store
// lost.
func (u *upload) finish() {
	if u.ended {
		_ = u.staged.Close(context.Background()) // it only releases the handle
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

// begin returns the upload of key over staged, or the one that requests already use. It suspends
// an idle one and forgets its verified chunks, because an error of Suspend would go unnoticed.
// Call release when the request is done.
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

// end removes u, which was committed or discarded, and the other uploads of its staging. Later
// requests for those open them again and find that they are gone.
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
