package server

import (
	"container/list"
	"context"
	"sync"
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
	mu     sync.Mutex
	open   map[uploadKey]*upload
	recent *list.List // of *upload, most recently used first
	stop   chan struct{}
	once   sync.Once
}

func newUploadCache() *uploadCache {
	us := &uploadCache{open: map[uploadKey]*upload{}, recent: list.New(), stop: make(chan struct{})}
	go us.suspendIdle()
	return us
}

// acquire returns the upload of key, opening it if it is not open. Call release when
// the request is done.
func (us *uploadCache) acquire(key uploadKey, open func() (pfs.Staged, error)) (*upload, error) {
	if u := us.find(key); u != nil {
		return u, nil
	}
	staged, err := open()
	if err != nil {
		return nil, err
	}
	return us.install(key, staged), nil
}

// install returns the upload of key over staged, or, if requests are at work on it
// already, the one that they use. What an idle one knew of its chunks goes with it: it is
// suspended, and what it loses then nobody learns. Call release when the request is done.
func (us *uploadCache) install(key uploadKey, staged pfs.Staged) *upload {
	us.mu.Lock()
	old := us.open[key]
	if old != nil && old.users > 0 {
		us.use(old)
		us.mu.Unlock()
		_ = staged.Suspend(context.Background())
		return old
	}
	var spare []*upload
	if old != nil {
		us.forget(old)
		spare = append(spare, old)
	}
	u := &upload{key: key, staged: staged, staging: us.stagingOf(key, staged)}
	us.open[key] = u
	us.use(u)
	spare = append(spare, us.spare(maxUploads, 0)...)
	us.mu.Unlock()
	suspend(spare)
	return u
}

// stagingOf returns the staging of the upload to be opened under key. us.mu is held.
func (us *uploadCache) stagingOf(key uploadKey, staged pfs.Staged) *staging {
	identity := pfs.IdentityOf(staged)
	for _, u := range us.open {
		if u.key.id == key.id && u.identity == identity {
			return u.staging
		}
	}
	return newStaging(identity)
}

func (us *uploadCache) find(key uploadKey) *upload {
	us.mu.Lock()
	defer us.mu.Unlock()
	u := us.open[key]
	if u != nil {
		us.use(u)
	}
	return u
}

// use counts one more user of u. us.mu is held.
func (us *uploadCache) use(u *upload) {
	u.users++
	if u.element == nil {
		u.element = us.recent.PushFront(u)
	} else {
		us.recent.MoveToFront(u.element)
	}
}

// release ends one use of u.
func (us *uploadCache) release(u *upload) {
	us.mu.Lock()
	u.users--
	u.used = time.Now()
	var finish func(context.Context) error
	if u.users == 0 {
		finish = u.finish
	}
	us.mu.Unlock()
	if finish != nil {
		_ = finish(context.Background()) // nothing of it is left but the handle
	}
}

// end forgets u, which was committed or discarded by a request that still uses it, and
// the other uploads of its staging. The next requests for those open them again, and
// find them gone if they were the same staged write.
func (us *uploadCache) end(u *upload) {
	us.mu.Lock()
	u.finish = u.staged.Close
	us.forget(u)
	var spare []*upload
	for _, other := range us.open {
		if other.staging != u.staging {
			continue
		}
		us.forget(other)
		if other.finish = other.staged.Suspend; other.users == 0 {
			spare = append(spare, other)
		}
	}
	us.mu.Unlock()
	suspend(spare)
}

// forget takes u out. us.mu is held.
func (us *uploadCache) forget(u *upload) {
	if us.open[u.key] == u {
		delete(us.open, u.key)
		us.recent.Remove(u.element)
	}
}

// spare takes out the idle uploads beyond the most recent keep, and those idle for
// longer than age, if it is not 0. us.mu is held.
func (us *uploadCache) spare(keep int, age time.Duration) []*upload {
	var out []*upload
	for e := us.recent.Back(); e != nil; {
		u, before := e.Value.(*upload), e.Prev()
		old := age > 0 && time.Since(u.used) > age
		if u.users == 0 && (old || us.recent.Len() > keep) {
			us.forget(u)
			out = append(out, u)
		}
		e = before
	}
	return out
}

// suspendIdle suspends uploads that no request uses, until closeAll.
func (us *uploadCache) suspendIdle() {
	ticker := time.NewTicker(idleUpload / 4)
	defer ticker.Stop()
	for {
		select {
		case <-us.stop:
			return
		case <-ticker.C:
		}
		us.mu.Lock()
		spare := us.spare(maxUploads, idleUpload)
		us.mu.Unlock()
		suspend(spare)
	}
}

// suspendBelow suspends the uploads below dir that no request uses now. dir is a path
// as clients wrote it.
func (us *uploadCache) suspendBelow(dir pfs.Path) {
	us.mu.Lock()
	var below []*upload
	for key, u := range us.open {
		if u.users == 0 && key.path.Within(dir) {
			us.forget(u)
			below = append(below, u)
		}
	}
	us.mu.Unlock()
	suspend(below)
}

// closeAll suspends everything.
func (us *uploadCache) closeAll() {
	us.once.Do(func() { close(us.stop) })
	us.mu.Lock()
	var all []*upload
	for _, u := range us.open {
		all = append(all, u)
	}
	us.open = map[uploadKey]*upload{}
	us.recent.Init()
	us.mu.Unlock()
	suspend(all)
}

// count returns the number of uploads held open.
func (us *uploadCache) count() int {
	us.mu.Lock()
	defer us.mu.Unlock()
	return len(us.open)
}

func suspend(us []*upload) {
	for _, u := range us {
		// What it lost is found when it is opened again.
		_ = pfs.Guard("server.suspend", u.key.path, func() error { return u.staged.Suspend(context.Background()) })
	}
}
